"""Noise on one answer, drawn before it leaves, each channel with the guarantee of the law it samples."""

from __future__ import annotations

from suffice.channels.matrix import Matrix
from suffice.channels.randomized_response import RandomizedResponse
from suffice.channels.survey_design import (
    Crosswise,
    Disguised,
    ForcedResponse,
    ItemCount,
    Kuk,
    Triangular,
    UnrelatedQuestion,
    Warner,
)

__all__ = [
    "CHANNELS",
    "Crosswise",
    "Disguised",
    "ForcedResponse",
    "ItemCount",
    "Kuk",
    "Matrix",
    "RandomizedResponse",
    "Triangular",
    "UnrelatedQuestion",
    "Warner",
]

CHANNELS = (
    RandomizedResponse,
    Warner,
    ForcedResponse,
    Disguised,
    Crosswise,
    UnrelatedQuestion,
    Kuk,
    Triangular,
    ItemCount,
    Matrix,
)
