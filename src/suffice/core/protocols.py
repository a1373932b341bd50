"""The seams: what an outsider implements to add a source, a statistic, a mechanism or a channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from suffice.core.bounds import Sensitivity
    from suffice.core.facts import Facts
    from suffice.core.guarantees import Guarantee, Promise
    from suffice.core.laws import Law
    from suffice.core.units import Unit

__all__ = ["Additive", "Channel", "Fragment", "Resolved", "Source", "Statistic", "Summable"]


class Fragment(Protocol):
    """A piece of a source that can be sent to a worker: it pickles, has an id, and yields batches."""

    @property
    def id(self) -> str:
        """The piece's name; the same piece has the same id whoever reads it."""
        ...

    @property
    def start(self) -> int:
        """How many rows of the source come before this piece."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time."""
        ...


@runtime_checkable
class Source(Protocol):
    """Rows, read in fragments and only as far as the columns asked for."""

    @property
    def name(self) -> str:
        """The public name: a path pattern, a query, or what the owner called it."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, known without reading a row."""
        ...

    def fragments(self, columns: Sequence[str]) -> Iterable[Fragment]:
        """The pieces, holding these columns only."""
        ...


class Summable(Protocol):
    """What `fold` sums: a state that starts at `init`, takes batches, and is merged in any order."""

    def reads(self) -> tuple[str, ...]:
        """The source columns that the sum is over."""
        ...

    def init(self) -> Any:
        """The state of no rows."""
        ...

    def update(self, state: Any, batch: pa.RecordBatch) -> Any:
        """The state after these rows too."""
        ...

    def merge(self, one: Any, two: Any) -> Any:
        """The state of the rows of both."""
        ...


class Resolved(Summable, Protocol):
    """A statistic with everything settled that public facts settle: an exact sum on an integer grid."""

    @property
    def shape(self) -> tuple[int, int]:
        """For the noise: coordinates of a block, and classes that share it in contrast (two: none)."""
        ...

    @property
    def radius(self) -> int:
        """The furthest that a row lies from the origin, in grid units."""
        ...

    def public(self) -> Summable:
        """The pass over public columns alone that `sensitivity` may be computed from."""
        ...

    def finalise(self, state: Any) -> NDArray[np.int64]:
        """The exact sum in grid units, a row per block."""
        ...

    def facts(self, state: Any, unit: Unit) -> Facts:
        """What the release says of it."""
        ...

    def sensitivity(self, unit: Unit, public: Any) -> Sensitivity:
        """The furthest that one neighbour moves the sum, from public facts."""
        ...


class Statistic(Protocol):
    """A request for an exact sum over rows; it is what a ledger's request key is made of."""

    def resolve(
        self,
        source: Source,
        unit: Unit,
        *,
        workers: int = 1,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Resolved:
        """Settle what the schema and public columns settle; no protected column is read."""
        ...


class Additive(Protocol):
    """Noise on an exact sum. It states what it promises before it touches a row."""

    def promise(self) -> Promise:
        """What is charged."""
        ...

    def law(self, sensitivity: Sensitivity, dimension: int, classes: int) -> Law:
        """The noise that keeps the promise for this sensitivity."""
        ...

    def also(self, sensitivity: Sensitivity, law: Law) -> tuple[Promise, ...]:
        """Other promises that the same draw keeps."""
        ...

    def perturb(self, total: NDArray[np.int64], law: Law) -> NDArray[np.int64]:
        """The sum plus a fresh draw."""
        ...


@runtime_checkable
class Channel(Protocol):
    """Noise on one answer before it leaves: a known law of the answer given the truth, used on both sides.

    A finite channel has a `matrix()` as well, the probability of each answer, a row per truth.
    """

    def guarantee(self) -> Guarantee:
        """What one answer keeps secret, computed from the law that is sampled."""
        ...

    def randomise(self, truth: Any) -> Any:
        """One fresh answer for each truth, from the operating system's randomness."""
        ...

    def log_density(self, answer: Any, truth: Any) -> NDArray[np.float64]:
        """The logarithm of the probability, or of the density, of each answer given its truth."""
        ...

    def unbias(self, answer: Any) -> NDArray[np.float64]:
        """A row per answer whose mean, given the truth, is what the truth stands for."""
        ...
