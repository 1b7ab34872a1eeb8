"""Models as C: compiled with the system's compiler, and held against Python."""

import re
import shutil
import subprocess
from copy import copy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import is_regressor

from warplearn import (
    Alphabet,
    DTWNeighborsClassifier,
    ElasticAdaline,
    ElasticFeatureClassifier,
    ElasticFeatureRegressor,
    ElasticGridSearchCV,
    ElasticLinearRegression,
    ElasticLinearSVC,
    ElasticLogisticRegression,
    ElasticLVQClassifier,
    ElasticMarginPerceptron,
    ElasticMLPClassifier,
    ElasticMLPRegressor,
    ElasticPerceptron,
    NearestPrototypeClassifier,
    SeriesCollection,
    datasets,
    to_c,
)
from warplearn.export import Export
from warplearn.export.fixed import MOST_WEIGHT, FixedPoint, limits_of
from warplearn.linear_model.base import ElasticLinearModel

COMPILERS = {
    "c99": ["gcc", "-std=c99"],
    "c++": ["g++", "-x", "c++", "-std=c++98"],
}
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

# Reads series from a file.  Prints, for each, the class and the outputs of the whole series, of a
# stream at its end, and of the stream halfway; probabilities come last.
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "net.h"

static void show(int decided, const float *outputs)
{
    int k;
    printf("%d", decided);
    for (k = 0; k < NET_OUTPUTS; ++k)
        printf(" %.9g", outputs[k]);
    printf("\\n");
}

