/* One pass over row-major blocks: even part of a linear-odd loss, its gradient and Hessian, fused.
 *
 * Margins, terms, gradient and Hessian of 64 rows are done while those rows lie in the nearest cache.
 * Rows may be float32; everything is summed in doubles. The twin is even_pass in reference_even.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "_dispatch.h"

#if !defined(__GNUC__)
#error "this kernel is written with vector types"
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

enum { LOGISTIC, SQUARE, MATSUSHITA, MODIFIED_HUBER, ABSOLUTE, LOSSES };
#define BLOCK 64

typedef struct {
    const char *x;
    ptrdiff_t step; /* in elements */
    int64_t rows, width, padded, pitch;
    int loss, element;
    const double *weights;
    double *theta, *gradient, *hessian, *plain, *bent;
    double *margin, *slope, *bend, *weight, *part;
    void *copy;
    double value;
} Pass;

/* A block's rows beyond the last weigh nothing. */
static void set_weights(Pass *pass, int64_t start, int64_t rows)
{
    for (int64_t i = 0; i < BLOCK; i++)
        pass->weight[i] = i >= rows ? 0.0 : pass->weights ? pass->weights[start + i] : 1.0;
}

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#if defined(__x86_64__)
#define SET(x) PASTE(x, _wide)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#endif
#define LOAD_FLOATS(x) ((wide)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(x))))
#include "_even_terms.h"
#undef LOAD_FLOATS
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#undef SET
#define SET(x) PASTE(x, _middle)
#include "_even_terms.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef SET
#endif
#define SET(x) PASTE(x, _plain)
#include "_even_terms.h"
#undef SET

static void run(Pass *pass)
{
#if defined(__x86_64__)
    if (suffice_lanes >= 3 && HAS_WIDE) {
        pass->element == 4 ? run_wide_f32(pass) : run_wide_f64(pass);
        return;
    }
    if (suffice_lanes >= 2 && HAS_MIDDLE) {
        pass->element == 4 ? run_middle_f32(pass) : run_middle_f64(pass);
        return;
    }
#endif
    pass->element == 4 ? run_plain_f32(pass) : run_plain_f64(pass);
}

static char *lay_out(Pass *pass, int hessian)
{
    size_t line = 64, padded = (size_t)pass->padded, pitch = (size_t)pass->pitch;
    size_t copy = (BLOCK * padded + 8) * sizeof(double);
    size_t square = hessian ? (2 * BLOCK + (size_t)(pass->width + 4)) * pitch * sizeof(double) : 0;
    size_t size = 2 * padded * sizeof(double) + 5 * BLOCK * sizeof(double) + copy + square;
    char *memory = malloc(size + 2 * line), *at = memory;
    if (!memory)
        return NULL;
    at += line - (uintptr_t)at % line;
    memset(at, 0, size);
    pass->theta = (double *)at, at += padded * sizeof(double);
    pass->gradient = (double *)at, at += padded * sizeof(double);
    pass->margin = (double *)at, at += BLOCK * sizeof(double);
    pass->slope = (double *)at, at += BLOCK * sizeof(double);
    pass->bend = (double *)at, at += BLOCK * sizeof(double);
    pass->weight = (double *)at, at += BLOCK * sizeof(double);
    pass->part = (double *)at, at += BLOCK * sizeof(double);
    if (hessian) {
        pass->plain = (double *)at, at += BLOCK * pitch * sizeof(double);
        pass->bent = (double *)at, at += BLOCK * pitch * sizeof(double);
        pass->hessian = (double *)at, at += (size_t)(pass->width + 4) * pitch * sizeof(double);
    }
    pass->copy = at;
    return memory;
}

/* even(X, theta, weights | None, loss, gradient, hessian | None) -> value; all of them sums */
static PyObject *even(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *given[5], *answer = NULL;
    Py_buffer held[5];
    int used = 0;
    Pass pass = {0};
    char *memory = NULL;
    if (!PyArg_ParseTuple(args, "OOOiOO", &given[0], &given[1], &given[2], &pass.loss, &given[3], &given[4]))
        return NULL;
    static const int flags[5] = {PyBUF_STRIDED_RO, PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBUF_WRITABLE};
    for (int k = 0; k < 5; k++) {
        if (given[k] == Py_None) {
            held[used].buf = NULL, held[used].obj = NULL, held[used].len = -1;
        } else if (PyObject_GetBuffer(given[k], &held[used], flags[k]) < 0)
            goto done;
        used++;
    }
    if (held[0].ndim != 2 || (held[0].itemsize != 4 && held[0].itemsize != 8) ||
        held[0].strides[1] != held[0].itemsize || held[0].strides[0] % held[0].itemsize) {
        PyErr_SetString(PyExc_ValueError, "rows are a matrix of floats with each row side by side");
        goto done;
    }
    pass.x = held[0].buf, pass.element = (int)held[0].itemsize;
    pass.step = held[0].strides[0] / held[0].itemsize;
    pass.rows = held[0].shape[0], pass.width = held[0].shape[1];
    pass.padded = (pass.width + 7) / 8 * 8, pass.pitch = (pass.width + 15) / 16 * 16;
    int64_t square = pass.width * pass.width * 8;
    if (held[1].len < 8 * pass.width || (held[2].buf && held[2].len < 8 * pass.rows) ||
        held[3].len < 8 * pass.width || (held[4].buf && held[4].len < square)) {
        PyErr_SetString(PyExc_ValueError, "a buffer is shorter than the pass needs");
        goto done;
    }
    memory = lay_out(&pass, held[4].buf != NULL);
    if (!memory) {
        PyErr_NoMemory();
        goto done;
    }
    memcpy(pass.theta, held[1].buf, (size_t)pass.width * sizeof(double));
    pass.weights = held[2].buf;
    Py_BEGIN_ALLOW_THREADS
    run(&pass);
    Py_END_ALLOW_THREADS
    memcpy(held[3].buf, pass.gradient, (size_t)pass.width * sizeof(double));
    for (int64_t a = 0; held[4].buf && a < pass.width; a++)
        for (int64_t b = 0; b <= a; b++) {
            double *out = held[4].buf, entry = pass.hessian[a * pass.pitch + b];
            out[a * pass.width + b] = out[b * pass.width + a] = entry;
        }
    answer = PyFloat_FromDouble(pass.value);
done:
    for (int k = 0; k < used; k++)
        if (held[k].obj)
            PyBuffer_Release(&held[k]);
    free(memory);
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
    {"even", even, METH_VARARGS, "One pass over rows; see compiled_even.py."},
    {"limit_lanes", limit_lanes, METH_VARARGS, "The widest instruction set to use: 3, 2 or 1. Returns the one before."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_even", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__even(void)
{
    return PyModuleDef_Init(&module);
}
