/* The class of the series so far, a place in model_labels; -1 before the first sample. */
static inline int model_decide(const model_stream *s)
{
    float outputs[MODEL_OUTPUTS];
    return model_outputs(s, outputs) ? model_class_of(outputs) : -1;
}

/* The class of a whole series, and its MODEL_OUTPUTS outputs; -1 if the series is empty or was
   refused. */
static inline int model_predict(const float *series, int32_t length, float *outputs)
{
    model_stream s;
    return model_read(&s, series, length) && model_outputs(&s, outputs)
        ? model_class_of(outputs) : -1;
}
