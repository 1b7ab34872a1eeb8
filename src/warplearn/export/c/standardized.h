/* Standardize a sample. NaN, infinity and numbers whose squares overflow are refused. */
static inline int model_take(const float *sample, model_sample *x)
{
    int c;
    for (c = 0; c < MODEL_CHANNELS; ++c) {
        if (!(sample[c] >= -1e15f && sample[c] <= 1e15f))
            return 0;
        x[c] = (sample[c] - model_means[c]) / model_scales[c];
    }
    return 1;
}
