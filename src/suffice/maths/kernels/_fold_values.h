/* Columns of a block to slots of grid units, and the first row that cannot be. */

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
    if (c->stride != SIZES[c->type]) {
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
    if ((uintptr_t)at % SIZES[c->type]) /* a page of a file begins anywhere */
        at = memcpy(job->numbers, at, (size_t)(n * SIZES[c->type]));
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
