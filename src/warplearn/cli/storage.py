"""Models as files: `warplearn.save` and `warplearn.load`, for commands."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def save_model(model: Any, path: Path) -> None:
    """Write a model, whole or not at all."""
    from warplearn.persistence import save

    save(model, path)


def load_model(path: Path, jobs: int = 1) -> Any:
    """Read a model that is fitted and can predict, in so many threads if it can."""
    from sklearn.utils.validation import check_is_fitted

    from warplearn.persistence import load

    if not path.is_file():
        raise FileNotFoundError(f"no model {str(path)!r}")
    model = load(path)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} is no classifier but a {type(model).__name__}")
    check_is_fitted(model)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=jobs)
    return model


def size_of(model: Any) -> int:
    """The size of a model's file, in bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.warp"
        save_model(model, path)
        return path.stat().st_size
