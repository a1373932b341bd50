"""Releases to try things on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

from suffice.core.bounds import Bound, Radius, Sensitivity
from suffice.core.column import Categorical, Cross, Hashed, Numeric
from suffice.core.guarantees import ApproxDP, Guarantee, NotPrivate, PureDP, ZeroConcentratedDP
from suffice.core.laws import Gaussian, L2Laplace, Laplace, NoLaw
from suffice.core.receipt import Receipt
from suffice.core.recipe import Recipe
from suffice.core.units import LabelOf, RecordOf
from suffice.core.witness import Witness
from suffice.releases.release import Grid, Release

RADIUS = 1000
REGION = Categorical("region", ("north", "south"), missing="other")
RECIPE = Recipe((Numeric("age", 41.0, 12.5), REGION), origin="learned")
WIDE = Recipe((Numeric("age", missing=0.5), REGION, Hashed("job", 4, "salt"), Cross(REGION, REGION)))
WITNESS = Witness(100, (1, 2, 3, 4, 5), "ab" * 16)
ASSUMES = ("the reader knows the feature rows, and which rows are present",)


def release(law="round Laplace", promise=None, *, recipe=RECIPE, unit=None, also=(), values=None, **changed):
    """A mean operator of five coordinates under round Laplace noise at epsilon one half, or what is asked."""
    dimension = recipe.dimension if recipe else 5
    parts = {
        "kind": "MeanOperator",
        "values": np.arange(dimension) * 977 - 1500 if values is None else values,
        "names": recipe.names if recipe else (),
        "recipe": recipe,
        "bound": Bound(2, Radius.public(0.95)),
        "grid": Grid(20, RADIUS),
        "sensitivity": Sensitivity.of_row(2, RADIUS, dimension).times(2),
        "witness": WITNESS,
        "law": L2Laplace(Fraction(4 * RADIUS), dimension) if law == "round Laplace" else law,
        "guarantee": Guarantee(promise or PureDP(0.5), unit or LabelOf("bought"), also, ASSUMES),
        "receipt": Receipt("7f3a"),
        "made_by": "suffice 0.1.0",
        "about": {"label": "bought", "classes": ("no", "yes")},
    }
    return Release(**parts | changed)


def labels(answers):
    """A release of randomised answers."""
    nothing = dict.fromkeys(("recipe", "bound", "grid", "sensitivity", "witness", "law"))
    return release(kind="Labels", values=np.zeros(0, np.int64), answers=answers, **nothing)


def several():
    """One release of every shape that the format is for."""
    moved = Sensitivity.of_row(2, RADIUS, 5).times(2)
    laplace = Laplace(Fraction(moved.l1) / Fraction(0.1), 5)
    gaussian = Gaussian(Fraction(8450), 5)  # 4.2247 sensitivities are needed
    none = NotPrivate("the statistic is released exactly")
    matrix = np.arange(10).reshape(2, 5)
    return {
        "round Laplace": release(),
        "Laplace": release(laplace, PureDP(0.1)),
        "Gaussian": release(gaussian, ApproxDP(1.0, 1e-6), also=(ZeroConcentratedDP(0.1),)),
        "three classes": release(values=matrix, about={"classes": (1, 2, 3)}),
        "wide recipe": release(recipe=WIDE, law=L2Laplace(Fraction(4000), WIDE.dimension)),
        "exact": release(NoLaw(5), none, receipt=None),
        "rados": release(NoLaw(5), none, kind="Rados", values=matrix, witness=None),
        "parameters": release(
            None, unit=RecordOf("replace"), kind="Fit", values=np.linspace(-1, 1, 5), sensitivity=None
        ),
        "answers": labels(pa.table({"key": ["anna", "béla"], "answer": [True, False], "weight": [0.5, 2.0]})),
    }
