/* Noisy bits, 64 to a word: a bit is turned on with one of two probabilities, by its truth.
 *
 * Every lane compares fresh random bits with the bits of its threshold, the highest first, and is decided
 * by the first that differ; so a threshold of 53 bits costs some eight words and not 53. Words are
 * taken in this order: FRONT steps over all words of a chunk, then further steps over the words
 * in which a lane is undecided. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include "_dispatch.h"

#define CHUNK 128
#define FRONT 6
#define BITS 53

/* One chunk; hands back how many words of `fresh` it used, at most BITS * words. */
INLINE int64_t flip_chunk(const uint64_t *truth, int64_t words, uint64_t own, uint64_t other,
                          const uint64_t *fresh, uint64_t *noisy)
{
    uint64_t below[CHUNK] = {0}, open[CHUNK];
    uint16_t left[CHUNK];
    const uint64_t *start = fresh;
    for (int64_t w = 0; w < words; w++)
        open[w] = ~(uint64_t)0;
    int step = 0;
    for (; step < FRONT; step++) {
        uint64_t a = -(own >> (BITS - 1 - step) & 1), b = -(other >> (BITS - 1 - step) & 1);
        for (int64_t w = 0; w < words; w++) {
            uint64_t limit = (truth[w] & a) | (~truth[w] & b), differ = open[w] & (fresh[w] ^ limit);
            below[w] |= differ & limit;
            open[w] &= ~differ;
        }
        fresh += words;
    }
    int64_t count = 0;
    for (int64_t w = 0; w < words; w++)
        if (open[w])
            left[count++] = (uint16_t)w;
    for (; step < BITS && count; step++) {
        uint64_t a = -(own >> (BITS - 1 - step) & 1), b = -(other >> (BITS - 1 - step) & 1);
        int64_t kept = 0;
        for (int64_t k = 0; k < count; k++) {
            int64_t w = left[k];
            uint64_t limit = (truth[w] & a) | (~truth[w] & b), differ = open[w] & (fresh[k] ^ limit);
            below[w] |= differ & limit;
            open[w] &= ~differ;
            left[kept] = (uint16_t)w;
            kept += open[w] != 0;
        }
        fresh += count;
        count = kept;
    }
    for (int64_t w = 0; w < words; w++)
        noisy[w] = below[w];
    return fresh - start;
}

typedef struct {
    const uint64_t *truth, *fresh;
    int64_t words, room, used, done, ones;
    uint64_t own, other, *noisy;
} Job;

INLINE void run_body(Job *job)
{
    uint64_t scratch[CHUNK];
    while (job->done < job->words) {
        int64_t words = job->words - job->done < CHUNK ? job->words - job->done : CHUNK;
        if (job->room - job->used < BITS * words)
            return;
        uint64_t *noisy = job->noisy ? job->noisy + job->done : scratch;
        job->used += flip_chunk(job->truth + job->done, words, job->own, job->other, job->fresh + job->used, noisy);
        for (int64_t w = 0; w < words; w++) {
            uint64_t x = noisy[w];
            x -= x >> 1 & 0x5555555555555555u;
            x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
            x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
            job->ones += (int64_t)(x * 0x0101010101010101u >> 56);
        }
        job->done += words;
    }
}
DISPATCH(run, (Job *job), (job))

/* turn(truth, own, other, fresh, noisy | None): words done, random words used, bits that are on */
static PyObject *turn(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *given[3], *answer = NULL;
    Py_buffer held[3];
    unsigned long long own, other;
    int used = 0;
    Job job = {0};
    if (!PyArg_ParseTuple(args, "OKKOO", &given[0], &own, &other, &given[1], &given[2]))
        return NULL;
    static const int flags[3] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_WRITABLE};
    for (; used < 3; used++) {
        if (given[used] == Py_None)
            held[used].buf = NULL, held[used].obj = NULL, held[used].len = 0;
        else if (PyObject_GetBuffer(given[used], &held[used], flags[used]) < 0)
            goto done;
    }
    if (held[0].len % 8 || held[1].len % 8 || (held[2].buf && held[2].len != held[0].len)) {
        PyErr_SetString(PyExc_ValueError, "truth, random bits and answers are whole words of 64 bits");
        goto done;
    }
    job.truth = held[0].buf, job.words = held[0].len / 8;
    job.fresh = held[1].buf, job.room = held[1].len / 8;
    job.noisy = held[2].buf, job.own = own, job.other = other;
    Py_BEGIN_ALLOW_THREADS
    run(&job);
    Py_END_ALLOW_THREADS
    answer = Py_BuildValue("LLL", (long long)job.done, (long long)job.used, (long long)job.ones);
done:
    for (int k = 0; k < used; k++)
        if (held[k].obj)
            PyBuffer_Release(&held[k]);
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
    {"turn", turn, METH_VARARGS, "Noisy bits of packed truths; see bit_plane.py."},
    {"limit_lanes", limit_lanes, METH_VARARGS, "The widest instruction set to use: 3, 2 or 1. Returns the one before."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_bits", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__bits(void)
{
    return PyModuleDef_Init(&module);
}
