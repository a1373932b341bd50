/* Column buffers to exact integer totals in one cache-blocked pass.
 *
 * A block of rows is quantised column by column into int32 slots (one slot per column, rows
 * contiguous), gauged (norm, hash, column sums), shortened to the radius and added up. Levels are
 * never spread out: their slot holds the coordinate that is set. The twin is reference.py;
 * docs/proofs/kernels.md has the claims behind ceil_sqrt and shorten. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "_dispatch.h"

enum { NOT_FINITE = 1, TOO_LARGE, LEVEL, MISSING, CLASS };
enum { F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, TYPES };
enum { NUMBER, LEVELS };
enum { COLUMN_KIND, COLUMN_TYPE, COLUMN_OFFSET, COLUMN_LEVELS, COLUMN_FILL, COLUMN_MISSING, COLUMN_VALID,
       COLUMN_WORDS };

#define LIMIT 16777216.0
#define NO_FILL INT64_MIN
#define MOST_ROWS 1024
#define MOST_BITS 48
#define QUICK ((int64_t)1 << 25) /* |q|·R stays below 2^49: the quotient in doubles is exact */

typedef struct {
    int kind, type;
    int64_t offset, levels, fill, missing, valid_offset, lookup_size;
    double centre, inverse;
    const char *values;
    ptrdiff_t stride;
    const uint8_t *valid;
    const int32_t *lookup;
    int32_t *slot, *hot; /* hot: coordinates that are set, -1 for none */
} Column;

typedef struct {
    Column *columns, **numbered; /* the numeric ones once more, side by side */
    int64_t count, numeric, width, level, intercept, rows;
    int saturate, norm, witness, classes; /* norm 0 is the max norm; classes 0 means signs */
    double unit;
    int64_t radius;
    const uint64_t *starts, *multipliers;
    const char *labels;
    int label_size;
    int64_t *totals, *clipped, *feature_sum, *norms;
    uint64_t *hashes, prints[2];
    int32_t *encoded;
    int64_t *high, *low;
    int64_t block;
    /* one block's scratch */
    int32_t *slots, *label, *level_short, *moved;
    int64_t *length;
    uint64_t *lane[2];
    double *ratio, *bias, *numbers;
    uint8_t *present;
    /* the offence, if any */
    int64_t bad_row, bad_column;
    int reason;
} Job;

static const int SIZES[TYPES] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8};

/* ---- values to grid units ---------------------------------------------------------------- */

#define EACH_TYPE(DO) \
    DO(F32, float) DO(F64, double) DO(I8, int8_t) DO(I16, int16_t) DO(I32, int32_t) DO(I64, int64_t) \
    DO(U8, uint8_t) DO(U16, uint16_t) DO(U32, uint32_t) DO(U64, uint64_t)

INLINE double number_at(const Column *c, int64_t row)
{
    const char *at = c->values + row * c->stride;
    switch (c->type) {
#define CASE(NAME, T) case NAME: { T v; memcpy(&v, at, sizeof v); return (double)v; }
        EACH_TYPE(CASE)
#undef CASE
    }
    return 0.0;
}

/* Adding and taking away 1.5·2^52 rounds half to even wherever |x| < 2^51; beyond, the result is
 * beyond the limit too, and NaN stays NaN. */
INLINE double rounded(double x)
{
    const double shift = 6755399441055744.0;
    return (x + shift) - shift;
}

/* The sum x + 1.5·2^52 holds rint(x) in its low bits: q needs no conversion, and the limit is a range of
 * whole numbers. q + 2^24 has no bit from the 25th on unless q lies outside [-2^24, 2^24), or was no
 * number: then the block is looked at again, value by value. */
#define QUANTISE(NAME, T) \
    INLINE int quantise_##NAME(const T *restrict x, int64_t n, double centre, double inverse, double unit, \
                               int32_t *restrict q) \
    { \
        uint64_t doubtful = 0; \
        for (int64_t i = 0; i < n; i++) { \
            double r = (((double)x[i] - centre) * inverse) * unit + 6755399441055744.0; \
            uint64_t bits; \
            memcpy(&bits, &r, sizeof bits); \
            doubtful |= bits - (0x4338000000000000u - (1u << 24)); \
            q[i] = (int32_t)(uint32_t)bits; \
        } \
        return doubtful >> 25 != 0; \
    }
EACH_TYPE(QUANTISE)
#undef QUANTISE

INLINE void gather_valid(const Column *c, int64_t start, int64_t n, uint8_t *restrict present)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t bit = c->valid_offset + start + i;
        present[i] = (c->valid[bit >> 3] >> (bit & 7)) & 1;
    }
}

