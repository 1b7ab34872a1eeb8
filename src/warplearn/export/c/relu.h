static inline float model_activation(float score)
{
    return score > 0 ? score : 0;
}
