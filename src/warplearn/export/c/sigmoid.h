static inline float model_activation(float score)
{
    return 1 / (1 + expf(-score));
}