INLINE int quantise_loose(Job *job, Column *c, int64_t start, int64_t n)
{
    /* nulls or a stride the fast loops do not know: through a row of doubles */
    int bad = 0;
    double *x = job->numbers;
    for (int64_t i = 0; i < n; i++)
        x[i] = number_at(c, start + i);
    if (c->valid) {
        gather_valid(c, start, n, job->present);
        for (int64_t i = 0; i < n; i++)
            x[i] = job->present[i] ? x[i] : c->centre;
    }
    bad = quantise_F64(x, n, c->centre, c->inverse, job->unit, c->slot);
    if (!c->valid)
        return bad;
    for (int64_t i = 0; i < n; i++)
        if (!job->present[i]) {
            bad |= c->fill == NO_FILL;
            c->slot[i] = c->fill == NO_FILL ? 0 : (int32_t)c->fill;
        }
    if (c->hot)
        for (int64_t i = 0; i < n; i++)
            c->hot[i] = job->present[i] ? -1 : (int32_t)c->missing;
    return bad;
}

/* A block reads a short piece of every column: too short for the machine to guess what comes next. */
INLINE void fetch_next(const Job *job, const char *at, int size, int64_t start, int64_t n)
{
    int64_t left = job->rows - start - n, bytes = (left < n ? left : n) * size;
    for (int64_t byte = 0; byte < bytes; byte += 64)
        PREFETCH(at + n * size + byte);
}

INLINE int quantise(Job *job, Column *c, int64_t start, int64_t n)
{
    const char *at = c->values + start * c->stride;
    if (c->valid)
        return quantise_loose(job, c, start, n);
    if (c->stride != SIZES[c->type] || (uintptr_t)at % SIZES[c->type]) {
        if (c->type == F32 && c->stride % 4 == 0 && (uintptr_t)at % 4 == 0) {
            float *x = (float *)job->numbers;
            const float *from = (const float *)at;
            ptrdiff_t step = c->stride / 4;
            for (int64_t i = 0; i < n; i++)
                x[i] = from[i * step];
            return quantise_F32(x, n, c->centre, c->inverse, job->unit, c->slot);
        }
        return quantise_loose(job, c, start, n);
    }
    fetch_next(job, at, SIZES[c->type], start, n);
    switch (c->type) {
#define CASE(NAME, T) \
    case NAME: return quantise_##NAME((const T *)at, n, c->centre, c->inverse, job->unit, c->slot);
        EACH_TYPE(CASE)
#undef CASE
    }
    return 0;
}

INLINE int64_t code_at(const Column *c, int64_t row)
{
    const char *at = c->values + row * c->stride;
    switch (c->type) {
#define CASE(NAME, T) case NAME: { T v; memcpy(&v, at, sizeof v); return (int64_t)v; }
        CASE(I8, int8_t) CASE(I16, int16_t) CASE(I32, int32_t) CASE(I64, int64_t)
        CASE(U8, uint8_t) CASE(U16, uint16_t) CASE(U32, uint32_t)
#undef CASE
        case U64: { uint64_t v; memcpy(&v, at, sizeof v); return v > INT32_MAX ? INT32_MAX : (int64_t)v; }
    }
    return -2;
}

INLINE int64_t level_at(const Column *c, int64_t row)
{
    int64_t code = code_at(c, row);
    if (c->lookup)
        code = code >= 0 && code < c->lookup_size ? c->lookup[code] : -2;
    return code >= -1 && code < c->levels ? code : -2;
}

INLINE int place(Job *job, Column *c, int64_t start, int64_t n)
{
    int bad = 0;
    if (c->valid)
        gather_valid(c, start, n, job->present);
    for (int64_t i = 0; i < n; i++) {
        if (c->valid && !job->present[i]) {
            bad |= c->missing < 0;
            c->hot[i] = (int32_t)c->missing;
            continue;
        }
        int64_t code = level_at(c, start + i);
        bad |= code == -2;
        c->hot[i] = code < 0 ? -1 : (int32_t)(c->offset + code);
    }
    return bad;
}

/* ---- the offence: the first row, and in it the first column ------------------------------ */

static int saturated(Job *job, Column *c, int64_t start, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = start + i, bit = c->valid_offset + row;
        if (c->valid && !((c->valid[bit >> 3] >> (bit & 7)) & 1)) {
            if (c->fill == NO_FILL)
                return 1;
            continue;
        }
        double x = number_at(c, row);
        if (!isfinite(x))
            return 1;
        double r = rounded(((x - c->centre) * c->inverse) * job->unit);
        c->slot[i] = (int32_t)(r > LIMIT ? LIMIT : r < -LIMIT ? -LIMIT : r);
    }
    return 0;
}

