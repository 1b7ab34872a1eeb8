"""The page about results: what it says, and what it does in a browser."""

import importlib.util
import json
import re
import shutil
import subprocess
from copy import copy
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from warplearn import ElasticLogisticRegression, active_path, datasets
from warplearn.experiments.report import write_report
from warplearn.experiments.views import view_of

pytest.importorskip("matplotlib")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ROOT = Path(__file__).parents[1]
METHODS = ["NN+ALL", "ePERC", "eLOGR", "a <b> & c"]


def row(dataset, method, trial, error, study="comparison", **more):
    return {
        "study": study, "dataset": dataset, "method": method, "trial": trial, "seed": trial,
        "estimator": "ElasticPerceptron", "error": error, "train_error": 0.5,
        "parameters": {"alpha": 0.1}, "fit_seconds": 0.25, "predict_seconds": 0.01, "cells": 1000,
        "versions": {"warplearn": "0.1.0"}, "machine": "a machine", "source": "built-in",
        "protocol": "test", "table": study, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    names = ["WarpedBumps", "Gestures", "Nowhere1", "Nowhere2", "Nowhere3"]
    found = [
        row(name, method, trial, 10 * m + d + trial / 4)
        for d, name in enumerate(names)
        for m, method in enumerate(METHODS)
        for trial in range(3)
    ]
    found[0]["cells"], found[3]["cells"], found[6]["cells"] = 2.05e9, 3.12e6, 0
    found = [{**each, "cells": found[3 * (i // 3)]["cells"]} for i, each in enumerate(found)]
    for w in (0.0, 0.1, "100%", "200%"):
        found += [
            row("WarpedBumps", f"w={w}", trial, 20, "elasticity", parameters={"elasticity": w})
            for trial in range(2)
        ]
    return found


@pytest.fixture(scope="module")
def models():
    found = {}
    for name in ("WarpedBumps", "Gestures"):
        train = datasets.load(name, "train")
        model = ElasticLogisticRegression(
            elasticity=5, polarity="first", max_iter=3, random_state=0
        )
        found[name] = model.fit(train.X.astype(np.float32), train.y)
    return found


def view(model, data, **options):
    channels = None if data.alphabet is None else [str(s) for s in data.alphabet.symbols]
    return view_of(model, data.X, data.y, name=data.name, channels=channels, **options)


@pytest.fixture(scope="module")
def views(models):
    """What a run stores of models."""
    return [
        {"study": "comparison", "dataset": name, "method": "eLOGR",
         "view": view(model, datasets.load(name, "test"))}
        for name, model in models.items()
    ]  # fmt: skip


@pytest.fixture(scope="module")
def page(rows, views, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    failures = [
        {"study": "comparison", "dataset": "Nowhere1", "method": "broken", "table": "comparison",
         "message": "too <long>"}
    ]  # fmt: skip
    assert write_report(rows, path, views=views, failures=failures, title="Results <1>") == path
    return path


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and whether all are closed."""

    EMPTY = frozenset(("meta", "input", "br", "path", "use"))

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_page_is_whole_and_needs_nothing_else(page):
    text = page.read_text("utf-8")
    elements = Elements(text)
    assert elements.open == []
    for tag, attributes in elements.found:
        assert tag not in ("link", "img", "iframe")
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)
    policy = next(a["content"] for t, a in elements.found if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert "url(http" not in text
    assert "{{" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_what_the_page_says(page):
    text = page.read_text("utf-8")
    assert "<title>Results &lt;1&gt;</title>" in text
    assert "a &lt;b&gt; &amp; c" in text
    assert "a <b>" not in text
    assert "No model of Nowhere1, Nowhere2, Nowhere3 was stored" in text
    assert "Failed: broken on Nowhere1: too &lt;long&gt;" in text
    assert '<td><span class="dot failed"></span>failed</td>' in text
    assert "Generated data, not the archive" in text
    assert "Mean ranks over 5 data sets" in text
    assert text.count("<svg") == 3
    assert "currentColor" in text
    assert '<td class=number data-value="10.25">10.2 ±0.2</td>' in text
    assert '<td><span class="dot red"></span>red</td>' in text


def test_abbreviations_and_colours_are_explained(page):
    text = page.read_text("utf-8")
    assert 'title="ElasticPerceptron; ' in text
    assert "<dt>ePERC</dt><dd>ElasticPerceptron; " in text
    assert '<dt><span class="dot red"></span>red</dt><dd>every elastic classifier is worse' in text
    assert '<dt><span class="dot green"></span>green</dt>' not in text  # there is none


def test_counts_are_in_words(tmp_path):
    text = write_report([row("Mine", "ePERC", 0, 5.0)], tmp_path / "page.html").read_text("utf-8")
    assert "1 trial on 1 data set;" in text
    assert "ucr" not in text


def test_errors_against_time_and_size(tmp_path):
    rows = [
        row(name, method, 0, 5.0 * m, "plain", model_bytes=10**m, decision_seconds=10.0**-m)
        for name in ("One", "Two")
        for m, method in enumerate(("A", "B", "C"))
    ]
    text = write_report(rows, tmp_path / "page.html").read_text("utf-8")
    for title in ("size of the model", "time of a decision", "time of training"):
        assert f'aria-label="{title}: Mean error over 2 data sets' in text
    older = [{k: v for k, v in r.items() if k != "model_bytes"} for r in rows]
    text = write_report(older, tmp_path / "page.html").read_text("utf-8")
    assert "size of the model" not in text
    assert "time of training" in text


def test_no_rows(tmp_path):
    with pytest.raises(ValueError, match="rows must hold at least one trial, got none"):
        write_report([], tmp_path / "page.html")


def test_page_without_models(tmp_path):
    path = write_report([row("Nowhere1", "ePERC", 0, 5.0)], tmp_path / "new" / "page.html")
    assert '<section id="viewer" hidden>' in path.read_text("utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_a_report_never_trains(rows, views, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a report trains or predicts")

    for method in ("fit", "predict", "explain"):
        monkeypatch.setattr(ElasticLogisticRegression, method, refuse)
    monkeypatch.setattr(datasets, "load", refuse)
    text = write_report(rows, tmp_path / "page.html", views=views).read_text("utf-8")
    data = re.search('<script type="application/json" id="data">(.*?)</script>', text)[1]
    assert [each["name"] for each in json.loads(data)] == ["WarpedBumps", "Gestures"]
    twice = [*views, {**views[0], "method": "other"}]
    text = write_report(rows, tmp_path / "page.html", views=twice).read_text("utf-8")
    assert "WarpedBumps, eLOGR" in text
    assert "WarpedBumps, other" in text


@pytest.mark.parametrize("name", ["WarpedBumps", "Gestures"])
def test_view_is_what_the_model_does(name, models):
    model, test = models[name], datasets.load(name, "test")
    found = view(model, test, n_series=9)
    json.dumps(found, allow_nan=False)
    X = test.X.astype(np.float32)
    predicted = model.predict(X)
    assert found["mistakes"] == (predicted != test.y).sum()
    assert found["cases"] == len(test.X)
    assert len(found["series"]) == 9
    wrong = sum(s["label"] != s["predicted"] for s in found["series"])
    assert wrong == min(3, found["mistakes"])
    for s in found["series"]:
        x = X[s["case"]]
        assert (s["label"], s["predicted"]) == (str(test.y[s["case"]]), str(predicted[s["case"]]))
        np.testing.assert_allclose(s["values"], np.atleast_2d(x), rtol=1e-3, atol=1e-6)
        for value, bias, parts in zip(
            s["decisions"], found["biases"], s["contributions"], strict=True
        ):
            assert value == pytest.approx(bias + sum(parts), rel=1e-2, abs=1e-2)
        for W, (first, last) in zip(model.coef_, s["paths"], strict=True):
            path = [(i, j) for i in range(x.shape[-1]) for j in range(first[i], last[i] + 1)]
            np.testing.assert_array_equal(path, active_path(x, W))
    if name == "WarpedBumps":
        assert found["outputs"] == ["1"]
        positive = found["units"][0]["label"]
        assert (positive == "1") == (model.polarity_.mix[0, 0] > 0)
    else:
        assert found["outputs"] == found["classes"] == [unit["label"] for unit in found["units"]]
        assert len(found["units"][0]["weights"]) == len(found["channels"]) == 3


def test_series_longer_than_the_model_are_left_out(models):
    test = datasets.load("Gestures", "test")
    model = models["Gestures"]
    short = ElasticLogisticRegression(elasticity=5, max_iter=1, random_state=0)
    keep = test.X.lengths < 70
    short.fit(test.X[keep].astype(np.float32), test.y[keep])
    found = view(short, test, n_series=200)
    assert found["cases"] == keep.sum() < len(test.X)
    assert max(len(s["values"][0]) for s in found["series"]) < 70
    assert model.n_features_in_ == 80


# In a browser.

EARS = """<script>
window.heard = [];
addEventListener("error", event => heard.push("error: " + event.message));
addEventListener("securitypolicyviolation", event => heard.push("blocked: " + event.blockedURI));
for (const kind of ["error", "warn"]) console[kind] = (...words) => heard.push(kind + ": " + words);
</script>"""

HANDS = """<script>
const seen = () => ({
  verdict: get("verdict").textContent, decision: get("decision").textContent,
  matrix: get("matrix").toDataURL(), contributions: get("contributions").toDataURL(),
  note: get("model-note").textContent, readout: get("readout").textContent,
  series: [...get("series").options].map(option => option.text),
  units: get("unit-label").offsetHeight > 0, channels: get("channel-label").offsetHeight > 0,
  ground: getComputedStyle(document.body).backgroundColor,
});
const steps = { start: seen() };
const choose = (id, value) => {
  get(id).value = value;
  get(id).dispatchEvent(new Event("change", { bubbles: true }));
};
get("next").click(); steps.next = seen();
get("previous").click(); steps.back = seen();
const box = get("matrix").getBoundingClientRect();
get("matrix").dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 9 }));
steps.hover = seen();
choose("series", "5"); steps.series = seen();
choose("dataset", "1"); steps.dataset = seen();
choose("unit", "2"); steps.unit = seen();
choose("channel", "1"); steps.channel = seen();
get("mistakes").click(); steps.mistakes = seen();
choose("dataset", "0"); steps.chosen = seen();
const recomputed = views.map(view => view.series.map(s => [s, judged(view, s.values)]));
const canvas = get("contributions").getBoundingClientRect();
const pen = (kind, along, down) => get("contributions").dispatchEvent(new PointerEvent(kind, {
  clientX: canvas.left + along * canvas.width, clientY: canvas.top + down * canvas.height,
  pointerId: 1, buttons: 1, bubbles: true,
}));
get("contributions").setPointerCapture = () => 0;  // there is no real pointer
const offered = get("draw-label").offsetHeight > 0;
pen("pointerdown", .5, .1); steps.notYet = seen();
get("draw").click();
pen("pointerdown", .3, .1); pen("pointermove", .7, .9); pen("pointerup", .7, .9);
steps.drawn = { ...seen(), values: [...state.drawn.values[0]], decisions: state.drawn.decisions, stored: views[0].series[state.series] };
get("contributions").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp" })); steps.raised = seen();
get("undo").click(); steps.undone = seen();
get("draw").click();
choose("dataset", "1"); choose("unit", "2"); choose("channel", "1"); get("mistakes").click();
get("theme").click(); steps.theme = seen();
get("theme").click(); steps.theme_again = seen();
get("matrix").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
steps.key = seen();
const table = document.querySelector("table.sortable");
const column = k => [...table.tBodies[0].rows].map(r => r.cells[k].textContent);
const head = k => table.tHead.rows[0].cells[k];
const tables = { names: column(0) };
head(1).firstChild.click(); tables.up = column(1);
head(1).firstChild.click(); tables.down = column(1); tables.sort = head(1).getAttribute("aria-sort");
head(0).firstChild.click(); tables.byName = column(0);
const details = [...document.querySelectorAll("table.sortable")].find(t => t.textContent.includes("cells"));
const counts = () => [...details.tBodies[0].rows].map(r => r.cells[cellsAt].textContent);
const cellsAt = [...details.tHead.rows[0].cells].findIndex(c => c.textContent === "cells");
details.tHead.rows[0].cells[cellsAt].firstChild.click(); tables.cells = counts();
document.body.innerHTML = "";
const result = document.createElement("pre");
result.id = "result";
result.textContent = JSON.stringify({
  steps, tables, heard, recomputed, offered, requests: performance.getEntriesByType("resource").map(entry => entry.name),
  wide: document.documentElement.scrollWidth,
});
document.body.append(result);
</script>"""


def browse(path, *flags):
    """Open a page; its elements once all scripts have run, and what the browser has logged."""
    folder = path.parent / "profile"
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={folder}", "--enable-logging=stderr", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--virtual-time-budget=2000",
        *flags, "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def browsed(page):
    """What is seen before and after each thing that a reader can do."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    text = page.read_text("utf-8")
    tried = page.with_name("tried.html")
    with_ears = text.replace("<head>", "<head>" + EARS, 1)
    tried.write_text(with_ears.replace("</body>", HANDS + "</body>"), "utf-8")
    elements, log = browse(tried, "--window-size=1000,800")
    result = re.search(r'<pre id="result">(.*?)</pre>', elements, re.DOTALL)
    assert result, log[-3000:]
    unescaped = result[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(unescaped), log


def test_browser_has_nothing_to_complain_about(browsed):
    found, log = browsed
    assert found["heard"] == []
    assert found["requests"] == []
    assert "CONSOLE" not in log


def test_ears_hear(page):
    """The test above can fail."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    loud = page.with_name("loud.html")
    shout = '<script>fetch("http://127.0.0.1:9/x").catch(() => 0); nothing.there()</script>'
    report = "<script>setTimeout(() => { document.title = JSON.stringify(heard); }, 500)</script>"
    text = page.read_text("utf-8").replace("<head>", "<head>" + EARS, 1)
    loud.write_text(text.replace("</body>", shout + report + "</body>"), "utf-8")
    title = re.search("<title>(.*?)</title>", browse(loud)[0])[1]
    assert "blocked: http://127.0.0.1:9/x" in title
    assert "nothing is not defined" in title


def test_choosing_changes_what_is_shown(browsed):
    steps = browsed[0]["steps"]
    start = steps["start"]
    assert start["verdict"].startswith("Series ")
    for key in ("verdict", "decision", "matrix", "contributions"):
        assert steps["next"][key] != start[key], key
        assert steps["back"][key] == start[key], key
        assert steps["series"][key] != start[key], key
    assert steps["hover"]["readout"].startswith("time ")
    assert "path in column" in steps["hover"]["readout"]
    assert steps["hover"]["matrix"] != steps["back"]["matrix"]
    assert not start["units"]
    assert not start["channels"]
    assert steps["dataset"]["units"]
    assert steps["dataset"]["channels"]
    assert steps["dataset"]["note"] != start["note"]
    assert steps["unit"]["matrix"] != steps["dataset"]["matrix"]
    assert steps["unit"]["verdict"] == steps["dataset"]["verdict"]
    assert steps["channel"]["matrix"] != steps["unit"]["matrix"]
    assert all("mistaken" in text for text in steps["mistakes"]["series"])
    assert len(steps["mistakes"]["series"]) < len(steps["channel"]["series"])
    assert steps["theme"]["ground"] != steps["channel"]["ground"] == steps["theme_again"]["ground"]
    assert steps["theme"]["matrix"] != steps["mistakes"]["matrix"]


def test_c_in_the_browser_agrees_with_python(browsed):
    """Of the stored series, with weights of 16 bits: nearly all paths are the same."""
    same = []
    for per_model in browsed[0]["recomputed"]:
        for stored, found in per_model:
            scale = max(1, *map(abs, stored["decisions"]))
            np.testing.assert_allclose(found["decisions"], stored["decisions"], atol=2e-3 * scale)
            margin = np.ptp(
                stored["decisions"] if len(stored["decisions"]) > 1 else [0, *stored["decisions"]]
            )
            assert found["predicted"] == stored["predicted"] or margin < 0.01
            same.append(found["paths"] == stored["paths"])
            if same[-1]:
                np.testing.assert_allclose(
                    found["contributions"], stored["contributions"], atol=2e-3 * scale
                )
    assert len(same) > 20
    assert np.mean(same) > 0.9


def test_what_is_drawn_is_followed(browsed, models):
    found = browsed[0]
    steps = found["steps"]
    assert found["offered"]
    assert steps["notYet"] == steps["chosen"]  # only where it is asked for
    drawn = steps["drawn"]
    assert drawn["verdict"].startswith("The drawn series: class ")
    for key in ("decision", "matrix", "contributions"):
        assert drawn[key] != steps["chosen"][key], key
        assert steps["undone"][key] == steps["chosen"][key], key
    assert steps["raised"]["contributions"] != drawn["contributions"]
    values, before = np.array(drawn["values"]), np.array(drawn["stored"]["values"][0])
    changed = np.flatnonzero(values != before)
    assert 0 < len(changed) < len(values)
    assert (np.diff(values[changed[0] : changed[-1] + 1]) < 0).all()  # a stroke downwards
    decision = models["WarpedBumps"].decision_function(values[None].astype(np.float32))
    np.testing.assert_allclose(drawn["decisions"], decision, atol=2e-3 * max(1, abs(decision[0])))


def test_engine_is_compiled_from_the_sources():
    """Otherwise run tools/build_wasm.py."""
    spec = importlib.util.spec_from_file_location("build_wasm", ROOT / "tools" / "build_wasm.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert build.MODULE.read_bytes().endswith(build.SECTION + build.checksum())


def test_banded_models_are_not_drawn_on(models):
    test = datasets.load("WarpedBumps", "test")
    model = copy(models["WarpedBumps"])
    assert all("rests" in unit for unit in view(model, test)["units"])
    banded = view(model.set_params(band="90%"), test, n_series=2)
    assert not any("rests" in unit for unit in banded["units"])


def test_tables_sort(browsed):
    tables = browsed[0]["tables"]
    cells = tables["cells"]
    assert [float(cell) for cell in cells if cell] == sorted(float(cell) for cell in cells if cell)
    assert cells[-1] == ""  # what there is none of comes last
    assert {"2.05e+09", "3.12e+06"} <= set(cells)
    numbers = [float(cell.split()[0]) for cell in tables["up"]]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 1
    assert tables["down"] == tables["up"][::-1]
    assert tables["sort"] == "descending"
    assert tables["byName"] == sorted(tables["names"])
    assert tables["byName"] != tables["names"]


@pytest.mark.parametrize("width", [360, 1000])
def test_page_fits_the_window(width, page):
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    frame = page.with_name(f"frame{width}.html")
    ask = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script>"
    frame.write_text(page.read_text("utf-8").replace("</body>", ask + "</body>"), "utf-8")
    title = re.search("<title>(.*?)</title>", browse(frame, f"--window-size={width},800")[0])[1]
    needed, there = map(int, title.split(" of "))
    assert needed <= there
    assert there <= max(width, 500)  # Chromium has a least width
