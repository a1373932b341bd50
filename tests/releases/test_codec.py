"""The payload: what is read is what is written here, and nothing else that Arrow can carry."""

from __future__ import annotations

import json
import struct

import numpy as np
import pyarrow as pa
import pytest

from suffice.core.errors import FormatTooNew, ReleaseUnreadable
from suffice.releases import codec
from suffice.releases.release import Release
from tests.releases.example import release, several

HEADER, VALUES, _ = codec.unpack(release().to_bytes())


def text(**changed):
    return json.dumps(HEADER | {"format": 1, "shape": [5]} | changed).encode()


def stream(fields, arrays, metadata=None, *, batches=1, options=None, notes=None):
    schema = pa.schema(fields, metadata={b"suffice": text()} if metadata is None else metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for _ in range(batches):
            writer.write_batch(pa.record_batch(arrays, schema=schema), custom_metadata=notes)
    return sink.getvalue().to_pybytes()


FIELD = pa.field("values", pa.int64(), nullable=False)
ARRAY = pa.array(VALUES)
CODED = ARRAY.dictionary_encode()
UNIT = {"kind": "LabelOf", "columns": "bought"}


def recipe(**column):
    return text(recipe={"kind": "Recipe", "columns": [column]})


def levels(name):
    return {"kind": "Categorical", "name": name, "levels": list(range(10_000))}


def test_a_plain_stream_with_the_header_in_another_spelling_is_read():
    assert Release.from_bytes(stream([FIELD], [ARRAY])) == release()


def test_a_release_is_read_by_arrow_alone():
    table = pa.ipc.open_stream(release().to_bytes()).read_all()
    assert table.column("values").to_pylist() == release().values.tolist()
    header = json.loads(table.schema.metadata[b"suffice"])
    assert header["guarantee"]["promise"] == {"kind": "PureDP", "epsilon": 0.5}


def many(count):
    return [pa.field(f"c{at}", pa.int64()) for at in range(count)], [ARRAY] * count


ODD = {
    "nothing": b"",
    "not Arrow": b"suffice" * 40,
    "an Arrow file instead of a stream": b"ARROW1\x00\x00" + stream([FIELD], [ARRAY]),
    "cut short": release().to_bytes()[:-50],
    "bytes after the end": release().to_bytes() + b"\x00",
    "a second stream after the end": release().to_bytes() * 2,
    "no batch": stream([FIELD], [ARRAY], batches=0),
    "two batches": stream([FIELD], [ARRAY], batches=2),
    "no metadata": stream([FIELD], [ARRAY], {}),
    "other metadata too": stream([FIELD], [ARRAY], {b"suffice": text(), b"pandas": b'{"stop": 48842}'}),
    "metadata on a field": stream([FIELD.with_metadata({b"rows": b"48842"})], [ARRAY]),
    "metadata on the batch": stream([FIELD], [ARRAY], notes={b"rows": b"48842"}),
    "zstd": stream([FIELD], [ARRAY], options=pa.ipc.IpcWriteOptions(compression="zstd")),
    "lz4": stream([FIELD], [ARRAY], options=pa.ipc.IpcWriteOptions(compression="lz4")),
    "missing values": stream([pa.field("values", pa.int64())], [pa.array([1, 2, 3, 4, None])]),
    "a name of its own": stream([pa.field("sums", pa.int64())], [ARRAY]),
    "small integers": stream([pa.field("values", pa.int32())], [ARRAY.cast(pa.int32())]),
    "text": stream([pa.field("values", pa.string())], [ARRAY.cast(pa.string())]),
    "a dictionary": stream([pa.field("values", CODED.type)], [CODED]),
    "lists": stream([pa.field("values", pa.list_(pa.int64()))], [pa.array([[1], [2], [3], [4], [5]])]),
    "two columns": stream(*many(2)),
    "very many columns": stream(*many(200)),
    "no columns": stream([], []),
    "too few values": stream([FIELD], [ARRAY[:4]]),
    "not finite": stream([pa.field("values", pa.float64())], [pa.array([1.0, np.inf, 0, 0, 0])]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ODD))
def test_what_is_not_written_here_is_not_read(name):
    with pytest.raises(ReleaseUnreadable):
        Release.from_bytes(ODD[name])


def headed(data):
    return stream([FIELD], [ARRAY], {b"suffice": data})


HEADERS = {
    "not JSON": b"{",
    "not text": b"\xff\xfe",
    "a list": b"[]",
    "a name twice": text()[:-1] + b', "kind": "MeanOperator"}',
    "NaN": text(about={"x": float("nan")}),
    "a number beyond the doubles": text().replace(b"0.5", b"1e999"),
    "a number of a thousand digits": text().replace(b"1000", b"1" * 1000),
    "half a character": text(made_by="\ud800"),
    "nested deep": text(about=json.loads('{"a":' * 40 + "1" + "}" * 40)),
    "nested very deep": b'{"about":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "too long": b'{"kind":"' + b"x" * (1 << 23) + b'"}',
    "no format": json.dumps(HEADER | {"shape": [5]}).encode(),
    "format zero": text(format=0),
    "format true": text(format=True),
    "format in text": text(format="1"),
    "an unknown member": text(rows=[1, 2, 3]),
    "a missing member": text().replace(b'"made_by"', b'"made_of"'),
    "a huge shape": text(shape=[2**40]),
    "a negative shape": text(shape=[-1, -5]),
    "three dimensions": text(shape=[1, 1, 5]),
    "an unknown kind": text(law={"kind": "Path", "scale": 1}),
    "a kind in a place that is not its own": text(law=HEADER["bound"]),
    "a kind in about": text(about={"x": {"kind": "LabelOf", "columns": ["a"]}}),
    "a field of another type": text(sensitivity={"kind": "Sensitivity", "l1": "4", "l2": 2, "linf": 2}),
    "an unknown field": text(grid={"kind": "Grid", "bits": 20, "radius": 1000, "rows": 5}),
    "a default spelled out": text(guarantee=HEADER["guarantee"] | {"also": []}),
    "text for a list": text(guarantee=HEADER["guarantee"] | {"unit": UNIT}),
    "a bound that is none": text(bound={"kind": "Bound", "norm": 3, "radius": 1.0}),
    "a broken fraction": text(law=HEADER["law"] | {"scale": {"kind": "Fraction", "value": "1/0"}}),
    "private without noise": text(law={"kind": "NoLaw", "dimension": 5}),
    "a hash into 2^60 buckets": recipe(kind="Hashed", name="job", buckets=2**60),
    "a cross with nothing": recipe(kind="Cross", first="a", second=1),
    "a cross of 10^8 levels": recipe(kind="Cross", first=levels("a"), second=levels("b")),
}  # fmt: skip


@pytest.mark.parametrize("name", list(HEADERS))
def test_a_header_that_is_not_one_is_refused(name):
    with pytest.raises(ReleaseUnreadable):
        Release.from_bytes(headed(HEADERS[name]))


def test_a_newer_format_says_so_whatever_else_it_holds():
    with pytest.raises(FormatTooNew, match="format 2"):
        Release.from_bytes(headed(text(format=2, rows=[1], shape="new")))


def test_answers_are_looked_through_to_the_last_byte():
    data = several()["answers"].to_bytes()
    assert Release.from_bytes(data.replace(b"anna", b"otto")).answers.column("key").to_pylist() == [
        "otto",
        "béla",
    ]
    for broken in (
        data.replace(b"anna", b"a\xffna"),
        data.replace(struct.pack("<3I", 0, 4, 9), struct.pack("<3I", 0, 40, 9)),
    ):
        assert broken != data
        with pytest.raises(ReleaseUnreadable):
            Release.from_bytes(broken)


def noted(data):
    """The stream, its schema message carrying metadata of its own, which pyarrow reads and cannot write."""
    length = struct.unpack_from("<I", data, 4)[0]
    old = data[8 : 8 + length]
    table = struct.unpack_from("<I", old, 0)[0]
    vtable = table - struct.unpack_from("<i", old, table)[0]
    version, kind, header = (table + place for place in struct.unpack_from("<3H", old, vtable + 4))
    header += struct.unpack_from("<I", old, header)[0]
    slots = struct.pack("<7H2x", 14, 16, 4, 6, 8, 0, 12)
    fields = struct.pack("<i2sBxII", 16, old[version : version + 2], old[kind], 40 + header - 28, 4)
    new = struct.pack("<I", 20) + slots + fields + struct.pack("<I", 0) + old
    return data[:4] + struct.pack("<I", len(new)) + new + data[8 + length :]


def test_metadata_on_the_schema_message_is_refused():
    data = noted(release().to_bytes())
    assert pa.ipc.open_stream(data).read_all().num_rows == 5
    with pytest.raises(ReleaseUnreadable, match="plain schema"):
        Release.from_bytes(data)


def test_bytes_that_belong_to_no_column_are_refused():
    sink = pa.BufferOutputStream()
    wide = pa.array(range(1005))
    with pa.ipc.new_stream(sink, pa.schema([FIELD], metadata={b"suffice": text()})) as writer:
        writer.write_batch(pa.record_batch([wide], schema=pa.schema([FIELD])))
    whole = sink.getvalue().to_pybytes()
    # the batch says that it has 5 rows, and its body has 1,005
    claimed = whole.replace((1005).to_bytes(8, "little"), (5).to_bytes(8, "little"))
    assert claimed != whole
    with pytest.raises(ReleaseUnreadable):
        Release.from_bytes(claimed)
