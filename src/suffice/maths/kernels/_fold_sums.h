/* Slots of a block to norms, hashes and sums. */

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
    if (job->norm == 2) {
        if (job->reach)
            memcpy(job->square, job->length, (size_t)n * sizeof(int64_t));
        ceil_sqrt(job->length, n);
    }
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
    const int64_t *restrict length = job->length;
    const int64_t radius = job->radius;
    int32_t *restrict moved = job->moved;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        moved[count] = (int32_t)i;
        count += length[i] > radius;
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
        EACH_ONCE for (int64_t k = 0; k < count; k++)
            slot[moved[k]] = shorten_one(slot[moved[k]], ratio[k], bias[k]);
    }
}

/* Shorten the rows beyond the radius, and say how many they are. */
INLINE int64_t shorten_rows(Job *job, int64_t n)
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
    return count;
}

/* ---- how far shortened rows reach -------------------------------------------------------- */

#define SIZES_TOGETHER 64 /* that many entries of at most 2^24 fit 32 bits */

/* 1-norms and the largest entry of a few slots. */
INLINE int32_t size_slots(Column *const *c, int64_t n, int count, int32_t most, int32_t *restrict size)
{
    const int32_t *restrict q[4];
    for (int k = 0; k < count; k++)
        q[k] = c[k]->slot;
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = 0;
        UNROLL for (int k = 0; k < count; k++)
        {
            int32_t v = q[k][i], absolute = v < 0 ? -v : v;
            most = absolute > most ? absolute : most;
            sum += absolute;
        }
        size[i] += sum;
    }
    return most;
}

INLINE int32_t size_rows(Job *job, int64_t n, int64_t *restrict l1)
{
    int32_t most = 0, *restrict size = job->size;
    for (int64_t first = 0, j; first < job->numeric; first += SIZES_TOGETHER) {
        int64_t end = job->numeric - first < SIZES_TOGETHER ? job->numeric : first + SIZES_TOGETHER;
        memset(size, 0, (size_t)n * sizeof(int32_t));
        for (j = first; j + 4 <= end; j += 4)
            most = size_slots(job->numbered + j, n, 4, most, size);
        for (; j < end; j++)
            most = size_slots(job->numbered + j, n, 1, most, size);
        for (int64_t i = 0; i < n; i++)
            l1[i] += size[i];
    }
    return most;
}

INLINE void square_slots(Column *const *c, int64_t n, int count, int64_t *restrict square)
{
    const int32_t *restrict q[4];
    for (int k = 0; k < count; k++)
        q[k] = c[k]->slot;
    for (int64_t i = 0; i < n; i++) {
        int64_t sum = square[i];
        UNROLL for (int k = 0; k < count; k++) sum += (int64_t)q[k][i] * q[k][i];
        square[i] = sum;
    }
}

INLINE void square_few(Job *job, int64_t count)
{
    const int32_t *restrict moved = job->moved;
    int64_t *restrict fresh = (int64_t *)job->lane[1]; /* hashes are done with */
    memset(fresh, 0, (size_t)count * sizeof(int64_t));
    for (int64_t j = 0; j < job->numeric; j++) {
        const int32_t *restrict q = job->numbered[j]->slot;
        for (int64_t k = 0; k < count; k++)
            fresh[k] += (int64_t)q[moved[k]] * q[moved[k]];
    }
    for (int64_t k = 0; k < count; k++)
        job->square[moved[k]] = fresh[k];
}

INLINE int64_t largest(const int64_t *restrict x, int64_t n, int64_t most)
{
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Squares that begin_rows and gauge knew are of rows that were not shortened; those of others are made again. */
INLINE int square_rows(Job *job, int64_t n, int64_t moved)
{
    int64_t j = 0;
    if (job->norm == 2 && moved <= n / 8) {
        square_few(job, moved);
        return 0;
    }
    memset(job->square, 0, (size_t)n * sizeof(int64_t));
    for (; j + 4 <= job->numeric; j += 4)
        square_slots(job->numbered + j, n, 4, job->square);
    for (; j < job->numeric; j++)
        square_slots(job->numbered + j, n, 1, job->square);
    return 1;
}

/* The intercept is among the squares already where a row was not shortened. */
INLINE int32_t reach_intercept(const int32_t *restrict level, int64_t n, int64_t radius,
                               const int64_t *restrict length, int32_t most, int64_t *restrict l1,
                               int64_t *restrict square)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t size = level[i], own = length[i] > radius ? size * size : 0;
        l1[i] += size;
        square[i] += own;
        most = level[i] > most ? level[i] : most;
    }
    return most;
}

INLINE void reach_rows(Job *job, int64_t n, int64_t moved)
{
    int64_t *restrict l1 = (int64_t *)job->lane[0]; /* hashes are done with */
    int64_t *restrict square = job->square;
    const int32_t *restrict level = job->level_short;
    memset(l1, 0, (size_t)n * sizeof(int64_t));
    int32_t most = size_rows(job, n, l1);
    int all = square_rows(job, n, moved);
    if (job->intercept >= 0)
        most = reach_intercept(level, n, all ? -1 : job->radius, job->length, most, l1, square);
    for (int64_t j = 0; j < job->count; j++)
        for (int64_t i = 0; job->columns[j].hot && i < n; i++)
            if (job->columns[j].hot[i] >= 0) {
                l1[i] += level[i];
                square[i] += all || job->length[i] > job->radius ? (int64_t)level[i] * level[i] : 0;
                most = level[i] > most ? level[i] : most;
            }
    job->reach[0] = largest(l1, n, job->reach[0]);
    job->reach[1] = largest(square, n, job->reach[1]);
    job->reach[2] = most > job->reach[2] ? most : job->reach[2];
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

/* A sign becomes its mask, 0 or -1; a class stays as it is. */
#define READ_LABELS(NAME, T) \
    INLINE int read_##NAME(const T *restrict given, int64_t n, int64_t classes, int32_t *restrict label) \
    { \
        int bad = 0; \
        for (int64_t i = 0; classes && i < n; i++) { \
            bad |= given[i] < 0 || (int64_t)given[i] >= classes; \
            label[i] = (int32_t)given[i]; \
        } \
        for (int64_t i = 0; !classes && i < n; i++) { \
            bad |= given[i] != -1 && given[i] != 1; \
            label[i] = -(int32_t)(given[i] < 0); \
        } \
        return bad; \
    }
READ_LABELS(1, int8_t)
READ_LABELS(2, int16_t)
READ_LABELS(4, int32_t)
READ_LABELS(8, int64_t)
#undef READ_LABELS

INLINE int read_labels(Job *job, int64_t start, int64_t n)
{
    const char *at = job->labels + start * job->label_size;
    switch (job->label_size) {
        case 1: return read_1((const int8_t *)at, n, job->classes, job->label);
        case 2: return read_2((const int16_t *)at, n, job->classes, job->label);
        case 4: return read_4((const int32_t *)at, n, job->classes, job->label);
        default: return read_8((const int64_t *)at, n, job->classes, job->label);
    }
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

/* Whole numbers become floats, which are as wide, in their place. */
INLINE void scale_rows(int32_t *rows, int64_t count, float scale)
{
    for (int64_t at = 0; at < count; at++) {
        float real = (float)rows[at] * scale;
        memcpy(&rows[at], &real, sizeof real);
    }
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
    if (job->scale != 0)
        scale_rows(rows, n * width, job->scale);
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
