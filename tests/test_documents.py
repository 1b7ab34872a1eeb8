"""README.md and docs/*.md are executed.

The Python blocks of a document run in order, as the code of one module.  Lines that start with
`# >` are what the block must print.
"""

import importlib
import importlib.util
import pkgutil
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

import warplearn
from warplearn import catalogue

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITHOUT_CODE = {
    f"docs/{name}.md"
    for name in (
        "background",
        "changelog",
        "extending",
        "features_measured",
        "guide",
        "ten_minutes",
    )
}
UNLISTED = {"warplearn.cli", "warplearn.averaging", "warplearn.sliding"}  # a program; parts
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^ *# > ?(.*)$", re.MULTILINE)
TORCH = re.compile(r"^(import torch|from warplearn\.torch)\b", re.MULTILINE)  # optional
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def name_of(document):
    return str(document.relative_to(ROOT))


def run_blocks(text, name):
    """Yield, for each block, its code, what it prints, and what the document says it prints."""
    # A module, because estimators and costs are looked up by the module of their class.
    module = sys.modules["document"] = ModuleType("document")
    for block in BLOCK.finditer(text):
        code = block[1]
        above = "\n" * text.count("\n", 0, block.start(1))  # tracebacks show the document's lines
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(above + code, name, "exec"), module.__dict__)
        yield code, [line.rstrip() for line in printed.getvalue().splitlines()], SHOWN.findall(code)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_blocks_print_what_they_show(document, monkeypatch):
    # What a document enters into the catalogue is of no concern to later tests.
    monkeypatch.setattr(catalogue, "ESTIMATORS", dict(catalogue.ESTIMATORS))
    text = document.read_text("utf-8")
    if TORCH.search(text):
        pytest.importorskip("torch").set_num_threads(1)
    blocks = list(run_blocks(text, name_of(document)))
    assert bool(blocks) == (name_of(document) not in WITHOUT_CODE)
    for code, printed, shown in blocks:
        assert printed == [line.rstrip() for line in shown], code


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document):
    for target in LINK.findall(document.read_text("utf-8")):
        assert (document.parent / target).exists(), target


def from_docs(name):
    """A module that the site is built with."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    """What makes the pages of the API reference."""
    return from_docs("reference")


def test_page_to_draw_on(tmp_path):
    text = from_docs("drawing").write(tmp_path / "draw.html").read_text("utf-8")
    assert text.count('"rests"') == 4  # two sets, two matrices each
    assert len(text) < 200_000


def test_every_public_name_is_in_the_reference(reference):
    listed = {name for names in reference.sections().values() for name in names}
    assert {f"warplearn.{name}" for name in warplearn.__all__} <= listed
    objects = {id(reference.object_of(name)) for name in listed}
    for info in pkgutil.iter_modules(warplearn.__path__, "warplearn."):
        if info.name.rpartition(".")[2].startswith("_") or info.name in UNLISTED:
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:
            assert info.name in reference.OPTIONAL
            continue
        for name in getattr(module, "__all__", ()):
            assert id(getattr(module, name)) in objects, f"{info.name}.{name}"


def test_reference_has_a_page_for_each_name(reference, tmp_path):
    reference.write(tmp_path)
    index = (tmp_path / "index.md").read_text("utf-8")
    for names in reference.sections().values():
        for name in names:
            page = (tmp_path / f"{name}.rst").read_text("utf-8")
            assert f":: {name}\n" in page
            assert f"({name}.rst)" in index


def test_runner_sees_what_is_wrong():
    text = "```python\nx = 1\n```\n```python\nprint(x)\n# > 2\nprint(x + 2)\n# > 3\n```\n"
    (_, nothing, none), (_, printed, shown) = run_blocks(text, "text")
    assert nothing == none == []
    assert (printed, shown) == (["1", "3"], ["2", "3"])
    with pytest.raises(ZeroDivisionError):
        list(run_blocks("```python\n1 / 0\n```\n", "text"))


def test_citation_is_of_this_version():
    assert f"\nversion: {warplearn.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