static int decide(const net_stream *s)
{
#ifdef NET_CLASSES
    return net_decide(s);
#else
    float targets[NET_OUTPUTS];
    return net_decide(s, targets);
#endif
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    int32_t length;
    if (!file)
        return 2;
    while (fread(&length, sizeof length, 1, file) == 1) {
        float *series = (float *)malloc(length * NET_CHANNELS * sizeof(float));
        float outputs[NET_OUTPUTS], halfway[NET_OUTPUTS];
        int32_t t;
        int middle = -1;
        net_stream s;
        if (fread(series, sizeof(float), length * NET_CHANNELS, file) != (size_t)length * NET_CHANNELS)
            return 3;
        t = net_predict(series, length, outputs);
        show(t, outputs);
        net_init(&s);
        if (net_outputs(&s, outputs) || decide(&s) != -1)
            return 4;
        for (t = 0; t < length; ++t) {
            if (!net_push(&s, series + t * NET_CHANNELS))
                return 5;
            if (t == length / 2) {
                middle = decide(&s);
                net_outputs(&s, halfway);
            }
        }
        net_outputs(&s, outputs);
        show(decide(&s), outputs);
        show(middle, halfway);
#ifdef NET_SHARPNESS
        {
            float shares[NET_CLASSES];
            int k;
            net_probabilities(outputs, shares);
            for (k = 0; k < NET_CLASSES; ++k)
                printf("%.9g ", shares[k]);
            printf("\\n");
        }
#endif
        free(series);
    }
    fclose(file);
    return 0;
}
"""


@pytest.fixture(scope="module", autouse=True)
def compilers():
    for command in ("gcc", "g++"):
        if shutil.which(command) is None:
            pytest.skip(f"there is no {command}")


def compiled(folder, text, main=MAIN, language="c99", sanitized=True):
    """Compile a program that includes a header."""
    (folder / "net.h").write_text(text)
    (folder / "main.c").write_text(main)
    flags = [*FLAGS, *(SANITIZERS if sanitized else [])]
    command = [*COMPILERS[language], *flags, "main.c", "-o", "main", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "main"


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return [[float(field) for field in line.split()] for line in done.stdout.splitlines()]


def on_device(folder, text, X, language="c99"):
    """What a header makes of series: arrays of (class, outputs), and probabilities."""
    program = compiled(folder, text, language=language)
    with open(folder / "series", "wb") as file:
        for case in range(len(X)):
            x = np.asarray(X.elements(case), np.float32)
            file.write(np.int32(len(x)).tobytes() + np.ascontiguousarray(x).tobytes())
    lines = run(program, folder / "series")
    kinds = len(lines) // len(X)
    return [np.array(lines[i::kinds]) for i in range(kinds)]


def outputs_of(model, X):
    """The same in Python."""
    for name in ("class_distances", "decision_function", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X), np.float64).reshape(len(X), -1)
    raise TypeError(model)


def prefixes(X):
    """The first halves of series, with the sample in the middle."""
    return SeriesCollection.of(
        [np.array(X.elements(i)[: n // 2 + 1].T) for i, n in enumerate(X.lengths)]
    )


def check_outputs(model, X, found, allowed=0.0):
    """Classes are the same, and outputs up to 1e-5; all but a share of the series `allowed`."""
    reference = outputs_of(model, X)
    apart = np.abs(found[:, 1:] - reference) / np.maximum(1, np.abs(reference))
    agrees = apart.max(axis=1) <= 1e-5
    assert (~agrees).mean() <= allowed, np.sort(apart.max(axis=1))[-5:]
    if hasattr(model, "classes_"):
        labels = model.classes_[found[:, 0].astype(int)]
        np.testing.assert_array_equal(labels[agrees], model.predict(X)[agrees])
    else:
        assert (found[:, 0] == 0).all()


def loaded(name, part):
    data = datasets.load(name, part)
    return data.X.astype(np.float32), data.y


@cache
def fitted(case):
    """A small model of each kind, on real series; and test series."""
    name, model, shrunk = CASES[case]
    X, y = loaded(name, "train")
    if is_regressor(model):
        y = np.array([np.ptp(X.elements(i)) for i in range(len(X))])
        y = np.column_stack([y, 100 - 3 * y]) if shrunk is None else y
    model.fit(X, y)
    model = model.shrink(X, y, shrunk) if shrunk else model
    X_test, y_test = loaded(name, "test")
    fits = X_test.lengths <= X.max_length
    return model, (X_test[fits], y_test[fits])


few = {"random_state": 0, "max_iter": 5}
CASES = {
    "Logistic": ("ECG200", ElasticLogisticRegression(**few), None),
    "Perceptron": ("GunPoint", ElasticPerceptron(polarity="-", **few), None),
    "Margin": ("PickupGestureWiimoteZ", ElasticMarginPerceptron(elasticity=3, **few), None),
    "SVM": ("JapaneseVowels", ElasticLinearSVC(elasticity=3, **few), None),
    "Softmax": ("JapaneseVowels", ElasticLogisticRegression(elasticity=3, **few), None),
    "Adaline": ("ItalyPowerDemand", ElasticAdaline(polarity="+", elasticity=1, **few), None),
    "Regression": ("ECG200", ElasticLinearRegression(**few), None),
    "Network": (
        "BasicMotions",
        ElasticMLPClassifier(hidden_layer_sizes=(5,), elasticity=3, **few),
        None,
    ),
    "DeepNetwork": (
        "ItalyPowerDemand",
        ElasticMLPClassifier(hidden_layer_sizes=(6, 4), activation="relu", **few),
        None,
    ),
    "NetworkRegression": (
        "ECG200",
        ElasticMLPRegressor(hidden_layer_sizes=(4,), activation="sigmoid", **few),
        None,
    ),
    "Prototypes": (
        "GunPoint",
        NearestPrototypeClassifier("kmeans", n_prototypes=2, random_state=0),
        None,
    ),
    "Vowels": ("JapaneseVowels", NearestPrototypeClassifier("ahc", random_state=0), None),
    "LVQ": (
        "ItalyPowerDemand",
        ElasticLVQClassifier(cost="absolute", max_iter=2, random_state=0),
        None,
    ),
    "Features": ("GunPoint", ElasticFeatureClassifier(400, random_state=0), 64),
    "ManyChannels": (
        "BasicMotions",
        ElasticFeatureClassifier(400, poolings=("share", "max", "losses"), random_state=0),
        80,
    ),
    "Shapelets": (
        "GunPoint",
        ElasticFeatureClassifier(200, n_shapelets=200, random_state=0),
        64,
    ),
    "ShapeletsOfChannels": (
        "BasicMotions",
        ElasticFeatureClassifier(16, n_shapelets=400, random_state=0),
        80,
    ),
    "FeatureRegression": ("ECG200", ElasticFeatureRegressor(400, random_state=0), 64),
}


@pytest.mark.parametrize("case", CASES)
def test_c_agrees_with_python(case, tmp_path):
    model, (X, _) = fitted(case)
    found = on_device(tmp_path, to_c(model, name="net"), X)
    # An output that rounding moves across its threshold changes a share by 1 / positions.
    allowed = 0.03 if hasattr(model, "features_") else 0.0
    whole, stream, halfway = found[:3]
    check_outputs(model, X, whole, allowed)
    np.testing.assert_array_equal(stream, whole)
    check_outputs(model, prefixes(X), halfway, allowed)
    assert hasattr(model, "predict_proba") == (len(found) == 4)
    if len(found) == 4 and not allowed:
        np.testing.assert_allclose(found[3], model.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("case", ["Softmax", "Network", "LVQ", "ShapeletsOfChannels"])
def test_header_is_cpp_too(case, tmp_path):
    model, (X, _) = fitted(case)
    as_c, as_cpp = (
        on_device(tmp_path, to_c(model, name="net"), X[:20], language) for language in COMPILERS
    )
    for one, other in zip(as_c, as_cpp, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("case", CASES)
def test_optimizing_compilers_have_nothing_to_warn_of(case, language, tmp_path):
    """They look deeper than others."""
    texts = {"net": to_c(fitted(case)[0], name="net")}
    if isinstance(fitted(case)[0], ElasticLinearModel):
        texts |= {k: to_c(fitted(case)[0], name="net", numbers=k, limit=5) for k in MOST_WEIGHT}
    for text in texts.values():
        (tmp_path / "net.h").write_text(text)
        (tmp_path / "main.c").write_text(MAIN)
        for level in ("-O2", "-Os") if language == "c99" else ("-O2",):
            command = [*COMPILERS[language], *FLAGS, level, "-c", "main.c", "-o", "main.o"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("numbers", ["int16", "int8"])
@pytest.mark.parametrize("case", ["Logistic", "Margin", "SVM", "Regression"])
def test_fixed_point_is_what_python_says(case, numbers, tmp_path):
    """The device computes with the rounded weights and samples, and nothing else differs."""
    model, (X, _) = fitted(case)
    limit = np.abs(X.values).max(axis=(0, 1)) * 0.7  # some samples are cut
    export = Export.of(model, numbers, limit)
    whole, stream, _ = on_device(tmp_path, export.header("net"), X)[:3]
    check_outputs(export.fixed.model(model), export.fixed.series(X), whole)
    np.testing.assert_array_equal(stream, whole)
    if hasattr(model, "classes_"):
        labels = model.classes_[whole[:, 0].astype(int)]
        np.testing.assert_array_equal(labels, export.predict(X))


def test_fixed_point_is_close_to_the_model():
    model, (X, _) = fitted("Logistic")
    limit = float(np.abs(X.values).max())
    exact = model.decision_function(X)
    for numbers, most in (("int16", 0.002), ("int8", 0.05)):
        fixed = Export.of(model, numbers, limit).fixed
        rounded = fixed.model(model).decision_function(fixed.series(X))
        assert 0 < np.abs(rounded - exact).max() < most * np.abs(exact).max()


@pytest.mark.parametrize("numbers", ["int16", "int8"])
def test_fixed_point_cannot_overflow(numbers, rng, tmp_path):
    """Extreme samples along the heaviest path: no sum leaves 32 bits (UBSan would tell)."""
    model = fitted("SVM")[0]
    W = model.matrices_
    fixed = FixedPoint.of(W, numbers, 1e-15)
    signs = np.sign(rng.normal(size=(40, *W.shape[1::2]))).transpose(0, 2, 1) * 9e14
    signs[0] = np.sign(W[0].sum(axis=1)).T * 9e14  # the same as the weights
    extreme = SeriesCollection.of(signs.astype(np.float32))
    whole = on_device(tmp_path, Export.of(model, numbers, 1e-15).header("net"), extreme)[0]
    check_outputs(fixed.model(model), fixed.series(extreme), whole)


SIZES = """
#include <stdio.h>
#include "net.h"
int main(void)
{
    net_stream s;
    float outputs[NET_OUTPUTS], bad[NET_CHANNELS], sample[NET_CHANNELS];
    const float huge = 1e30f;
    int32_t t;
    int c;
    printf("%d\\n", (int)sizeof(net_stream));
    for (c = 0; c < NET_CHANNELS; ++c)
        sample[c] = bad[c] = 0;
    net_init(&s);
    bad[NET_CHANNELS - 1] = huge * huge;
    printf("%d ", net_push(&s, bad));
    bad[NET_CHANNELS - 1] = huge * huge - huge * huge;
    printf("%d ", net_push(&s, bad));
    printf("%d ", net_predict(sample, 0, outputs));
    for (t = 0; t < NET_LENGTH && t < 5000; ++t)
        if (!net_push(&s, sample))
            return 1;
    printf("%d\\n", NET_LENGTH < 5000 ? net_push(&s, sample) : 0);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("case", "numbers"),
    [
        ("Logistic", "float32"), ("SVM", "int16"), ("Softmax", "int8"), ("Network", "float32"),
        ("Vowels", "float32"), ("ManyChannels", "float32"), ("ShapeletsOfChannels", "float32"),
    ],
)  # fmt: skip
def test_header_says_its_size_and_refuses_bad_samples(case, numbers, tmp_path):
    export = Export.of(fitted(case)[0], numbers, None if numbers == "float32" else 3)
    text = export.header("net")
    (size,), refused = run(compiled(tmp_path, text, SIZES))
    assert size == export.ram
    assert f"RAM: {export.ram:,} bytes for a stream" in text
    assert f"Flash: {export.flash:,} bytes of constants" in text
    assert refused == [0, 0, -1, 0]


