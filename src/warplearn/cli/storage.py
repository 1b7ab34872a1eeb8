"""Models as files of skops, which unlike pickles do not run code when they are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def save_model(model: Any, path: Path) -> None:
    """Write a model, whole or not at all."""
    import skops.io

    part = path.with_name(f"{path.name}.part")
    try:
        skops.io.dump(model, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load_model(path: Path, jobs: int = 1) -> Any:
    """Read a model; a file with anything but warplearn's own classes is refused.

    It predicts in so many threads, if it can.
    """
    import skops.io
    from sklearn.utils.validation import check_is_fitted

    if not path.is_file():
        raise FileNotFoundError(f"no model {str(path)!r}")
    try:
        unknown = skops.io.get_untrusted_types(file=path)
        strange = [name for name in unknown if not name.startswith("warplearn.")]
        if strange:
            raise ValueError(f"{path} holds {', '.join(strange)}, which a model of ours does not")
        model = skops.io.load(path, trusted=unknown)
    except ValueError:
        raise
    except Exception as error:  # skops passes on whatever it meets in a damaged file
        raise ValueError(f"{path} is no model: {type(error).__name__}: {error}") from None
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} is no model but a {type(model).__name__}")
    check_is_fitted(model)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=jobs)
    return model
