"""Ours keep every law; for each law an outsider that breaks it is refused by its name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.testing import LawBroken, check_source

TABLE = pa.table({"id": [3, 1, 2, 5], "x": [0.5, None, 2.0, 1.0], "y": ["no", "yes", "no", "yes"]})


@dataclass(frozen=True)
class Piece:
    id: str
    start: int
    rows: pa.Table

    def batches(self):
        yield from self.rows.to_batches()


@dataclass(frozen=True)
class Rows:
    """An outsider's source of two pieces, as it should be."""

    name: str = "rows"
    table: pa.Table = field(default_factory=lambda: TABLE)

    @property
    def schema(self):
        return self.table.schema

    @property
    def rows(self):
        return self.table.num_rows

    def fragments(self, columns):
        part = self.table.select(list(columns))
        return [Piece("0", 0, part.slice(0, 3)), Piece("1", 3, part.slice(3))]


def ours(folder):
    pq.write_table(TABLE, folder / "x.parquet", row_group_size=2)
    pf.write_feather(TABLE, str(folder / "x.feather"))
    pc.write_csv(TABLE, folder / "x.csv")
    yield sf.Table(TABLE)
    yield sf.Parquet(folder / "x.parquet")
    yield sf.Feather(folder / "x.feather")
    yield sf.CSV(folder / "x.csv", types={"id": "int64", "x": "double"})
    pq.write_table(TABLE.select(["id", "y"]), folder / "labels.parquet")
    pq.write_table(TABLE.select(["id", "x"]), folder / "features.parquet")
    yield sf.Join(sf.Parquet(folder / "labels.parquet"), sf.Parquet(folder / "features.parquet"), on="id")
    yield sf.DuckDB(f"select * from '{folder / 'x.parquet'}' order by id")  # noqa: S608  a path of ours


def test_ours_keep_every_law(tmp_path):
    for source in ours(tmp_path):
        check_source(source)
    check_source(Rows())


def changed(**body):
    made = {name: property(new) if name in {"schema", "rows"} else new for name, new in body.items()}
    return dataclass(frozen=True)(type("Wrong", (Rows,), made))()


def pieces(self, columns):
    return Rows.fragments(self, columns)


OUTSIDERS = {
    "a source has a name": Rows(name=" "),
    "the schema carries no metadata": changed(schema=lambda _: TABLE.schema.with_metadata({"rows": "4"})),
    "no two fragments share an id": changed(
        fragments=lambda self, c: [replace(one, id="same") for one in pieces(self, c)]
    ),
    "the same fragment has the same id": changed(
        fragments=lambda self, c: [replace(one, id=str(id(one))) for one in _kept(pieces(self, c))]
    ),
    "a fragment's start": changed(
        fragments=lambda self, c: [replace(one, start=0) for one in pieces(self, c)]
    ),
    "a fragment holds the columns that were asked for": changed(
        fragments=lambda self, _: pieces(self, self.table.column_names)
    ),
    "batches have the types of the schema": changed(
        schema=lambda _: TABLE.schema.set(0, pa.field("id", pa.int32()))
    ),
    "rows is how many rows there are": changed(rows=lambda _: 5),
    "a fragment can be sent to a worker": changed(
        fragments=lambda self, c: [_unsendable(one) for one in pieces(self, c)]
    ),
    "a fragment can be read again": changed(
        fragments=lambda self, c: [_Once(one) for one in pieces(self, c)]
    ),
    "fewer columns are the same columns": changed(
        fragments=lambda self, c: pieces(self, c) if len(c) == 3 else pieces(_reversed(self), c)
    ),
    "a column that is not there is refused": changed(
        fragments=lambda self, c: (
            pieces(self, c) if set(c) <= set(TABLE.column_names) else pieces(self, ["id"])
        )
    ),
}
KEPT: list[object] = []


def _kept(made):
    KEPT.append(made)  # so that no two lie at one address
    return made


def _reversed(source):
    return Rows(table=source.table.take([3, 2, 1, 0]))


def _unsendable(piece):
    object.__setattr__(piece, "handle", lambda: None)
    return piece


class _Once:
    def __init__(self, piece):
        self.piece, self.id, self.start, self.read = piece, piece.id, piece.start, False

    def batches(self):
        if not self.read:
            yield from self.piece.batches()
        self.read = True


@pytest.mark.parametrize("law", list(OUTSIDERS))
def test_an_outsider_that_breaks_a_law_is_refused_by_its_name(law):
    with pytest.raises(LawBroken, match=f"^Broken law: {law}"):
        check_source(OUTSIDERS[law])
