"""`help` of every public name is complete: all parameters, each with its meaning."""

import inspect

import pytest

import warplearn
from warplearn import catalogue
from warplearn.documentation import _entries, _sections


def documented(cls, title):
    """Descriptions by name, of a section of a docstring."""
    found = {}
    for heads, text in _entries(_sections(cls.__doc__).get(title, "")).items():
        found |= dict.fromkeys((head.strip() for head in heads.split(",")), text)
    return found


@pytest.mark.parametrize("name", list(catalogue.ESTIMATORS))
def test_every_parameter_of_every_estimator_is_described(name):
    if catalogue.ESTIMATORS[name].module.startswith("warplearn.torch"):
        pytest.importorskip("torch")
    cls = catalogue.estimator_class(name)
    assert "__doc__" in vars(cls)
    parameters = set(inspect.signature(cls).parameters)
    described = documented(cls, "Parameters")
    assert set(described) == parameters
    for title in ("Parameters", "Attributes"):
        for entry, text in documented(cls, title).items():
            assert len(text.strip().splitlines()) > 1, f"{entry} has a type but no description"
            assert title == "Attributes" or " : " in text.splitlines()[0], f"{entry} has no type"


@pytest.mark.parametrize("name", sorted(set(warplearn.__all__) - set(catalogue.ESTIMATORS)))
def test_every_parameter_of_every_public_name_is_mentioned(name):
    thing = getattr(warplearn, name)
    text = inspect.getdoc(thing) or ""
    assert len(text.splitlines()[0]) > 10
    try:
        parameters = inspect.signature(thing).parameters
    except ValueError:  # a function of C
        parameters = {}
    missing = [parameter for parameter in parameters if parameter not in text]
    assert not missing
    for method, function in inspect.getmembers(thing, inspect.isfunction):
        if not method.startswith("_"):
            assert inspect.getdoc(function), f"{name}.{method}"


def test_every_public_method_of_every_estimator_is_documented():
    for name, entry in catalogue.ESTIMATORS.items():
        if entry.module.startswith("warplearn.torch"):
            continue
        for method, function in inspect.getmembers(
            catalogue.estimator_class(name), inspect.isfunction
        ):
            if not method.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{method}"
