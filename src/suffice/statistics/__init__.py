"""Exact sums over rows: what a release is a noisy version of."""
