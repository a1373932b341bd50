"""The one compiled place; every kernel has a NumPy twin of the same name, in `reference`.

`COMPILED` says which of the two the names below are: the twin runs where no compiler was.
Integers agree bit for bit, floats to the ulps that each kernel states.
"""

from __future__ import annotations

from suffice.maths.kernels import reference
from suffice.maths.kernels.block import EVEN, STRIPE, EvenLoss
from suffice.maths.kernels.plan import LIMIT, Column, Levels, Number, Offence, Plan, Sums, Vectors, lanes

try:
    from suffice.maths.kernels import compiled as chosen

    COMPILED = True
except ImportError:  # no compiler where this was installed
    chosen = reference  # type: ignore[misc]
    COMPILED = False

encode = chosen.encode
even_pass = chosen.even_pass
join_pages = chosen.join_pages
mean_fold = chosen.mean_fold
rado_fold = chosen.rado_fold
rado_subsets = chosen.rado_subsets
row_norms = chosen.row_norms
second_moment = chosen.second_moment
sign_pass = chosen.sign_pass
vectors = chosen.vectors

__all__ = [
    "COMPILED",
    "EVEN",
    "LIMIT",
    "STRIPE",
    "Column",
    "EvenLoss",
    "Levels",
    "Number",
    "Offence",
    "Plan",
    "Sums",
    "Vectors",
    "encode",
    "even_pass",
    "join_pages",
    "lanes",
    "mean_fold",
    "rado_fold",
    "rado_subsets",
    "row_norms",
    "second_moment",
    "sign_pass",
    "vectors",
]
