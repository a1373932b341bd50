"""Fitted models as files: what is in them is listed here by full name, and nothing else is opened."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

from suffice.core.errors import InputError, UnsupportedPair
from suffice.releases import file

__all__ = ["TRUSTED", "load_model", "save_model"]

_OURS = {
    "core.bounds": ("Bound", "Radius"),
    "core.column": ("Categorical", "Cross", "Hashed", "Numeric"),
    "core.guarantees": ("ApproxDP", "Guarantee", "NotPrivate", "PureDP", "ZeroConcentratedDP"),
    "core.recipe": ("Recipe",),
    "core.units": ("Answer", "FeatureOf", "LabelOf", "RecordOf"),
    "learners.mean_operator": ("MeanOperatorClassifier",),
    "learners.square": ("Explained",),
}
TRUSTED = tuple(f"suffice.{home}.{name}" for home, names in _OURS.items() for name in names)
"""The classes that a model of suffice is made of, besides those of numpy and scikit-learn."""


def save_model(model: object, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a fitted model whole or not at all; the same model does not give the same bytes twice."""
    import skops.io  # noqa: PLC0415  only who saves or opens a model needs it

    data = skops.io.dumps(model)
    strange = sorted(set(skops.io.get_untrusted_types(data=data)) - set(TRUSTED))
    if strange:
        raise UnsupportedPair(
            f"The model holds a {strange[0]}, which no file of ours may hold. Fit it with a loss that has "
            "a name, and without objects of your own."
        )
    return file.write(Path(path), data, overwrite=overwrite)


def load_model(path: str | os.PathLike[str]) -> Any:
    """The model in a file that holds nothing but models of suffice and their parts, or an InputError."""
    import skops.io  # noqa: PLC0415
    from skops.io.exceptions import UntrustedTypesFoundException  # noqa: PLC0415

    try:
        return skops.io.load(Path(path), trusted=list(TRUSTED))
    except OSError as error:
        raise InputError(f"The model {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except UntrustedTypesFoundException as error:
        raise InputError(f"The file {str(path)!r} holds more than a model of suffice: {error}") from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"The file {str(path)!r} is not a model that suffice wrote: {error}.") from error
