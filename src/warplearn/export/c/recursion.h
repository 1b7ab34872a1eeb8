/* The next row of the grid of a series and a matrix, in place of the last one:

   s[i, j] = local score of (i, j) + max(s[i-1, j], s[i-1, j-1], s[i, j-1])

   Before the first row, all columns hold MODEL_NONE. */
static inline void model_advance(model_score *row, const model_sample *x, const model_weight *w,
                                 int columns, int channels, int first)
{
    model_score diagonal = first ? 0 : MODEL_NONE;
    model_score left = MODEL_NONE;
    int j;
    for (j = 0; j < columns; ++j) {
        const model_score up = row[j];
        model_score best = up > left ? up : left;
        if (diagonal > best)
            best = diagonal;
        left = best + model_local(x, w + j * channels, channels);
        diagonal = up;
        row[j] = left;
    }
}