static int reason_at(const Job *job, const Column *c, int64_t row)
{
    int64_t bit = c->valid_offset + row;
    if (c->valid && !((c->valid[bit >> 3] >> (bit & 7)) & 1))
        return (c->kind == NUMBER ? c->fill == NO_FILL : c->missing < 0) ? MISSING : 0;
    if (c->kind == LEVELS)
        return level_at(c, row) == -2 ? LEVEL : 0;
    double x = number_at(c, row);
    if (!isfinite(x))
        return NOT_FINITE;
    double r = rounded(((x - c->centre) * c->inverse) * job->unit);
    return fabs(r) <= LIMIT || job->saturate ? 0 : TOO_LARGE;
}

static int64_t label_at(const Job *job, int64_t row)
{
    switch (job->label_size) {
        case 1: return ((const int8_t *)job->labels)[row];
        case 2: return ((const int16_t *)job->labels)[row];
        case 4: return ((const int32_t *)job->labels)[row];
        default: return ((const int64_t *)job->labels)[row];
    }
}

static int label_reason(const Job *job, int64_t row)
{
    if (!job->labels)
        return 0;
    int64_t label = label_at(job, row);
    if (job->classes)
        return label < 0 || label >= job->classes ? CLASS : 0;
    return label != -1 && label != 1 ? CLASS : 0;
}

static int find_offence(Job *job, int64_t start, int64_t n)
{
    for (int64_t row = start; row < start + n; row++) {
        for (int64_t j = 0; j < job->count; j++) {
            int reason = reason_at(job, &job->columns[j], row);
            if (reason) {
                job->bad_row = row, job->bad_column = j, job->reason = reason;
                return 1;
            }
        }
        if (label_reason(job, row)) {
            job->bad_row = row, job->bad_column = job->count, job->reason = CLASS;
            return 1;
        }
    }
    return 0;
}

/* ---- norms, hashes, column sums ---------------------------------------------------------- */

INLINE void begin_rows(Job *job, int64_t n)
{
    int64_t level = job->intercept >= 0 ? job->level : 0;
    int64_t length = job->norm == 2 ? level * level : level;
    for (int64_t i = 0; i < n; i++)
        job->length[i] = length;
    for (int lane = 0; lane < 2; lane++) {
        uint64_t hash = job->starts[lane];
        if (job->intercept >= 0)
            hash += job->multipliers[lane * job->width + job->intercept] * (uint64_t)level;
        for (int64_t i = 0; i < n; i++)
            job->lane[lane][i] = hash;
    }
}

/* Norm, both hashes and the column sums of a few slots in one walk over the rows' accumulators.
 * `count`, `norm` and `witness` are constants where this is called. */
INLINE void gauge_slots(Job *job, Column *const *c, int64_t n, int count, int norm, int witness)
{
    int64_t *restrict length = job->length, sum[4] = {0};
    uint64_t *restrict left = job->lane[0], *restrict right = job->lane[1];
    const int32_t *restrict q[4];
    uint64_t a[4], b[4];
    for (int k = 0; k < count; k++) {
        q[k] = c[k]->slot;
        a[k] = job->multipliers[c[k]->offset];
        b[k] = job->multipliers[job->width + c[k]->offset];
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t size = length[i];
        uint64_t one = left[i], other = right[i];
        UNROLL for (int k = 0; k < count; k++)
        {
            int64_t v = q[k][i], absolute = v < 0 ? -v : v;
            size = norm == 2 ? size + v * v : norm == 1 ? size + absolute : absolute > size ? absolute : size;
            if (witness) {
                one += a[k] * (uint64_t)v;
                other += b[k] * (uint64_t)v;
                sum[k] += v;
            }
        }
        length[i] = size;
        if (witness) {
            left[i] = one;
            right[i] = other;
        }
    }
    for (int k = 0; witness && k < count; k++)
        job->feature_sum[c[k]->offset] += sum[k];
}

INLINE void gauge_numbers(Job *job, int64_t n, int norm, int witness)
{
    int64_t j = 0;
    for (; j + 4 <= job->numeric; j += 4)
        gauge_slots(job, job->numbered + j, n, 4, norm, witness);
    for (; j < job->numeric; j++)
        gauge_slots(job, job->numbered + j, n, 1, norm, witness);
}

INLINE void hot_rows(Job *job, const int32_t *hot, int64_t n)
{
    int64_t level = job->level, square = level * level;
    for (int64_t i = 0; i < n; i++) {
        if (hot[i] < 0)
            continue;
        if (job->norm == 2)
            job->length[i] += square;
        else if (job->norm == 1)
            job->length[i] += level;
        else
            job->length[i] = level > job->length[i] ? level : job->length[i];
        if (job->witness) {
            job->feature_sum[hot[i]] += level;
            for (int lane = 0; lane < 2; lane++)
                job->lane[lane][i] += job->multipliers[lane * job->width + hot[i]] * (uint64_t)level;
        }
    }
}

