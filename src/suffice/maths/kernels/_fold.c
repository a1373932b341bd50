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
#include "_fold_job.h"
#include "_fold_values.h"
#include "_fold_sums.h"

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
        int64_t moved = shorten_rows(job, n);
        if (job->reach)
            reach_rows(job, n, moved);
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
    size_t size = (size_t)(64 + n * (4 * (slots + 4) + 8 * 6 + 8) + 8 * numbers + 64);
    char *memory = malloc(size), *at = memory;
    if (!memory)
        return NULL;
    at += 64 - (uintptr_t)at % 64;
    job->numbers = (double *)at, at += 8 * numbers;
    job->length = (int64_t *)at, at += 8 * n;
    job->square = (int64_t *)at, at += 8 * n;
    job->lane[0] = (uint64_t *)at, at += 8 * n;
    job->lane[1] = (uint64_t *)at, at += 8 * n;
    job->ratio = (double *)at, at += 8 * n;
    job->bias = (double *)at, at += 8 * n;
    job->label = (int32_t *)at, at += 4 * n;
    job->level_short = (int32_t *)at, at += 4 * n;
    job->moved = (int32_t *)at, at += 4 * n;
    job->size = (int32_t *)at, at += 4 * n;
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
 *      high, low, reach), scale) -> None | (print, print) | (row, column, reason) */
static PyObject *fold(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *words, *reals, *columns, *starts, *multipliers, *labels, *out[9], *answer = NULL;
    long long rows, width, level, intercept, radius;
    Job job = {0};
    Buffers held = {0};
    char *memory = NULL;
    if (!PyArg_ParseTuple(args, "OOO!(LLLLiiiiL)d(OO)Oi(OOOOOOOOO)f", &words, &reals, &PyTuple_Type, &columns, &rows,
                          &width, &level, &intercept, &job.saturate, &job.norm, &job.witness, &job.classes, &radius,
                          &job.unit, &starts, &multipliers, &labels, &job.label_size, &out[0], &out[1], &out[2],
                          &out[3], &out[4], &out[5], &out[6], &out[7], &out[8], &job.scale))
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
    job.reach = (int64_t *)borrow(&held, out[8], PyBUF_WRITABLE, 8 * 3, NULL);
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
