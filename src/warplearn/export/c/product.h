/* The local score of an elastic inner product. */
static inline model_score model_local(const model_sample *x, const model_weight *w, int channels)
{
    model_score sum = (model_score)x[0] * w[0];
    int c;
    for (c = 1; c < channels; ++c)
        sum += (model_score)x[c] * w[c];
    return sum;
}
