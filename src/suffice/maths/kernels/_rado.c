/* Rado sums: each is a sum over its own random half of the rows ("four Russians").
 *
 * Thirty-two rows are tabulated at a time: eight tables of all sixteen subset sums of four rows. A rado
 * then adds eight table rows instead of sixteen rows on average. The subsets are 32-bit words, one per
 * rado and stripe of 32 rows; given, or the ChaCha20 stream of a key with the stripe as its nonce. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "_dispatch.h"

#define STRIPE 32
#define TILE 32  /* columns that are summed together */
#define TABLES 8
#define LANES 16  /* ChaCha20 blocks that are computed side by side */
#define LIMIT (1 << 24)

typedef struct {
    const int32_t *edges;
    int64_t rows, width, step, count, tiles, first;
    const uint32_t *words; /* NULL: from the key */
    uint32_t key[8];
    int64_t *out;
    uint32_t *drawn;
    int32_t *sums, *tables; /* sums: tile after tile, one row of TILE per rado */
    int64_t pending;        /* how large a pending int32 sum can be */
    int too_large;
} Job;

/* ---- the stream of subsets (RFC 8439) ---------------------------------------------------- */

#define TURN(x, k) (((x) << (k)) | ((x) >> (32 - (k))))
#define QUARTER(a, b, c, d) \
    for (int l = 0; l < LANES; l++) { \
        s[a][l] += s[b][l], s[d][l] = TURN(s[d][l] ^ s[a][l], 16); \
        s[c][l] += s[d][l], s[b][l] = TURN(s[b][l] ^ s[c][l], 12); \
        s[a][l] += s[b][l], s[d][l] = TURN(s[d][l] ^ s[a][l], 8); \
        s[c][l] += s[d][l], s[b][l] = TURN(s[b][l] ^ s[c][l], 7); \
    }

INLINE void draw_blocks(const uint32_t *start, uint32_t counter, uint32_t *out)
{
    uint32_t s[16][LANES];
    for (int w = 0; w < 16; w++)
        for (int l = 0; l < LANES; l++)
            s[w][l] = start[w] + (w == 12 ? counter + (uint32_t)l : 0);
    for (int round = 0; round < 10; round++) {
        QUARTER(0, 4, 8, 12) QUARTER(1, 5, 9, 13) QUARTER(2, 6, 10, 14) QUARTER(3, 7, 11, 15)
        QUARTER(0, 5, 10, 15) QUARTER(1, 6, 11, 12) QUARTER(2, 7, 8, 13) QUARTER(3, 4, 9, 14)
    }
    for (int w = 0; w < 16; w++)
        for (int l = 0; l < LANES; l++)
            out[16 * l + w] = s[w][l] + start[w] + (w == 12 ? counter + (uint32_t)l : 0);
}

/* `room` words, a multiple of 16·LANES */
INLINE void draw(const uint32_t *key, uint64_t stripe, int64_t room, uint32_t *out)
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(start + 4, key, 32);
    start[13] = (uint32_t)stripe;
    start[14] = (uint32_t)(stripe >> 32);
    for (int64_t word = 0; word < room; word += 16 * LANES)
        draw_blocks(start, (uint32_t)(word / 16), out + word);
}

/* ---- tables and sums --------------------------------------------------------------------- */

INLINE void tabulate(int32_t *restrict table, const int32_t *restrict rows)
{
    memset(table, 0, TILE * sizeof(int32_t));
    for (int row = 0; row < 4; row++)
        for (int subset = 0; subset < 1 << row; subset++)
            for (int c = 0; c < TILE; c++)
                table[((1 << row) + subset) * TILE + c] = table[subset * TILE + c] + rows[row * TILE + c];
}

/* The table row of bits 4k..4k+3 of a word: sixteen rows of TILE int32, so 128 bytes to the row. */
#define ROW(k) \
    ((const int32_t *)((const char *)tables + 2048 * (k) + \
                       ((4 * (k) < 7 ? word << (7 - 4 * (k)) % 32 : word >> (4 * (k) - 7) % 32) & 0x780)))