INLINE uint64_t finalised(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

INLINE void ceil_sqrt(int64_t *restrict n, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t root = (int64_t)sqrt((double)n[i]);
        root += root * root < n[i];
        root += root * root < n[i];
        n[i] = root;
    }
}

INLINE void gauge(Job *job, int64_t n)
{
    begin_rows(job, n);
    switch (job->norm * 2 + job->witness) {
        case 5: gauge_numbers(job, n, 2, 1); break;
        case 4: gauge_numbers(job, n, 2, 0); break;
        case 3: gauge_numbers(job, n, 1, 1); break;
        case 2: gauge_numbers(job, n, 1, 0); break;
        case 1: gauge_numbers(job, n, 0, 1); break;
        default: gauge_numbers(job, n, 0, 0);
    }
    for (int64_t j = 0; j < job->count; j++)
        if (job->columns[j].hot)
            hot_rows(job, job->columns[j].hot, n);
    if (job->norm == 2)
        ceil_sqrt(job->length, n);
    if (!job->witness)
        return;
    if (job->intercept >= 0)
        job->feature_sum[job->intercept] += n * job->level;
    for (int lane = 0; lane < 2; lane++) {
        uint64_t sum = 0, *hash = job->lane[lane];
        for (int64_t i = 0; i < n; i++) {
            hash[i] = finalised(hash[i]);
            sum += hash[i];
        }
        job->prints[lane] += sum;
    }
}

/* ---- shortening -------------------------------------------------------------------------- */

INLINE int64_t shorten_exactly(int64_t q, int64_t radius, int64_t length)
{
    int64_t part = (q < 0 ? -q : q) * radius / length;
    return q < 0 ? -part : part;
}

INLINE int32_t shorten_one(int32_t q, double ratio, double bias)
{
    double x = q;
    return (int32_t)(x * ratio + copysign(bias, x));
}

INLINE void shorten(int32_t *restrict q, int64_t n, const double *restrict ratio, const double *restrict bias)
{
    for (int64_t i = 0; i < n; i++)
        q[i] = shorten_one(q[i], ratio[i], bias[i]);
}

/* The rows of this block that are longer than the radius, one after the other. */
INLINE int64_t longer_rows(Job *job, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        job->moved[count] = (int32_t)i;
        count += job->length[i] > job->radius;
    }
    return count;
}

INLINE double stretch(const Job *job, int64_t i)
{
    return (double)(job->length[i] > job->radius ? job->length[i] : job->radius);
}

/* Many rows are shortened in step with the rest, which a ratio of one leaves as they are. */
INLINE void shorten_many(Job *job, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double length = stretch(job, i);
        job->ratio[i] = (double)job->radius / length;
        job->bias[i] = 0.5 / length;
    }
    shorten(job->level_short, n, job->ratio, job->bias);
    for (int64_t j = 0; j < job->numeric; j++)
        shorten(job->numbered[j]->slot, n, job->ratio, job->bias);
}

INLINE void shorten_few(Job *job, int64_t count)
{
    const int32_t *restrict moved = job->moved;
    double *restrict ratio = job->ratio, *restrict bias = job->bias;
    for (int64_t k = 0; k < count; k++) {
        double length = (double)job->length[moved[k]];
        ratio[k] = (double)job->radius / length;
        bias[k] = 0.5 / length;
        job->level_short[moved[k]] = shorten_one((int32_t)job->level, ratio[k], bias[k]);
    }
    for (int64_t j = 0; j < job->numeric; j++) {
        int32_t *restrict slot = job->numbered[j]->slot;
        for (int64_t k = 0; k < count; k++)
            slot[moved[k]] = shorten_one(slot[moved[k]], ratio[k], bias[k]);
    }
}

INLINE void shorten_rows(Job *job, int64_t n)
{
    int64_t count = longer_rows(job, n);
    for (int64_t i = 0; i < n; i++)
        job->level_short[i] = (int32_t)job->level;
    if (job->radius <= QUICK && count > n / 8)
        shorten_many(job, n);
    else if (job->radius <= QUICK)
        shorten_few(job, count);
    else
        for (int64_t k = 0; k < count; k++) {
            int32_t i = job->moved[k];
            for (int64_t j = 0; j < job->numeric; j++) {
                int32_t *slot = job->numbered[j]->slot;
                slot[i] = (int32_t)shorten_exactly(slot[i], job->radius, job->length[i]);
            }
            job->level_short[i] = (int32_t)shorten_exactly(job->level, job->radius, job->length[i]);
        }
}

/* ---- adding up --------------------------------------------------------------------------- */

