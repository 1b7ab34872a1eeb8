/* Round a sample to a whole number of steps. NaN, infinity and numbers above 1e15 are refused.
   Returns 2 if the sample is beyond the limit of a channel and was cut to it. */
static inline int model_take(const float *sample, model_sample *x)
{
    int taken = 1, c;
    for (c = 0; c < MODEL_CHANNELS; ++c) {
        float level = sample[c] * model_steps[c];
        if (!(sample[c] >= -1e15f && sample[c] <= 1e15f))
            return 0;
        if (level > MODEL_LEVELS || level < -MODEL_LEVELS) {
            level = level < 0 ? -MODEL_LEVELS : MODEL_LEVELS;
            taken = 2;
        }
        x[c] = (model_sample)(level < 0 ? level - 0.5f : level + 0.5f);
    }
    return taken;
}