INLINE void add_subsets(int32_t *restrict sums, const int32_t *restrict tables, const uint32_t *restrict words,
                        int64_t count)
{
    for (int64_t r = 0; r < count; r++) {
        size_t word = words[r];
        const int32_t *a = ROW(0), *b = ROW(1), *c = ROW(2), *d = ROW(3);
        const int32_t *e = ROW(4), *f = ROW(5), *g = ROW(6), *h = ROW(7);
        for (int j = 0; j < TILE; j++)
            sums[r * TILE + j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]));
    }
}

INLINE void flush(Job *job)
{
    for (int64_t tile = 0; tile < job->tiles; tile++) {
        int64_t left = job->width - tile * TILE, columns = left < TILE ? left : TILE;
        int32_t *sums = job->sums + tile * job->count * TILE;
        for (int64_t r = 0; r < job->count; r++)
            for (int64_t c = 0; c < columns; c++)
                job->out[r * job->width + tile * TILE + c] += sums[r * TILE + c];
    }
    memset(job->sums, 0, (size_t)(job->tiles * job->count * TILE) * sizeof(int32_t));
    job->pending = 0;
}

INLINE int64_t largest(const Job *job, int64_t start, int64_t rows)
{
    int64_t most = 0;
    for (int64_t i = start; i < start + rows; i++) {
        int32_t low = 0, high = 0;
        for (int64_t j = 0; j < job->width; j++) {
            int32_t edge = job->edges[i * job->step + j];
            low = edge < low ? edge : low;
            high = edge > high ? edge : high;
        }
        most = high > most ? high : most;
        most = -(int64_t)low > most ? -(int64_t)low : most;
    }
    return most;
}

INLINE void run_body(Job *job)
{
    int64_t room = (job->count + 16 * LANES - 1) / (16 * LANES) * (16 * LANES), stripe = 0;
    for (int64_t start = 0; start < job->rows; start += STRIPE, stripe++) {
        int64_t rows = job->rows - start < STRIPE ? job->rows - start : STRIPE;
        int64_t most = largest(job, start, rows);
        const uint32_t *words = job->words ? job->words + stripe * job->count : job->drawn;
        if (most > LIMIT) {
            job->too_large = 1;
            return;
        }
        if (job->pending + STRIPE * most > INT32_MAX)
            flush(job);
        job->pending += STRIPE * most;
        if (!job->words)
            draw(job->key, (uint64_t)(job->first + stripe), room, job->drawn);
        for (int64_t tile = 0; tile < job->tiles; tile++) {
            int32_t block[STRIPE * TILE] = {0};
            int64_t left = job->width - tile * TILE, columns = left < TILE ? left : TILE;
            for (int64_t i = 0; i < rows; i++)
                memcpy(block + i * TILE, job->edges + (start + i) * job->step + tile * TILE,
                       (size_t)columns * sizeof(int32_t));
            for (int k = 0; k < TABLES; k++)
                tabulate(job->tables + k * 16 * TILE, block + 4 * k * TILE);
            add_subsets(job->sums + tile * job->count * TILE, job->tables, words, job->count);
        }
    }
    flush(job);
}
DISPATCH(run, (Job *job), (job))

INLINE void stream_body(const uint32_t *key, int64_t first, int64_t stripes, int64_t count, int64_t room,
                        uint32_t *scratch, uint32_t *out)
{
    for (int64_t stripe = 0; stripe < stripes; stripe++) {
        draw(key, (uint64_t)(first + stripe), room, scratch);
        memcpy(out + stripe * count, scratch, (size_t)count * sizeof(uint32_t));
    }
}
DISPATCH(stream,
         (const uint32_t *key, int64_t first, int64_t stripes, int64_t count, int64_t room, uint32_t *scratch,
          uint32_t *out),
         (key, first, stripes, count, room, scratch, out))

/* ---- Python ------------------------------------------------------------------------------ */

static int64_t words_room(int64_t count)
{
    return (count + 16 * LANES - 1) / (16 * LANES) * (16 * LANES);
}