/* Rows that int32 sums may take together: |q| is at most the radius, and at most 2^24. */
INLINE int64_t piece_rows(const Job *job)
{
    int64_t most = job->radius < (int64_t)LIMIT ? job->radius : (int64_t)LIMIT;
    return ((int64_t)1 << 30) / most;
}

INLINE void add_signed(const int32_t *restrict q, const int32_t *restrict sign, int64_t negative, int64_t n,
                       int64_t piece, int64_t *total, int64_t *clipped)
{
    for (int64_t first = 0; first < n; first += piece) {
        int64_t end = n - first < piece ? n : first + piece;
        int32_t with = 0, plain = 0; /* -q is ~q + 1: the ones are added once, by the caller */
        for (int64_t i = first; i < end; i++) {
            with += q[i] ^ sign[i];
            plain += q[i];
        }
        *total += with;
        *clipped += plain;
    }
    *total += negative;
}

INLINE int read_labels(Job *job, int64_t start, int64_t n)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = label_at(job, start + i);
        bad |= job->classes ? label < 0 || label >= job->classes : label != -1 && label != 1;
        job->label[i] = (int32_t)(job->classes ? label : label >> 1); /* a sign becomes its mask, 0 or -1 */
    }
    return bad;
}

INLINE void add_hot_signed(Job *job, const int32_t *hot, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (hot[i] >= 0) {
            int32_t q = job->level_short[i];
            job->totals[hot[i]] += (q ^ job->label[i]) - job->label[i];
            job->clipped[hot[i]] += q;
        }
}

INLINE void add_signs(Job *job, int64_t n)
{
    int64_t piece = piece_rows(job), negative = 0;
    for (int64_t i = 0; i < n; i++)
        negative -= job->label[i];
    for (int64_t j = 0; j < job->numeric; j++) {
        Column *c = job->numbered[j];
        add_signed(c->slot, job->label, negative, n, piece, &job->totals[c->offset], &job->clipped[c->offset]);
    }
    for (int64_t j = 0; j < job->count; j++)
        if (job->columns[j].hot)
            add_hot_signed(job, job->columns[j].hot, n);
    if (job->intercept >= 0)
        add_signed(job->level_short, job->label, negative, n, piece, &job->totals[job->intercept],
                   &job->clipped[job->intercept]);
}

/* Rows of one class are brought together once per block; each column then adds up run after run. */
INLINE void add_runs(Job *job, const int32_t *q, int64_t coordinate, const int32_t *order, int64_t n)
{
    int64_t i = 0;
    while (i < n) {
        int32_t label = job->label[order[i]];
        int64_t sum = 0;
        for (; i < n && job->label[order[i]] == label; i++)
            sum += q[order[i]];
        job->totals[(int64_t)label * job->width + coordinate] += sum;
        job->clipped[coordinate] += sum;
    }
}

INLINE void add_classes(Job *job, int64_t n)
{
    int32_t *order = job->moved;
    int64_t place = 0;
    if (job->classes <= 64) {
        int64_t from[65] = {0};
        for (int64_t i = 0; i < n; i++)
            from[job->label[i] + 1]++;
        for (int k = 0; k < job->classes; k++)
            from[k + 1] += from[k];
        for (int64_t i = 0; i < n; i++)
            order[from[job->label[i]]++] = (int32_t)i;
    } else
        for (; place < n; place++)
            order[place] = (int32_t)place;
    for (int64_t j = 0; j < job->count; j++) {
        Column *c = &job->columns[j];
        if (c->slot)
            add_runs(job, c->slot, c->offset, order, n);
        for (int64_t i = 0; c->hot && i < n; i++)
            if (c->hot[i] >= 0) {
                job->totals[(int64_t)job->label[i] * job->width + c->hot[i]] += job->level_short[i];
                job->clipped[c->hot[i]] += job->level_short[i];
            }
    }
    if (job->intercept >= 0)
        add_runs(job, job->level_short, job->intercept, order, n);
}

INLINE void write_rows(Job *job, int64_t start, int64_t n)
{
    int64_t width = job->width;
    int32_t *rows = job->encoded + start * width;
    for (int64_t j = 0; j < job->count; j++) {
        Column *c = &job->columns[j];
        for (int64_t i = 0; c->slot && i < n; i++)
            rows[i * width + c->offset] = c->slot[i];
        for (int64_t i = 0; c->hot && i < n; i++)
            if (c->hot[i] >= 0)
                rows[i * width + c->hot[i]] = job->level_short[i];
    }
    for (int64_t i = 0; job->intercept >= 0 && i < n; i++)
        rows[i * width + job->intercept] = job->level_short[i];
}

/* ---- second moments ---------------------------------------------------------------------- */

