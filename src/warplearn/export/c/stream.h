/* A growing series: of each matrix, the last row of its grid. */
typedef struct {
    model_score rows[MODEL_UNITS * MODEL_COLUMNS];
    int32_t samples;
} model_stream;

/* Begin a new series. */
static inline void model_init(model_stream *s)
{
    int32_t j;
    for (j = 0; j < (int32_t)MODEL_UNITS * MODEL_COLUMNS; ++j)
        s->rows[j] = MODEL_NONE;
    s->samples = 0;
}

/* Take the next sample, as model_take has left it: a row of each grid. */
static inline void model_follow(model_stream *s, const model_sample *x)
{
    int u;
    for (u = 0; u < MODEL_UNITS; ++u) {
        const model_weight *w = model_weights + u * (int32_t)MODEL_UNIT_STRIDE;
        model_advance(s->rows + u * (int32_t)MODEL_COLUMNS, x, w + s->samples * MODEL_ROW_STRIDE,
                      MODEL_COLUMNS, MODEL_CHANNELS, s->samples == 0);
    }
    ++s->samples;
}

/* Take the next sample, MODEL_CHANNELS numbers. Returns 0 if it was refused: the series has
   MODEL_LENGTH samples already, or a number is unusable. */
static inline int model_push(model_stream *s, const float *sample)
{
    model_sample x[MODEL_CHANNELS];
    const int taken = s->samples < MODEL_LENGTH ? model_take(sample, x) : 0;
    if (taken)
        model_follow(s, x);
    return taken;
}

/* The score of the series so far with a matrix. */
static inline float model_score_of(const model_stream *s, int unit)
{
    return (float)s->rows[unit * (int32_t)MODEL_COLUMNS + MODEL_COLUMNS - 1];
}
