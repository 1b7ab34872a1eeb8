/* The outputs of the series so far: dense layers on the scores. Returns 0 before the first
   sample. A layer has, for each of its units, the weights of its inputs and then the bias. */
static inline int model_outputs(const model_stream *s, float *outputs)
{
    float inputs[MODEL_WIDEST], units[MODEL_WIDEST];
    const float *w = model_dense;
    int layer, i, o;
    if (s->samples == 0)
        return 0;
    for (i = 0; i < MODEL_UNITS; ++i)
        units[i] = model_score_of(s, i) + model_biases[i];
    for (layer = 0; layer < MODEL_LAYERS; ++layer) {
        for (i = 0; i < model_sizes[layer]; ++i)
            inputs[i] = model_activation(units[i]);
        for (o = 0; o < model_sizes[layer + 1]; ++o) {
            float sum = 0;
            for (i = 0; i < model_sizes[layer]; ++i)
                sum += inputs[i] * *w++;
            units[o] = sum + *w++;
        }
    }
    for (o = 0; o < MODEL_OUTPUTS; ++o)
        outputs[o] = units[o];
    return 1;
}
