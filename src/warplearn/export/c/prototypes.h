/* The distances of the series so far to the nearest prototype of each class. Returns 0 before
   the first sample. */
static inline int model_outputs(const model_stream *s, float *outputs)
{
    int k, u;
    if (s->samples == 0)
        return 0;
    for (k = 0; k < MODEL_OUTPUTS; ++k)
        outputs[k] = -1;
    for (u = 0; u < MODEL_UNITS; ++u) {
        float *nearest = outputs + model_output_of[u];
        const float cost = -model_score_of(s, u);
        if (*nearest < 0 || cost < *nearest)
            *nearest = cost;
    }
    for (k = 0; k < MODEL_OUTPUTS; ++k)
        outputs[k] = model_distance(outputs[k]);
    return 1;
}
