"""Planning: what a release will be worth, worked out before anything is spent."""

from __future__ import annotations