def test_constants_take_what_the_header_says(tmp_path):
    """Constant data of an object file that uses all of the header, beside names and padding."""
    if shutil.which("size") is None:
        pytest.skip("there is no size, of binutils")
    export = Export.of(fitted("SVM")[0])
    (tmp_path / "net.h").write_text(export.header("net"))
    (tmp_path / "use.c").write_text(
        '#include "net.h"\nint use(const float *x, int n, float *y) { return net_predict(x, n, y); }\n'
    )
    subprocess.run(["gcc", "-std=c99", "-Os", "-c", "use.c"], cwd=tmp_path, check=True)
    text = subprocess.run(
        ["size", "-A", "use.o"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    constants = sum(int(line.split()[1]) for line in text.stdout.splitlines() if ".rodata" in line)
    assert export.flash <= constants <= export.flash + 256


TWO = """
#include <stdio.h>
#include "net.h"
#include "other.h"
int main(void)
{
    float x[12] = {0}, y[9], z[9];
    int16_t levels[12] = {0};
    other_stream s;
    other_init(&s);
    levels[3] = OTHER_LEVELS;
    printf("%d ", other_push_levels(&s, levels));
    levels[3] = -32767 - 1;
    printf("%d ", other_push_levels(&s, levels));
    printf("%d %d\\n", net_predict(x, 1, y), other_predict(x, 1, z));
    printf("%d\\n", net_labels[8][0] == other_labels[8][0]);
    return 0;
}
"""


def test_two_headers_in_one_program(tmp_path):
    model = fitted("SVM")[0]
    (tmp_path / "other.h").write_text(to_c(model, name="other", numbers="int16", limit=3))
    program = compiled(tmp_path, to_c(fitted("Softmax")[0], name="net"), TWO)
    (first, second, one, other), (same,) = run(program)
    assert (first, second, same) == (1, 2, 1)
    zeros = SeriesCollection.of(np.zeros((1, 12, 1), np.float32))
    assert fitted("Softmax")[0].classes_[int(one)] == fitted("Softmax")[0].predict(zeros)[0]
    assert model.classes_[int(other)] == model.predict(zeros)[0]


@pytest.mark.parametrize("name", ["model", "MODEL", "MODEL_x", "int8", "My_Model2"])
def test_names_begin_with_what_is_asked_for(name, tmp_path):
    """Whatever it is; and all names do, so that headers do not meet."""
    text = to_c(fitted("ManyChannels")[0], name=name)
    main = f'#include "net.h"\nint main(void) {{ {name}_stream s; {name}_init(&s); return 0; }}\n'
    run(compiled(tmp_path, text, main))
    defined = re.findall(
        r"^#define (\w+)|^(?:static const|typedef) .*?(\w+)(?:\[\d+\] =|;)", text, re.MULTILINE
    )
    defined += [
        ("", found) for found in re.findall(r"^static inline .*?(\w+)\(", text, re.MULTILINE)
    ]
    assert len(defined) > 30
    for macro, other in defined:
        assert macro.startswith(f"{name.upper()}_") or other.startswith(f"{name}_"), (macro, other)


def test_labels_are_any_text(tmp_path):
    labels = ['say "hi" ??/', "back\\slash */", "größer\n", "a model_ MODEL_"]
    X = np.random.default_rng(0).normal(size=(12, 12)).astype(np.float32)
    model = NearestPrototypeClassifier("mean").fit(X, np.array(labels * 3))
    main = """
#include <stdio.h>
#include "net.h"
int main(void)
{
    int k;
    for (k = 0; k < NET_CLASSES; ++k)
        printf("%s|", net_labels[k]);
    return 0;
}
"""
    program = compiled(tmp_path, to_c(model, name="net"), main)
    done = subprocess.run([program], capture_output=True)
    assert done.stdout.decode("utf-8").split("|")[:-1] == sorted(labels)


@pytest.mark.parametrize(
    ("case", "numbers"),
    [
        ("Logistic", "float32"), ("Logistic", "int16"), ("Softmax", "int8"), ("Network", "float32"),
        ("Vowels", "float32"), ("LVQ", "float32"), ("ManyChannels", "float32"),
        ("Shapelets", "float32"),
    ],
)  # fmt: skip
def test_on_an_emulated_cortex_m4(case, numbers):
    """Classes are those of Python, and neither code nor RAM is more than the header says."""
    device = pytest.importorskip("benchmarks.export")
    if not device.has_device():
        pytest.skip("there is no arm-none-eabi-gcc with newlib, or no qemu-system-arm")
    model, (X, _) = fitted(case)
    export = Export.of(model, numbers, None if numbers == "float32" else limits_of(X))
    length = int(np.bincount(X.lengths).argmax())  # the emulated program takes one length
    some = X[np.flatnonzero(X.lengths == length)[:5]]
    found = device.on_device(export, some.values[:, :length])
    np.testing.assert_array_equal(model.classes_[found.classes], export.predict(some))
    assert 0.3 * export.code <= found.flash - export.flash <= export.code
    assert export.ram <= found.ram <= export.ram + export.program.scratch + 256
    assert found.per_sample > export.program.constants.get("UNITS", 1)


# What cannot be exported


@pytest.mark.parametrize(
    ("case", "parameters", "message"),
    [
        ("Logistic", {"band": 6}, "band must be None to export a model, got 6"),
        ("Prototypes", {"band": 0.1}, "band must be None to export a model, got 0.1"),
        (
            "Prototypes",
            {"cost": "gaussian"},
            r"cost must be one of \['absolute', 'squared'\] to be exported, got 'gaussian'",
        ),
    ],
)
def test_parameters_that_cannot_be_exported(case, parameters, message):
    model = copy(fitted(case)[0]).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        to_c(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DTWNeighborsClassifier(), "DTWNeighborsClassifier cannot be exported"),
        (
            ElasticFeatureClassifier(4000, n_shapelets=0, random_state=0),
            r"max_bytes=100,000: drop filters and shapelets with model.shrink\(X, y, n_filters\), it "
            "has 4,000 of both",
        ),
    ],
    ids=["neighbors", "features"],
)
def test_models_that_cannot_be_exported(model, message):
    X, y = loaded("ItalyPowerDemand", "train")
    model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        to_c(model, max_bytes=100_000)


