/* The outputs of the series so far. Returns 0 before the first sample. */
static inline int model_outputs(const model_stream *s, float *outputs)
{
    int k, u;
    if (s->samples == 0)
        return 0;
    for (k = 0; k < MODEL_OUTPUTS; ++k)
        outputs[k] = model_biases[k];
    for (u = 0; u < MODEL_UNITS; ++u)
        outputs[model_output_of[u]] += model_factors[u] * model_score_of(s, u);
    return 1;
}
