/* Pages of plain numbers, side by side: the data of a Parquet column chunk without what lies between.
 *
 * A chunk is a row of pages, each behind a header in Thrift's compact protocol. Only what is plain is
 * taken: data pages of both versions, not compressed, no dictionary, nothing repeated, every value
 * there. For anything else, and for whatever is not as it should be, the answer is that it was not
 * done, and the caller lets pyarrow decode the chunk. No byte beyond the chunk is looked at. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { STOP, YES, NO, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT };
enum { DATA_PAGE = 0, DATA_PAGE_2 = 3, PLAIN = 0, RLE = 3 };

typedef struct {
    const uint8_t *at, *end;
    int bad;
} Bytes;

typedef struct {
    int64_t type, whole, stored;                  /* fields 1 to 3 of a header */
    int64_t count, encoding, levels, missing;     /* of either kind of data page */
    int64_t defined, repeated;                    /* bytes of levels, in the second version */
} Page;

static uint64_t varint(Bytes *from)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (from->at >= from->end)
            break;
        uint8_t part = *from->at++;
        value |= (uint64_t)(part & 127) << shift;
        if (part < 128)
            return value;
    }
    from->bad = 1;
    return 0;
}

static int64_t number(Bytes *from)
{
    uint64_t value = varint(from);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void skip(Bytes *from, uint64_t count)
{
    if (count > (uint64_t)(from->end - from->at))
        from->bad = 1;
    else
        from->at += count;
}

/* The next field of a struct: its kind, and its place in *field. */
static int next_field(Bytes *from, int64_t *field)
{
    if (from->at >= from->end) {
        from->bad = 1;
        return STOP;
    }
    uint8_t head = *from->at++;
    if ((head & 15) == STOP)
        return STOP;
    *field = head >> 4 ? *field + (head >> 4) : number(from);
    return head & 15;
}

/* Statistics and whatever else is of no use here; values of rows stand in them and are not looked at. */
static void skip_value(Bytes *from, int kind, int depth)
{
    int64_t field = 0;
    switch (kind) {
        case YES: case NO: return;
        case BYTE: skip(from, 1); return;
        case I16: case I32: case I64: varint(from); return;
        case DOUBLE: skip(from, 8); return;
        case BINARY: skip(from, varint(from)); return;
        case STRUCT:
            for (kind = next_field(from, &field); kind != STOP && !from->bad; kind = next_field(from, &field))
                if (depth < 8)
                    skip_value(from, kind, depth + 1);
                else
                    from->bad = 1;
            return;
        default: from->bad = 1; /* page headers hold no lists */
    }
}

static void read_data(Bytes *from, Page *page, int second)
{
    int64_t field = 0;
    for (int kind = next_field(from, &field); kind != STOP && !from->bad; kind = next_field(from, &field)) {
        if (kind != I32) {
            skip_value(from, kind, 1);
            continue;
        }
        int64_t value = number(from);
        if (field == 1)
            page->count = value;
        else if (field == (second ? 4 : 2))
            page->encoding = value;
        else if (second && field == 2)
            page->missing = value;
        else if (second && field == 5)
            page->defined = value;
        else if (second && field == 6)
            page->repeated = value;
        else if (!second && field == 3)
            page->levels = value;
    }
}

static void read_header(Bytes *from, Page *page)
{
    int64_t field = 0;
    *page = (Page){-1, -1, -1, -1, -1, RLE, 0, 0, 0};
    for (int kind = next_field(from, &field); kind != STOP && !from->bad; kind = next_field(from, &field)) {
        if (kind == I32 && field >= 1 && field <= 3) {
            int64_t value = number(from);
            *(field == 1 ? &page->type : field == 2 ? &page->whole : &page->stored) = value;
        } else if (kind == STRUCT && (field == 5 || field == 8))
            read_data(from, page, field == 8);
        else
            skip_value(from, kind, 0);
    }
}

/* Whether a run after the other says of all values that they are there. */
static int all_there(Bytes levels, int64_t count)
{
    while (count > 0 && !levels.bad) {
        uint64_t run = varint(&levels);
        if (run & 1 || run < 2 || levels.at >= levels.end || *levels.at++ != 1)
            return 0;
        count -= run >> 1 < (uint64_t)count ? (int64_t)(run >> 1) : count;
    }
    return !levels.bad;
}

/* Past the levels of a page, if none of them says that a value is missing. */
static int past_levels(Bytes *data, const Page *page, int nullable)
{
    uint64_t size = 0;
    if (page->type == DATA_PAGE_2) {
        if (page->missing != 0 || page->repeated != 0 || page->defined < 0)
            return 0;
        skip(data, (uint64_t)page->defined);
        return !data->bad;
    }
    if (!nullable)
        return 1;
    if (page->levels != RLE || data->end - data->at < 4)
        return 0;
    for (int k = 3; k >= 0; k--)
        size = size << 8 | data->at[k];
    data->at += 4;
    Bytes levels = {data->at, data->at, 0};
    skip(data, size);
    levels.end = data->at;
    return !data->bad && all_there(levels, page->count);
}

static int join(Bytes chunk, int64_t count, int nullable, int64_t item, char *out)
{
    while (count > 0) {
        Page page;
        read_header(&chunk, &page);
        if (chunk.bad || (page.type != DATA_PAGE && page.type != DATA_PAGE_2) || page.encoding != PLAIN ||
            page.whole != page.stored || page.stored < 0 || page.count < 0 || page.count > count)
            return 0;
        Bytes data = {chunk.at, chunk.at, 0};
        skip(&chunk, (uint64_t)page.stored);
        data.end = chunk.at;
        if (chunk.bad || !past_levels(&data, &page, nullable) || data.end - data.at != page.count * item)
            return 0;
        memcpy(out, data.at, (size_t)(page.count * item));
        out += page.count * item;
        count -= page.count;
    }
    return 1;
}

/* join(chunk, count, nullable, item, out) -> whether `count` values of `item` bytes were put into `out` */
static PyObject *plain(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer chunk, out;
    long long count, item;
    int nullable, done;
    if (!PyArg_ParseTuple(args, "y*LiLw*", &chunk, &count, &nullable, &item, &out))
        return NULL;
    if (count < 0 || (item != 4 && item != 8) || count > out.len / item) {
        PyErr_SetString(PyExc_ValueError, "there is no room for that many values");
        PyBuffer_Release(&chunk);
        PyBuffer_Release(&out);
        return NULL;
    }
    const uint8_t *first = chunk.buf;
    Bytes bytes = {first, first + chunk.len, 0};
    Py_BEGIN_ALLOW_THREADS
    done = join(bytes, count, nullable, item, out.buf);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&chunk);
    PyBuffer_Release(&out);
    return PyBool_FromLong(done);
}

static PyMethodDef methods[] = {{"join", plain, METH_VARARGS, "The values of plain pages side by side; see pages.py."},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_page", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__page(void)
{
    return PyModuleDef_Init(&module);
}
