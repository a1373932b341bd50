"""Numbers only: losses, minimisers, zonotopes. Knows nothing of rows' owners, releases or estimators."""
