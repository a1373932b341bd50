/* Included once per instruction set: sums across lanes, and the even parts with their two derivatives. */

typedef double SET(wide) __attribute__((vector_size(64), may_alias));
#define wide SET(wide)

static inline __attribute__((always_inline)) void SET(across)(const wide *sum, double *z)
{
    wide two[4], four[2];
    for (int k = 0; k < 4; k++)
        two[k] = __builtin_shufflevector(sum[2 * k], sum[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                 __builtin_shufflevector(sum[2 * k], sum[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int k = 0; k < 2; k++)
        four[k] = __builtin_shufflevector(two[2 * k], two[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                  __builtin_shufflevector(two[2 * k], two[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    *(wide *)z = __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
                 __builtin_shufflevector(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
}
#define across SET(across)

static void SET(logistic)(Pass *pass, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        double z = pass->margin[i], a = fabs(z), weight = pass->weight[i];
        /* exp(-a) = 2^k (1 + m), k = rint(-a log2 e), m = expm1 of the rest, |rest| <= ln(2)/2 */
        double near = a < 708.0 ? a : 708.0;
        double shifted = near * -1.4426950408889634 + 6755399441055744.0, k = shifted - 6755399441055744.0;
        double r = (-near - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
        double m = 1.0 / 6227020800.0;
        m = m * r + 1.0 / 479001600.0;
        m = m * r + 1.0 / 39916800.0;
        m = m * r + 1.0 / 3628800.0;
        m = m * r + 1.0 / 362880.0;
        m = m * r + 1.0 / 40320.0;
        m = m * r + 1.0 / 5040.0;
        m = m * r + 1.0 / 720.0;
        m = m * r + 1.0 / 120.0;
        m = m * r + 1.0 / 24.0;
        m = m * r + 1.0 / 6.0;
        m = m * r + 0.5;
        m = (m * r) * r + r;
        int64_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        uint64_t power = ((uint64_t)bits + 1023) << 52;
        double scale;
        memcpy(&scale, &power, sizeof scale);
        double t = scale + scale * m, rest = (1.0 - scale) - scale * m; /* 1 - t without cancellation */
        double inverse = 1.0 / (1.0 + t), half = 0.5 * rest * inverse;
        /* log1p(t) = 2 atanh(t/(2+t)); above sqrt(2) - 1, ln 2 + 2 atanh((t-1)/(t+3)) */
        int upper = t > 0.41421356237309503;
        double s = (upper ? -rest : t) / (upper ? t + 3.0 : t + 2.0), square = s * s;
        double p = 1.0 / 23.0;
        p = p * square + 1.0 / 21.0;
        p = p * square + 1.0 / 19.0;
        p = p * square + 1.0 / 17.0;
        p = p * square + 1.0 / 15.0;
        p = p * square + 1.0 / 13.0;
        p = p * square + 1.0 / 11.0;
        p = p * square + 1.0 / 9.0;
        p = p * square + 1.0 / 7.0;
        p = p * square + 1.0 / 5.0;
        p = p * square + 1.0 / 3.0;
        double log1p = 2.0 * (s + s * (square * p)) + (upper ? 6.93147180559945286227e-01 : 0.0);
        pass->part[i] = weight * (0.5 * a + log1p);
        pass->slope[i] = weight * copysign(half, z);
        pass->bend[i] = weight * (t * inverse * inverse);
    }
}

#define TERMS(LOSS, EVEN, SLOPE, BEND) \
    static void SET(LOSS)(Pass *pass, int64_t rows) \
    { \
        for (int64_t i = 0; i < rows; i++) { \
            double z = pass->margin[i], a = fabs(z), weight = pass->weight[i]; \
            pass->part[i] = weight * (EVEN); \
            pass->slope[i] = weight * (SLOPE); \
            pass->bend[i] = weight * (BEND); \
        } \
    }
TERMS(square, 1.0 + a * a, 2.0 * z, 2.0)
TERMS(matsushita, sqrt(1.0 + a * a), z / sqrt(1.0 + z * z), 1.0 / ((1.0 + z * z) * sqrt(1.0 + z * z)))
TERMS(modified_huber, a <= 1.0 ? 1.0 + a * a : 2.0 * a, z > 1.0 ? 2.0 : z < -1.0 ? -2.0 : 2.0 * z, a <= 1.0 ? 2.0 : 0.0)
TERMS(absolute, a, z > 0.0 ? 1.0 : z < 0.0 ? -1.0 : 0.0 * z, 0.0 * a)
#undef TERMS

static double SET(terms)(Pass *pass, int64_t rows)
{
    double lanes[8] = {0};
    switch (pass->loss) {
        case LOGISTIC: SET(logistic)(pass, rows); break;
        case SQUARE: SET(square)(pass, rows); break;
        case MATSUSHITA: SET(matsushita)(pass, rows); break;
        case MODIFIED_HUBER: SET(modified_huber)(pass, rows); break;
        default: SET(absolute)(pass, rows);
    }
    for (int64_t i = 0; i < rows; i += 8)
        for (int k = 0; k < 8; k++)
            lanes[k] += pass->part[i + k];
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}
#define terms SET(terms)

#define NAME(x) PASTE(SET(x), _f32)
#define TYPE float
#include "_even_body.h"
#define NAME(x) PASTE(SET(x), _f64)
#define TYPE double
#include "_even_body.h"

#undef terms
#undef across
#undef wide
