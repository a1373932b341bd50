/* One pass: what it was told, its scratch and its outputs. */

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
    int64_t *totals, *clipped, *feature_sum, *norms, *reach; /* reach: largest 1-norm, squared 2-norm, max norm */
    uint64_t *hashes, prints[2];
    int32_t *encoded;
    float scale; /* rows as float32 multiples of it; 0: as whole numbers */
    int64_t *high, *low;
    int64_t block;
    /* one block's scratch */
    int32_t *slots, *label, *level_short, *moved, *size;
    int64_t *length, *square;
    uint64_t *lane[2];
    double *ratio, *bias, *numbers;
    uint8_t *present;
    /* the offence, if any */
    int64_t bad_row, bad_column;
    int reason;
} Job;

static const int SIZES[TYPES] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