/* Column-major doubles of the shortened block; products are summed in doubles over so few rows that
 * every partial sum is a whole number below 2^53. */
INLINE void spread(Job *job, int64_t n)
{
    double *dense = job->numbers;
    int64_t pitch = job->block;
    memset(dense, 0, (size_t)(job->width * pitch) * sizeof(double));
    for (int64_t j = 0; j < job->count; j++) {
        Column *c = &job->columns[j];
        for (int64_t i = 0; c->slot && i < n; i++)
            dense[c->offset * pitch + i] = c->slot[i];
        for (int64_t i = 0; c->hot && i < n; i++)
            if (c->hot[i] >= 0)
                dense[c->hot[i] * pitch + i] = job->level_short[i];
    }
    for (int64_t i = 0; job->intercept >= 0 && i < n; i++)
        dense[job->intercept * pitch + i] = job->level_short[i];
}

INLINE void add_product(Job *job, int64_t a, int64_t b, double sum)
{
    int64_t at = a * job->width + b;
    int64_t low = job->low[at] + (int64_t)sum;
    job->high[at] += low >> 32;
    job->low[at] = low & 0xFFFFFFFF;
}

INLINE void add_products(Job *job, int64_t first, int64_t n)
{
    int64_t width = job->width, pitch = job->block;
    n = (n + 7) / 8 * 8; /* what lies beyond the last row is zero */
    for (int64_t a = 0; a < width; a += 2)
        for (int64_t b = 0; b <= a; b += 2) {
            int64_t second_a = a + 1 < width ? a + 1 : a, second_b = b + 1 < width ? b + 1 : b;
            const double *x0 = job->numbers + a * pitch + first, *x1 = job->numbers + second_a * pitch + first;
            const double *y0 = job->numbers + b * pitch + first, *y1 = job->numbers + second_b * pitch + first;
            double s[4][8] = {{0}};
            for (int64_t i = 0; i < n; i += 8)
                for (int k = 0; k < 8; k++) {
                    s[0][k] += x0[i + k] * y0[i + k];
                    s[1][k] += x0[i + k] * y1[i + k];
                    s[2][k] += x1[i + k] * y0[i + k];
                    s[3][k] += x1[i + k] * y1[i + k];
                }
            for (int k = 1; k < 8; k++)
                for (int t = 0; t < 4; t++)
                    s[t][0] += s[t][k];
            add_product(job, a, b, s[0][0]);
            if (second_b != b && second_b <= a)
                add_product(job, a, second_b, s[1][0]);
            if (second_a != a) {
                add_product(job, second_a, b, s[2][0]);
                if (second_b != b)
                    add_product(job, second_a, second_b, s[3][0]);
            }
        }
}

INLINE void add_moments(Job *job, int64_t n)
{
    int64_t most = job->radius < (int64_t)LIMIT ? job->radius : (int64_t)LIMIT;
    int64_t piece = ((int64_t)1 << 53) / (most * most) / 8 * 8;
    spread(job, n);
    piece = piece < 8 ? 8 : piece;
    for (int64_t first = 0; first < n; first += piece)
        add_products(job, first, n - first < piece ? n - first : piece);
}

/* ---- the pass ---------------------------------------------------------------------------- */

INLINE void run_body(Job *job)
{
    for (int64_t start = 0; start < job->rows; start += job->block) {
        int64_t n = job->rows - start < job->block ? job->rows - start : job->block;
        int bad = job->labels ? read_labels(job, start, n) : 0;
        for (int64_t j = 0; j < job->count; j++) {
            Column *c = &job->columns[j];
            int odd = c->kind == NUMBER ? quantise(job, c, start, n) : place(job, c, start, n);
            if (odd && job->saturate && c->kind == NUMBER)
                odd = saturated(job, c, start, n);
            bad |= odd;
        }
        if (bad && find_offence(job, start, n))
            return;
        gauge(job, n);
        if (job->norms)
            memcpy(job->norms + start, job->length, (size_t)n * sizeof(int64_t));
        if (job->hashes)
            memcpy(job->hashes + start, job->lane[0], (size_t)n * sizeof(uint64_t));
        if (job->norms)
            continue;
        shorten_rows(job, n);
        if (job->encoded)
            write_rows(job, start, n);
        else if (job->high)
            add_moments(job, n);
        else if (job->classes)
            add_classes(job, n);
        else
            add_signs(job, n);
    }
}
DISPATCH(run, (Job *job), (job))

/* ---- Python ------------------------------------------------------------------------------ */

typedef struct {
    Py_buffer *items;
    Py_ssize_t used, room;
} Buffers;

