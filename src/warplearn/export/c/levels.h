/* Take the next sample in whole numbers, such as those of a converter: number times model_steps of
   its channel, from -MODEL_LEVELS to MODEL_LEVELS. Needs no floating point.
   Returns 0 if it was refused, 2 if it was beyond the limit and cut to it. */
static inline int model_push_levels(model_stream *s, const int16_t *levels)
{
    model_sample x[MODEL_CHANNELS];
    int taken = 1, c;
    if (s->samples >= MODEL_LENGTH)
        return 0;
    for (c = 0; c < MODEL_CHANNELS; ++c) {
        const int32_t level = levels[c];
        const int32_t cut = level < 0 ? -MODEL_LEVELS : MODEL_LEVELS;
        const int beyond = level > MODEL_LEVELS || level < -MODEL_LEVELS;
        x[c] = (model_sample)(beyond ? cut : level);
        taken = beyond ? 2 : taken;
    }
    model_follow(s, x);
    return taken;
}
