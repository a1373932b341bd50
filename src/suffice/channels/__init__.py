"""Noise on one answer, drawn before it leaves, each channel with the guarantee of the law it samples."""

from __future__ import annotations

from suffice.channels.choice import Choice, best, best_for_labels, crossover
from suffice.channels.coordinate_release import CoordinateRelease
from suffice.channels.duchi import DuchiL2, DuchiLinf
from suffice.channels.flip import Flip
from suffice.channels.gaussian_spread import GaussianSpread
from suffice.channels.matrix import Matrix
from suffice.channels.per_value import PerValue
from suffice.channels.privunit import PrivUnit
from suffice.channels.randomized_response import RandomizedResponse
from suffice.channels.repetition import posterior, repeated
from suffice.channels.shuffle import shuffled
from suffice.channels.subset_selection import SubsetSelection
from suffice.channels.survey_design import (
    DESIGNS,
    Crosswise,
    Disguised,
    ForcedResponse,
    ItemCount,
    Kuk,
    Triangular,
    UnrelatedQuestion,
    Warner,
)
from suffice.channels.together import Together
from suffice.channels.unary import OptimisedUnary, SymmetricUnary
from suffice.channels.validity import check_map, validity, validity_of_kernel, validity_of_matrix
from suffice.channels.varying import Varying

__all__ = [
    "CHANNELS",
    "DESIGNS",
    "Choice",
    "CoordinateRelease",
    "Crosswise",
    "Disguised",
    "DuchiL2",
    "DuchiLinf",
    "Flip",
    "ForcedResponse",
    "GaussianSpread",
    "ItemCount",
    "Kuk",
    "Matrix",
    "OptimisedUnary",
    "PerValue",
    "PrivUnit",
    "RandomizedResponse",
    "SubsetSelection",
    "SymmetricUnary",
    "Together",
    "Triangular",
    "UnrelatedQuestion",
    "Varying",
    "Warner",
    "best",
    "best_for_labels",
    "check_map",
    "crossover",
    "posterior",
    "repeated",
    "shuffled",
    "validity",
    "validity_of_kernel",
    "validity_of_matrix",
]

LABELS = (RandomizedResponse, Matrix, SymmetricUnary, OptimisedUnary, SubsetSelection)
VECTORS = (CoordinateRelease, PerValue, DuchiL2, DuchiLinf, PrivUnit, Flip, GaussianSpread)
CHANNELS = (*LABELS, *DESIGNS, *VECTORS, Together)
