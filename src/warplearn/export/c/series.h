/* Begin a new series and take all of it: channel c at time t is series[t * MODEL_CHANNELS + c].
   Returns 0 if it was refused: it is too long, or a number is unusable. */
static inline int model_read(model_stream *s, const float *series, int32_t length)
{
    int32_t t;
    model_init(s);
    for (t = 0; t < length; ++t)
        if (!model_push(s, series + t * MODEL_CHANNELS))
            return 0;
    return 1;
}
