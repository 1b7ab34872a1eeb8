/* Groups are filters, kind 0; shapelets, kind 1; or shapelets of normalized windows, kind 2. The
   channels of a window (row, channel) are given mean 0 and deviation 1. */
static inline void model_prepare(int kind, float *window, int32_t rows, int32_t channels)
{
    int32_t r, c;
    if (kind != 2)
        return;
    for (c = 0; c < channels; ++c) {
        float mean = 0, squares = 0, scale;
        for (r = 0; r < rows; ++r)
            mean += window[r * channels + c];
        mean /= (float)rows;
        for (r = 0; r < rows; ++r) {
            const float difference = window[r * channels + c] - mean;
            squares += difference * difference;
        }
        scale = 1 / sqrtf(squares / (float)rows + MODEL_LEAST_VARIANCE);
        for (r = 0; r < rows; ++r)
            window[r * channels + c] = (window[r * channels + c] - mean) * scale;
    }
}

/* The next row of the grid of a window and a filter or shapelet. */
static inline void model_compare(int kind, float *row, const float *x, const float *w, int columns,
                                 int channels, int first)
{
    if (kind == 0)
        model_advance(row, x, w, columns, channels, first);
    else
        model_shapelet_advance(row, x, w, columns, channels, first);
}

/* The largest output of a filter, or the smallest distance to a shapelet: the root of the mean
   over the elements of a window. */
static inline float model_extreme(int kind, float largest, int32_t elements)
{
    return kind == 0 ? largest : model_shapelet_distance(-largest / (float)elements);
}
