static inline float model_activation(float score)
{
    return tanhf(score);
}
