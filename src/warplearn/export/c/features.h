/* A growing series. Windows need past samples, so all of them are kept. */
typedef struct {
    float series[MODEL_LENGTH * MODEL_CHANNELS];
    int32_t samples;
} model_stream;

/* Begin a new series. */
static inline void model_init(model_stream *s)
{
    s->samples = 0;
}

/* Take the next sample, MODEL_CHANNELS numbers. Returns 0 if it was refused: the series has
   MODEL_LENGTH samples already, or a number is unusable. */
static inline int model_push(model_stream *s, const float *sample)
{
    if (s->samples >= MODEL_LENGTH)
        return 0;
    if (!model_take(sample, s->series + s->samples * MODEL_CHANNELS))
        return 0;
    ++s->samples;
    return 1;
}

/* Differences of neighbours, in place; returns how many. */
static inline int32_t model_differences(float *x, int32_t length)
{
    int32_t t;
    for (t = 0; t + 1 < length; ++t)
        x[t] = x[t + 1] - x[t];
    x[t] = 0;
    return t > 0 ? t : 1;
}

/* What brings a channel to the mean and deviation of the training series, if these have common ones:
   a sample x becomes x * scale + shift. */
static inline void model_rescale(const model_stream *s, int representation, int c, float *scale,
                                 float *shift)
{
    const float mean = model_levels[representation * MODEL_CHANNELS + c];
    const float deviation = model_sizes[representation * MODEL_CHANNELS + c];
    float own = 0, squares = 0;
    int32_t t;
    *scale = 1;
    *shift = 0;
    if (!(deviation > 0))
        return;
    for (t = 0; t < s->samples; ++t)
        own += s->series[t * MODEL_CHANNELS + c];
    own /= (float)s->samples;
    for (t = 0; t < s->samples; ++t) {
        const float off = s->series[t * MODEL_CHANNELS + c] - own;
        squares += off * off;
    }
    *scale = squares > 0 ? deviation / sqrtf(squares / (float)s->samples) : 0;
    *shift = mean - own * *scale;
}

/* One channel of a series as filters and shapelets see it; returns its length. The representations are
   0 the series, 1 its differences, 2 second differences, 3 moving averages of nine samples. */
static inline int32_t model_represent(const model_stream *s, int representation, int c, float *x)
{
    const int kind = model_kinds[representation];
    const int reach = kind == 3 ? 4 : 0;
    const float mean = model_means[representation * MODEL_CHANNELS + c];
    const float scale = model_scales[representation * MODEL_CHANNELS + c];
    int32_t length = s->samples, t, i;
    float factor, shift;
    model_rescale(s, representation, c, &factor, &shift);
    for (t = 0; t < length; ++t) {
        const int32_t from = t > reach ? t - reach : 0;
        const int32_t to = t + reach < length ? t + reach : length - 1;
        float sum = 0;
        for (i = from; i <= to; ++i)
            sum += s->series[i * MODEL_CHANNELS + c];
        x[t] = sum / (float)(to - from + 1) * factor + shift;
    }
    if (kind == 1 || kind == 2)
        length = model_differences(x, length);
    if (kind == 2)
        length = model_differences(x, length);
    for (t = 0; t < length; ++t)
        x[t] = (x[t] - mean) / scale;
    return length;
}

/* What a group of eight filters or shapelets has seen of a series. */
typedef struct {
    int32_t above[8], place[8], wins[8], losses[8];
    float largest[8];
} model_pool;

/* Pool the outputs of a group at a position. */
static inline void model_pool_position(model_pool *pool, const float *values, const float *biases,
                                       int32_t position)
{
    float best = values[0], worst = values[0];
    int f;
    for (f = 1; f < 8; ++f) {
        best = values[f] > best ? values[f] : best;
        worst = values[f] < worst ? values[f] : worst;
    }
    for (f = 0; f < 8; ++f) {
        pool->above[f] += values[f] > biases[f];
        pool->wins[f] += values[f] >= best;
        pool->losses[f] += values[f] <= worst;
        if (values[f] > pool->largest[f]) {
            pool->largest[f] = values[f];
            pool->place[f] = position;
        }
    }
}

