"""The pages of the API reference, made from the public names of the package.

A name that `warplearn` exports is listed there; what other modules export besides is listed under
these.  So a new public name is in the reference without another entry.
"""

import inspect
from importlib import import_module
from pathlib import Path

from warplearn.catalogue import ESTIMATORS

TASKS = {
    "classify": "Classifiers",
    "regress": "Regressors",
    "cluster": "Means and clusters",
    "transform": "Transformers",
    "search": "Parameter search",
    "detect": "Detectors",
}
MODULES = {
    "warplearn.datasets": "Data sets",
    "warplearn.series": "Series",
    "warplearn.plotting": "Figures",
    "warplearn.explanation": "Explanations",
    "warplearn.linear_model": "Parts of linear models",
    "warplearn.features": "Parts of feature models",
    "warplearn.detection": "Detection",
    "warplearn.mean": "Ways to a mean",
    "warplearn.neighbors": "Search",
    "warplearn.persistence": "Model files",
    "warplearn.experiments": "Studies",
    "warplearn.export": "Devices",
    "warplearn.dask": "Dask",
    "warplearn.torch": "PyTorch",
}
OPTIONAL = ("warplearn.dask", "warplearn.torch")  # whose packages may not be installed
# Modules whose functions are for those who extend the library.
EXTENDING = {
    "warplearn.elastic.costs": ["register", "register_induced"],
    "warplearn.training.losses": ["register"],
    "warplearn.training.penalties": ["register"],
    "warplearn.training.schedules": ["register"],
    "warplearn.training.optimizers": ["register"],
    "warplearn.training.train": ["train"],
}


def sections():
    """Titles, and for each the full names of what it lists."""
    import warplearn

    top = [f"warplearn.{name}" for name in warplearn.__all__]
    found = {
        title: [
            f"warplearn.{name}"
            for name, entry in ESTIMATORS.items()
            if entry.task == task and entry.public
        ]
        for task, title in TASKS.items()
    }
    listed = {name for names in found.values() for name in names}
    displays = [name for name in top if name.endswith("Display")]
    found["Functions and series"] = [n for n in top if n not in listed and n not in displays]
    found["Displays"] = displays
    for module, title in MODULES.items():
        try:
            names = import_module(module).__all__
        except ImportError:
            if module not in OPTIONAL:
                raise
            continue
        found[title] = [f"{module}.{name}" for name in names]
    found["Extending"] = [
        f"{module}.{name}"
        for module, names in EXTENDING.items()
        for name in names
        if hasattr(import_module(module), name)
    ]
    seen = set()  # what several modules export is listed once
    for title, names in found.items():
        new = {id(object_of(name)): name for name in reversed(names)}
        found[title] = [new[key] for key in reversed(new) if key not in seen]
        seen.update(new)
    return {title: names for title, names in found.items() if names}


def object_of(name):
    """What a full name means."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def own_methods(cls):
    """The public methods that a class has from this library, not from scikit-learn."""
    found = inspect.getmembers(cls, lambda member: callable(member) or isinstance(member, property))
    modules = {
        name: getattr(getattr(member, "fget", member), "__module__", "") or ""
        for name, member in found
        if not name.startswith("_")
    }
    return [name for name, module in modules.items() if module.startswith("warplearn")]


def directive_of(name):
    """How autodoc documents a name."""
    found = object_of(name)
    options = {}
    if inspect.ismodule(found):
        return "automodule", {"members": ""}
    if inspect.isclass(found):
        if hasattr(found, "get_params"):
            options = {"members": ", ".join(own_methods(found))}
        elif issubclass(found, Exception) or found.__module__.startswith("warplearn.torch"):
            options = {}
        else:
            options = {"members": ""}
        return ("autoexception" if issubclass(found, BaseException) else "autoclass"), options
    return ("autofunction", {}) if callable(found) else ("autodata", {})


def write(folder):
    """Write a page for each name, and one that lists them."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    index = ["# API reference", "", "Every public name, by what it is for.", ""]
    pages = []
    for title, names in sections().items():
        index += [f"## {title}", "", "```{list-table}", ":widths: 40 60", ""]
        for name in names:
            first = (inspect.getdoc(object_of(name)) or "").strip().split("\n\n")[0]
            said = " ".join(first.split()) if directive_of(name)[0] != "autodata" else ""
            short = name.removeprefix("warplearn.")
            index += [f"* - [`{short}`]({name}.rst)", f"  - {said}"]
            directive, options = directive_of(name)
            lines = [short, "=" * len(short), "", f".. {directive}:: {name}"]
            lines += [f"   :{key}: {value}".rstrip() for key, value in options.items()]
            _write(folder / f"{name}.rst", "\n".join([*lines, ""]))
            pages.append(name)
        index += ["```", ""]
    index += ["```{toctree}", ":hidden:", "", *pages, "```", ""]
    _write(folder / "index.md", "\n".join(index))
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()  # of a name that is no more


def _write(file, text):
    """Write a file if it would change, so that a build need not read it again."""
    if not file.is_file() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")
