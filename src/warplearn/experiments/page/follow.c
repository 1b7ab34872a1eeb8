/* The path of a series through a weight matrix, for the page: what a visitor draws is scored by
   the same recursion as on a device. `python tools/build_wasm.py` compiles this file, and the
   templates of `warplearn.export` that it includes, to follow.wasm. */
#include <stdint.h>

typedef float model_sample;
typedef float model_weight;
typedef float model_score;
#define MODEL_NONE -3e38f

#include "product.h"
#include "recursion.h"

/* The score of a series of `length` samples. The arrays, which the page has room for, receive the
   rows of the grid, the first and last column of the path at each time, and what each time
   contributes. Ties are broken as in Python: diagonally, else along time, else along columns. */
float follow(const float *series, const float *weights, int length, int columns, int channels,
             float *grid, int32_t *first, int32_t *last, float *contributions)
{
    int i, j;
    for (i = 0; i < length; ++i) {
        float *row = grid + i * columns;
        for (j = 0; j < columns; ++j)
            row[j] = i ? row[j - columns] : MODEL_NONE;
        model_advance(row, series + i * channels, weights + i * columns * channels, columns,
                      channels, i == 0);
        contributions[i] = 0;
    }
    i = length - 1;
    j = columns - 1;
    last[i] = j;
    for (;;) {
        const float *cell = grid + i * columns + j;
        const float up = i ? cell[-columns] : MODEL_NONE;
        const float left = j ? cell[-1] : MODEL_NONE;
        const float diagonal = i && j ? cell[-columns - 1] : MODEL_NONE;
        contributions[i] += model_local(series + i * channels,
                                        weights + (i * columns + j) * channels, channels);
        first[i] = j;
        if (!i && !j)
            break;
        if (diagonal >= up && diagonal >= left) {
            --i;
            last[i] = --j;
        } else if (up >= left) {
            --i;
            last[i] = j;
        } else {
            --j;
        }
    }
    return grid[length * columns - 1];
}