/* The window of a group at a position of the representation x, (row, channel); 0 outside. */
static inline void model_window(const int32_t *group, const float *x, int32_t length,
                                int32_t position, float *window)
{
    int32_t r, c;
    for (r = 0; r < group[0]; ++r) {
        const int32_t at = position - group[3] + r * group[2];
        for (c = 0; c < group[6]; ++c) {
            const float *channel = x + model_channels[group[5] + c] * (int32_t)MODEL_LENGTH;
            *window++ = at >= 0 && at < length ? channel[at] : 0;
        }
    }
}

/* Slide a group of eight along a representation x of the series, MODEL_LENGTH numbers a channel;
   returns the number of positions. A group is a row of model_groups: rows, columns, dilation,
   padding, representation, first of its channels, number of channels, first weight, kind, and
   poolings. */
static inline int32_t model_slide(const int32_t *group, const float *biases, const float *x,
                                  int32_t length, model_pool *pool)
{
    const int32_t rows = group[0], columns = group[1], channels = group[6];
    const int32_t span = (rows - 1) * group[2], windows = length + 2 * group[3] - span;
    const int32_t positions = windows > 1 ? windows : 1;
    float window[MODEL_ROWS * MODEL_CHANNELS] = {0}, grid[MODEL_COLUMNS] = {0}, values[8];
    int32_t p, r, j;
    int f;
    for (p = 0; p < positions; ++p) {
        const float *w = model_weights + group[7];
        model_window(group, x, length, p, window);
        model_prepare(group[8], window, rows, channels);
        for (f = 0; f < 8; ++f) {
            for (j = 0; j < columns; ++j)
                grid[j] = MODEL_NONE;
            for (r = 0; r < rows; ++r, w += columns * channels)
                model_compare(group[8], grid, window + r * channels, w, columns, channels, r == 0);
            values[f] = grid[columns - 1];
        }
        model_pool_position(pool, values, biases, p);
    }
    return positions;
}

/* Add the features of one filter or shapelet of a group, times their coefficients, to an output;
   returns the next coefficients. Poolings are bits: 1 share above the bias, 2 largest output or
   smallest distance, 4 its place, 8 and 16 shares of positions that are won and lost. */
static inline const float *model_add(const int32_t *group, const model_pool *pool, int f,
                                     int32_t positions, const float *coef, float *output)
{
    const float size = (float)positions;
    if (group[9] & 1)
        *output += *coef++ * ((float)pool->above[f] / size);
    if (group[9] & 2)
        *output += *coef++ * model_extreme(group[8], pool->largest[f], group[0] * group[6]);
    if (group[9] & 4)
        *output += *coef++ * ((float)pool->place[f] / size);
    if (group[9] & 8)
        *output += *coef++ * ((float)pool->wins[f] / size);
    if (group[9] & 16)
        *output += *coef++ * ((float)pool->losses[f] / size);
    return coef;
}

/* The outputs of the series so far, by computing all features. Returns 0 before the first
   sample. */
static inline int model_outputs(const model_stream *s, float *outputs)
{
    static const model_pool empty = {{0}, {0}, {0}, {0}, {0}};
    const float *coef = model_coefs;
    float x[MODEL_LENGTH * MODEL_CHANNELS];
    int32_t length = 0, g;
    int representation = -1, c, f, k;
    if (s->samples == 0)
        return 0;
    for (k = 0; k < MODEL_OUTPUTS; ++k)
        outputs[k] = model_biases[k];
    for (g = 0; g < MODEL_GROUPS; ++g) {
        const int32_t *group = model_groups + 10 * g;
        model_pool pool = empty;
        int32_t positions;
        if (group[4] != representation)
            for (representation = group[4], c = 0; c < MODEL_CHANNELS; ++c)
                length = model_represent(s, representation, c, x + c * (int32_t)MODEL_LENGTH);
        for (f = 0; f < 8; ++f)
            pool.largest[f] = MODEL_NONE;
        positions = model_slide(group, model_thresholds + 8 * g, x, length, &pool);
        for (f = 0; f < 8; ++f)
            for (k = 0; k < MODEL_OUTPUTS; ++k)
                coef = model_add(group, &pool, f, positions, coef, outputs + k);
    }
    return 1;
}
