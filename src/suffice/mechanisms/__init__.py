"""Noise on an aggregate, each mechanism with the promise that it keeps."""

from __future__ import annotations

from suffice.mechanisms.cube import Cube
from suffice.mechanisms.exact import Exact
from suffice.mechanisms.gaussian import Gaussian
from suffice.mechanisms.l2_laplace import L2Laplace
from suffice.mechanisms.laplace import Laplace

__all__ = ["MECHANISMS", "Cube", "Exact", "Gaussian", "L2Laplace", "Laplace"]

MECHANISMS = (Laplace, L2Laplace, Gaussian, Cube, Exact)
