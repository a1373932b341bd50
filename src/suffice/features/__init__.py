"""Transformers of public features and the tables they write; none of them takes labels."""

from __future__ import annotations

from suffice.features.map import FeatureMap
from suffice.features.spectral import SpectralMap
from suffice.features.table import FeatureTable

__all__ = ["FeatureMap", "FeatureTable", "SpectralMap"]
