"""Work out from a release file alone what its noise promises, and compare it with what it says.

    python rederive.py FILE

It needs pyarrow and no suffice. It exits 0 if the promise holds, 1 if not, 2 if it cannot tell.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa


def header(path):
    envelope = json.loads(Path(path).read_text("utf-8"))
    schema = pa.ipc.open_stream(base64.b64decode(envelope["payload"])).schema
    return json.loads(schema.metadata[b"suffice"])


def holds(facts):
    """Whether law and sensitivity give the promise; None where there is no closed form here."""
    law, moved, promise = facts["law"], facts["sensitivity"], facts["guarantee"]["promise"]
    if promise["kind"] == "PureDP":
        norm = {"Laplace": "l1", "L2Laplace": "l2", "Cube": "linf"}.get(law["kind"])
        if norm is None:
            return False
        return moved[norm] / Fraction(law["scale"]["value"]) <= Fraction(promise["epsilon"])
    if promise["kind"] == "ApproxDP" and law["kind"] == "Gaussian":
        ratio, epsilon = float(Fraction(law["stddev"]["value"]) / moved["l2"]), promise["epsilon"]
        near, far = ((epsilon * ratio + sign / (2 * ratio)) / math.sqrt(2) for sign in (-1, 1))
        return (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2 <= promise["delta"] * (1 + 1e-9)
    return None


if __name__ == "__main__":
    facts = header(sys.argv[1])
    verdict = holds(facts)
    word, code = {True: ("holds", 0), False: ("does not hold", 1), None: ("not checked", 2)}[verdict]
    print(facts["guarantee"]["promise"], word)  # noqa: T201
    sys.exit(code)
