/* The targets of the series so far, MODEL_OUTPUTS numbers; returns -1 before the first sample. */
static inline int model_decide(const model_stream *s, float *targets)
{
    return model_outputs(s, targets) ? 0 : -1;
}

/* The targets of a whole series; returns -1 if the series is empty or was refused. */
static inline int model_predict(const float *series, int32_t length, float *targets)
{
    model_stream s;
    return model_read(&s, series, length) && model_outputs(&s, targets) ? 0 : -1;
}
