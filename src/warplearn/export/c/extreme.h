/* The class with the greatest output, or with the least if MODEL_SIGN is -1; the first of equals. */
static inline int model_class_of(const float *outputs)
{
    int best = 0, k;
    for (k = 1; k < MODEL_OUTPUTS; ++k)
        if (MODEL_SIGN * outputs[k] > MODEL_SIGN * outputs[best])
            best = k;
    return best;
}