/* The address behind an object; NULL without an error for None. `size` is checked against the length. */
static char *borrow(Buffers *held, PyObject *object, int flags, int64_t size, Py_buffer **seen)
{
    if (object == Py_None)
        return NULL;
    Py_buffer *buffer = &held->items[held->used];
    if (PyObject_GetBuffer(object, buffer, flags) < 0)
        return NULL;
    held->used++;
    if (seen)
        *seen = buffer;
    if (size >= 0 && buffer->len < size) {
        PyErr_SetString(PyExc_ValueError, "a buffer is shorter than the pass needs");
        return NULL;
    }
    return buffer->buf;
}

static int read_column(Column *c, Buffers *held, const int64_t *words, const double *reals, PyObject *given,
                       int64_t rows)
{
    PyObject *values, *valid, *lookup;
    Py_buffer *seen = NULL;
    if (!PyArg_ParseTuple(given, "OOO", &values, &valid, &lookup))
        return -1;
    c->kind = (int)words[COLUMN_KIND], c->type = (int)words[COLUMN_TYPE];
    c->offset = words[COLUMN_OFFSET], c->levels = words[COLUMN_LEVELS];
    c->fill = words[COLUMN_FILL], c->missing = words[COLUMN_MISSING], c->valid_offset = words[COLUMN_VALID];
    c->centre = reals[0], c->inverse = reals[1];
    c->values = borrow(held, values, PyBUF_STRIDED_RO, -1, &seen);
    if (!seen)
        return -1;
    if (c->type < 0 || c->type >= TYPES || seen->itemsize != SIZES[c->type] || seen->ndim != 1 ||
        seen->shape[0] != rows) {
        PyErr_SetString(PyExc_ValueError, "a column does not have the type or the rows that were stated");
        return -1;
    }
    c->stride = seen->strides[0];
    c->valid = (const uint8_t *)borrow(held, valid, PyBUF_SIMPLE, (c->valid_offset + rows + 7) / 8, NULL);
    seen = NULL;
    c->lookup = (const int32_t *)borrow(held, lookup, PyBUF_SIMPLE, -1, &seen);
    c->lookup_size = seen ? seen->len / (Py_ssize_t)sizeof(int32_t) : 0;
    return PyErr_Occurred() ? -1 : 0;
}

/* All scratch in one piece; 64-byte steps keep the rows of different slots on lines of their own. */
static char *lay_out(Job *job)
{
    int64_t slots = 0, n = job->block;
    for (int64_t j = 0; j < job->count; j++)
        slots += (job->columns[j].kind == NUMBER) + (job->columns[j].kind == LEVELS || job->columns[j].missing >= 0);
    int64_t numbers = job->high ? job->width * n : n;
    size_t size = (size_t)(64 + n * (4 * (slots + 3) + 8 * 5 + 8) + 8 * numbers + 64);
    char *memory = malloc(size), *at = memory;
    if (!memory)
        return NULL;
    at += 64 - (uintptr_t)at % 64;
    job->numbers = (double *)at, at += 8 * numbers;
    job->length = (int64_t *)at, at += 8 * n;
    job->lane[0] = (uint64_t *)at, at += 8 * n;
    job->lane[1] = (uint64_t *)at, at += 8 * n;
    job->ratio = (double *)at, at += 8 * n;
    job->bias = (double *)at, at += 8 * n;
    job->label = (int32_t *)at, at += 4 * n;
    job->level_short = (int32_t *)at, at += 4 * n;
    job->moved = (int32_t *)at, at += 4 * n;
    for (int64_t j = 0; j < job->count; j++) {
        Column *c = &job->columns[j];
        if (c->kind == NUMBER)
            c->slot = (int32_t *)at, at += 4 * n;
        if (c->kind == LEVELS || c->missing >= 0)
            c->hot = (int32_t *)at, at += 4 * n;
    }
    job->present = (uint8_t *)at;
    /* without a bitmap an indicator never lights up */
    for (int64_t j = 0; j < job->count; j++)
        if (job->columns[j].kind == NUMBER && !job->columns[j].valid)
            job->columns[j].hot = NULL;
    return memory;
}

static int64_t block_rows(const Job *job)
{
    int64_t n = 32768 / (4 * (job->count + 1)) / 64 * 64;
    return n < 128 ? 128 : n > 512 ? 512 : n;
}

static PyObject *finished(Job *job, PyObject *prints)
{
    static const char *const reasons[] = {"", "not finite", "too large", "level", "missing", "class"};
    if (job->reason)
        return Py_BuildValue("LLs", (long long)job->bad_row, (long long)job->bad_column, reasons[job->reason]);
    if (prints == Py_None)
        Py_RETURN_NONE;
    return Py_BuildValue("KK", (unsigned long long)job->prints[0], (unsigned long long)job->prints[1]);
}

