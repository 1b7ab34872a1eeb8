/* The local score of dynamic time warping: the negated squared distance. */
static inline model_score model_local(const model_sample *x, const model_weight *w, int channels)
{
    model_score sum = 0;
    int c;
    for (c = 0; c < channels; ++c)
        sum -= (x[c] - w[c]) * (x[c] - w[c]);
    return sum;
}

static inline float model_distance(float cost)
{
    return sqrtf(cost);
}