/* rado(edges, words | None, key | None, first, out): out[r] += sum of the rows in subset r */
static PyObject *rado(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *given[4], *answer = NULL;
    Py_buffer held[4];
    long long first;
    int used = 0;
    Job job = {0};
    char *memory = NULL;
    if (!PyArg_ParseTuple(args, "OOOLO", &given[0], &given[1], &given[2], &first, &given[3]))
        return NULL;
    static const int flags[4] = {PyBUF_STRIDED_RO, PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_STRIDED};
    for (; used < 4; used++) {
        if (given[used] == Py_None)
            held[used].buf = NULL, held[used].obj = NULL, held[used].len = 0;
        else if (PyObject_GetBuffer(given[used], &held[used], flags[used]) < 0)
            goto done;
    }
    if (held[0].ndim != 2 || held[0].itemsize != 4 || held[0].strides[1] != 4 || held[0].strides[0] % 4 ||
        held[3].ndim != 2 || held[3].itemsize != 8 || held[3].strides[1] != 8 ||
        held[3].shape[1] != held[0].shape[1] || held[3].strides[0] != 8 * held[3].shape[1]) {
        PyErr_SetString(PyExc_ValueError, "edges are rows of int32, sums rows of int64 of the same width");
        goto done;
    }
    job.edges = held[0].buf, job.rows = held[0].shape[0], job.width = held[0].shape[1];
    job.step = held[0].strides[0] / 4, job.first = first;
    job.out = held[3].buf, job.count = held[3].shape[0];
    job.tiles = (job.width + TILE - 1) / TILE;
    job.words = held[1].buf;
    int64_t stripes = (job.rows + STRIPE - 1) / STRIPE;
    if (job.words ? held[1].len < 4 * stripes * job.count : held[2].len != 32) {
        PyErr_SetString(PyExc_ValueError, "a word per rado and stripe, or a key of 32 bytes");
        goto done;
    }
    if (!job.words)
        memcpy(job.key, held[2].buf, 32);
    size_t sums = (size_t)(job.tiles * job.count) * TILE * sizeof(int32_t);
    size_t tables = TABLES * 16 * TILE * sizeof(int32_t), drawn = (size_t)words_room(job.count) * 4;
    memory = calloc(1, sums + tables + drawn + 128);
    if (!memory) {
        PyErr_NoMemory();
        goto done;
    }
    char *at = memory + 64 - (uintptr_t)memory % 64;
    job.tables = (int32_t *)at;
    job.sums = (int32_t *)(at + tables);
    job.drawn = (uint32_t *)(at + tables + sums);
    Py_BEGIN_ALLOW_THREADS
    run(&job);
    Py_END_ALLOW_THREADS
    answer = PyBool_FromLong(!job.too_large);
done:
    for (int k = 0; k < used; k++)
        if (held[k].obj)
            PyBuffer_Release(&held[k]);
    free(memory);
    return answer;
}

/* words(key, first, out): the subsets that rado would draw, one row per stripe */
static PyObject *words(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *key, *out;
    Py_buffer held[2];
    long long first;
    if (!PyArg_ParseTuple(args, "OLO", &key, &first, &out) || PyObject_GetBuffer(key, &held[0], PyBUF_SIMPLE) < 0)
        return NULL;
    if (PyObject_GetBuffer(out, &held[1], PyBUF_STRIDED) < 0) {
        PyBuffer_Release(&held[0]);
        return NULL;
    }
    uint32_t *scratch = NULL, start[8];
    int fits = held[0].len == 32 && held[1].ndim == 2 && held[1].itemsize == 4 && held[1].strides[1] == 4 &&
               held[1].strides[0] == 4 * held[1].shape[1];
    if (fits) {
        int64_t count = held[1].shape[1], room = words_room(count);
        scratch = malloc((size_t)room * 4 + 4);
        memcpy(start, held[0].buf, 32);
        if (scratch) {
            Py_BEGIN_ALLOW_THREADS
            stream(start, first, held[1].shape[0], count, room, scratch, held[1].buf);
            Py_END_ALLOW_THREADS
        } else
            PyErr_NoMemory();
    } else
        PyErr_SetString(PyExc_ValueError, "a key of 32 bytes and rows of uint32");
    PyBuffer_Release(&held[0]);
    PyBuffer_Release(&held[1]);
    if (!scratch)
        return NULL;
    free(scratch);
    Py_RETURN_NONE;
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
    {"rado", rado, METH_VARARGS, "Subset sums of edge vectors; see compiled_rado.py."},
    {"words", words, METH_VARARGS, "The subsets that a key stands for."},
    {"limit_lanes", limit_lanes, METH_VARARGS, "The widest instruction set to use: 3, 2 or 1. Returns the one before."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_rado", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__rado(void)
{
    return PyModuleDef_Init(&module);
}
