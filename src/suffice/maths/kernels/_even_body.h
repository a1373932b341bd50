/* Included once per instruction set and element type: TYPE, NAME(x) and the target come from _even.c. */

typedef TYPE NAME(narrow) __attribute__((vector_size(8 * sizeof(TYPE)), aligned(sizeof(TYPE)), may_alias));

static inline __attribute__((always_inline)) wide NAME(load)(const TYPE *x)
{
#if defined(LOAD_FLOATS) /* GCC widens a vector of floats in halves unless it is told the instruction */
    if (sizeof(TYPE) == sizeof(float))
        return LOAD_FLOATS(x);
#endif
    return __builtin_convertvector(*(const NAME(narrow) *)x, wide);
}

/* Eight margins: eight rows times theta, then sums across. Columns beyond the last meet a theta of zero. */
static inline void NAME(margins)(const TYPE *x, ptrdiff_t step, int64_t padded, const double *theta, double *z)
{
    wide sum[8], head = *(const wide *)theta;
    UNROLL for (int k = 0; k < 8; k++) sum[k] = NAME(load)(x + k * step) * head;
    for (int64_t j = 8; j < padded; j += 8) {
        wide share = *(const wide *)(theta + j);
        UNROLL for (int k = 0; k < 8; k++) sum[k] += NAME(load)(x + k * step + j) * share;
    }
    across(sum, z);
}

/* out[j..] += slope_i x_ij over the block, `count` vectors of columns at a time. */
static inline __attribute__((always_inline)) void NAME(pull)(const TYPE *x, ptrdiff_t step, int64_t rows,
                                                             const double *slope, double *out, int count)
{
    wide sum[4];
    UNROLL for (int k = 0; k < count; k++) sum[k] = NAME(load)(x + 8 * k) * slope[0];
    for (int64_t i = 1; i < rows; i++)
        UNROLL for (int k = 0; k < count; k++) sum[k] += NAME(load)(x + i * step + 8 * k) * slope[i];
    for (int k = 0; k < count; k++)
        *(wide *)(out + 8 * k) += sum[k];
}

static void NAME(gradient)(const TYPE *x, ptrdiff_t step, int64_t rows, int64_t padded, const double *slope,
                           double *out)
{
    int64_t j = 0;
    for (; j + 32 <= padded; j += 32)
        NAME(pull)(x + j, step, rows, slope, out + j, 4);
    if (padded - j == 24)
        NAME(pull)(x + j, step, rows, slope, out + j, 3);
    else if (padded - j == 16)
        NAME(pull)(x + j, step, rows, slope, out + j, 2);
    else if (padded - j == 8)
        NAME(pull)(x + j, step, rows, slope, out + j, 1);
}

/* The lower triangle of X'DX in tiles of 4 by 16, from a widened copy of the block. */
static void NAME(hessian)(Pass *pass, const TYPE *x, ptrdiff_t step, int64_t rows)
{
    int64_t pitch = pass->pitch;
    for (int64_t i = 0; i < rows; i++) {
        double bend = pass->bend[i], *wide_row = pass->plain + i * pitch, *bent_row = pass->bent + i * pitch;
        for (int64_t j = 0; j < pass->width; j++) {
            wide_row[j] = (double)x[i * step + j];
            bent_row[j] = wide_row[j] * bend;
        }
    }
    for (int64_t a = 0; a < pass->width; a += 4)
        for (int64_t b = 0; b < a + 4 && b < pass->width; b += 16) {
            wide sum[4][2] = {{{0}}};
            for (int64_t i = 0; i < rows; i++) {
                const double *left = pass->bent + i * pitch + a;
                const wide *right = (const wide *)(pass->plain + i * pitch + b);
                wide first = right[0], second = right[1];
                UNROLL for (int k = 0; k < 4; k++)
                {
                    sum[k][0] += first * left[k];
                    sum[k][1] += second * left[k];
                }
            }
            for (int k = 0; k < 4; k++) {
                wide *out = (wide *)(pass->hessian + (a + k) * pitch + b);
                out[0] += sum[k][0];
                out[1] += sum[k][1];
            }
        }
}

static void NAME(block)(Pass *pass, const TYPE *x, ptrdiff_t step, int64_t rows)
{
    for (int64_t i = 0; i < rows; i += 8)
        NAME(margins)(x + i * step, step, pass->padded, pass->theta, pass->margin + i);
    pass->value += terms(pass, rows);
    NAME(gradient)(x, step, rows, pass->padded, pass->slope, pass->gradient);
    if (pass->hessian)
        NAME(hessian)(pass, x, step, rows);
}

/* In place where the eight columns beyond a row's end are the next row; else through a copy padded with zeros. */
static void NAME(run)(Pass *pass)
{
    const TYPE *x = (const TYPE *)pass->x;
    TYPE *copy = (TYPE *)pass->copy;
    ptrdiff_t step = pass->step;
    int64_t width = pass->width;
    for (int64_t start = 0; start < pass->rows; start += BLOCK) {
        int64_t left = pass->rows - start, rows = left < BLOCK ? left : BLOCK;
        set_weights(pass, start, rows);
        if (left >= BLOCK && step == width && (left - BLOCK) * step >= pass->padded - width) {
            NAME(block)(pass, x + start * step, step, BLOCK);
            continue;
        }
        memset(copy, 0, (size_t)(BLOCK * pass->padded) * sizeof(TYPE));
        for (int64_t i = 0; i < rows; i++)
            memcpy(copy + i * pass->padded, x + (start + i) * step, (size_t)width * sizeof(TYPE));
        NAME(block)(pass, copy, pass->padded, BLOCK);
    }
}

#undef NAME
#undef TYPE