def test_searches_and_many_classes_are_refused():
    X, y = loaded("ItalyPowerDemand", "train")
    search = ElasticGridSearchCV(ElasticAdaline(**few), {"alpha": [0.0, 0.1]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="export its best_estimator_"):
        to_c(search)
    X = np.repeat(np.arange(300, dtype=np.float32), 2)[:, None] + np.zeros((1, 2), np.float32)
    many = NearestPrototypeClassifier("mean").fit(X, np.repeat(np.arange(300), 2))
    with pytest.raises(ValueError, match="at most 256 classes to be exported.*got 300"):
        to_c(many)


def test_symbols_are_refused():
    model = ElasticPerceptron(alphabet=Alphabet("ab"), **few).fit(["abab", "aabb"], [0, 1])
    with pytest.raises(ValueError, match="a model of symbols cannot be exported"):
        to_c(model)


def test_program_of_the_documentation(tmp_path):
    """It compiles, and decides after every sample as the stream of the model does."""
    text = (Path(__file__).parents[1] / "docs" / "devices.md").read_text("utf-8")
    (code,) = re.findall(r"^```c\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    model, (X, _) = fitted("Logistic")
    (tmp_path / "gesture.h").write_text(to_c(model, name="gesture"))
    program = compiled(tmp_path, "", code)
    samples = "\n".join(map(str, X.elements(0)[:, 0]))
    done = subprocess.run([program], input=samples, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    stream = model.stream()
    decisions = np.array([stream.push(sample) for sample in X.elements(0)])
    np.testing.assert_allclose([float(p) for _, p in lines], expit(decisions), atol=1e-3)
    labels = [str(model.classes_[int(decision >= 0)]) for decision in decisions]
    assert [label for label, _ in lines] == labels


def test_unfitted_and_damaged_models_are_refused():
    with pytest.raises(ValueError, match="not fitted"):
        to_c(ElasticLogisticRegression())
    X, y = loaded("ItalyPowerDemand", "train")
    model = ElasticPerceptron(**few).fit(X, y)
    model.coef_ = model.coef_.astype(np.float64) * 1e60
    with pytest.raises(ValueError, match="coef_ must fit float32"):
        to_c(model)
    model.coef_ = model.coef_[:, :5]
    with pytest.raises(ValueError, match="coef_ must"):
        to_c(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"numbers": "float16"}, "numbers must be one of"),
        ({"numbers": "int8"}, "limit must be given for fixed point"),
        ({"numbers": "int8", "limit": 0}, "limit must be a number from 1e-15 to 1e"),
        ({"numbers": "int8", "limit": [1, 2]}, r"each of 1 channel\(s\), got \[1, 2\]"),
        ({"numbers": "int8", "limit": "wide"}, "limit must be a number"),
        ({"limit": 3}, "limit must be None for numbers='float32', got 3"),
        ({"name": "2fast"}, "name must be a letter followed by"),
        ({"name": "a-b"}, "name must be a letter followed by"),
        ({"name": "a__b"}, "single underscores.*got 'a__b'"),
        ({"max_bytes": 1000}, "more than max_bytes=1,000: fit with a smaller elasticity"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        to_c(fitted("Logistic")[0], **arguments)


def test_fixed_point_is_for_linear_models():
    with pytest.raises(ValueError, match="numbers must be 'float32' for ElasticMLPClassifier"):
        to_c(fitted("Network")[0], numbers="int8", limit=3)