/* fold(words, reals, columns, (rows, width, level, intercept, saturate, norm, witness, classes, radius),
 *      unit, (starts, multipliers), labels, label_size, (totals, clipped, feature_sum, norms, hashes, encoded,
 *      high, low)) -> None | (print, print) | (row, column, reason) */
static PyObject *fold(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *words, *reals, *columns, *starts, *multipliers, *labels, *out[8], *answer = NULL;
    long long rows, width, level, intercept, radius;
    Job job = {0};
    Buffers held = {0};
    char *memory = NULL;
    if (!PyArg_ParseTuple(args, "OOO!(LLLLiiiiL)d(OO)Oi(OOOOOOOO)", &words, &reals, &PyTuple_Type, &columns, &rows,
                          &width, &level, &intercept, &job.saturate, &job.norm, &job.witness, &job.classes, &radius,
                          &job.unit, &starts, &multipliers, &labels, &job.label_size, &out[0], &out[1], &out[2],
                          &out[3], &out[4], &out[5], &out[6], &out[7]))
        return NULL;
    job.rows = rows, job.width = width, job.level = level, job.intercept = intercept, job.radius = radius;
    job.count = PyTuple_Size(columns);
    held.room = 3 * job.count + 16;
    held.items = calloc((size_t)held.room, sizeof(Py_buffer));
    job.columns = calloc((size_t)job.count + 1, sizeof(Column));
    job.numbered = calloc((size_t)job.count + 1, sizeof(Column *));
    if (!held.items || !job.columns || !job.numbered) {
        PyErr_NoMemory();
        goto done;
    }
    const int64_t *told = (const int64_t *)borrow(&held, words, PyBUF_SIMPLE, job.count * COLUMN_WORDS * 8, NULL);
    const double *scales = (const double *)borrow(&held, reals, PyBUF_SIMPLE, job.count * 16, NULL);
    job.starts = (const uint64_t *)borrow(&held, starts, PyBUF_SIMPLE, 16, NULL);
    job.multipliers = (const uint64_t *)borrow(&held, multipliers, PyBUF_SIMPLE, 16 * width, NULL);
    job.labels = borrow(&held, labels, PyBUF_SIMPLE, rows * job.label_size, NULL);
    int64_t blocks = job.classes ? job.classes : 1;
    job.totals = (int64_t *)borrow(&held, out[0], PyBUF_WRITABLE, 8 * width * blocks, NULL);
    job.clipped = (int64_t *)borrow(&held, out[1], PyBUF_WRITABLE, 8 * width, NULL);
    job.feature_sum = (int64_t *)borrow(&held, out[2], PyBUF_WRITABLE, 8 * width, NULL);
    job.norms = (int64_t *)borrow(&held, out[3], PyBUF_WRITABLE, 8 * rows, NULL);
    job.hashes = (uint64_t *)borrow(&held, out[4], PyBUF_WRITABLE, 8 * rows, NULL);
    job.encoded = (int32_t *)borrow(&held, out[5], PyBUF_WRITABLE, 4 * rows * width, NULL);
    job.high = (int64_t *)borrow(&held, out[6], PyBUF_WRITABLE, 8 * width * width, NULL);
    job.low = (int64_t *)borrow(&held, out[7], PyBUF_WRITABLE, 8 * width * width, NULL);
    if (PyErr_Occurred())
        goto done;
    for (int64_t j = 0; j < job.count; j++) {
        Column *c = &job.columns[j];
        if (read_column(c, &held, told + j * COLUMN_WORDS, scales + 2 * j, PyTuple_GetItem(columns, j), rows) < 0)
            goto done;
        if (c->kind == NUMBER)
            job.numbered[job.numeric++] = c;
    }
    job.block = block_rows(&job);
    memory = lay_out(&job);
    if (!memory) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    run(&job);
    Py_END_ALLOW_THREADS
    answer = finished(&job, job.witness && job.feature_sum ? Py_True : Py_None);
done:
    for (Py_ssize_t i = 0; i < held.used; i++)
        PyBuffer_Release(&held.items[i]);
    free(memory);
    free(held.items);
    free(job.columns);
    free(job.numbered);
    return answer;
}

static PyObject *limit_lanes(PyObject *self, PyObject *args)
{
    (void)self;
    int before = suffice_lanes;
    if (!PyArg_ParseTuple(args, "i", &suffice_lanes))
        return NULL;
    return PyLong_FromLong(before);
}

static PyMethodDef methods[] = {
    {"fold", fold, METH_VARARGS, "One pass over column buffers; see compiled.py."},
    {"limit_lanes", limit_lanes, METH_VARARGS, "The widest instruction set to use: 3, 2 or 1. Returns the one before."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fold", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fold(void)
{
    return PyModuleDef_Init(&module);
}
