"""Model files that are hostile: what is wrong with them, by name.

`test_persistence.py` refuses each, and `fuzz/corpus.py` makes a larger corpus of them.
"""

import io
import json
import struct
import zipfile

import numpy as np


def parts(path):
    """The text and the other entries of a file."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(entries.pop("model.json")), entries


def write(path, text, entries, *, method=zipfile.ZIP_STORED):
    """A zip file of entries, a dict or a list of pairs."""
    with zipfile.ZipFile(path, "w", method) as archive:
        if text is not None:
            given = text if isinstance(text, (str, bytes)) else json.dumps(text)
            archive.writestr("model.json", given)
        for name, content in entries.items() if isinstance(entries, dict) else entries:
            archive.writestr(name, content)
    return path


def npy(array, **options):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asarray(array), **options)
    return content.getvalue()


def header(text, version=b"\x01\x00"):
    """A .npy file with a header of one's own and no data."""
    given = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(given)) + given


# Each takes the text, the entries and changes them.
STRUCTURE = {
    "climbing": lambda t, e: e.update({"../evil.npy": b""}),
    "absolute": lambda t, e: e.update({"/tmp/evil.npy": b""}),
    "drive": lambda t, e: e.update({"C:\\evil.npy": b""}),
    "folder": lambda t, e: e.update({"a/": b""}),
    "zero in name": lambda t, e: e.update({"0.npy\0x": b""}),
    "further": lambda t, e: e.update({"99.npy": npy([1.0])}),
    "leading zero": lambda t, e: e.update({"00.npy": npy([1.0])}),
    "code": lambda t, e: e.update({"evil.py": b"print(1)"}),
    "missing": lambda t, e: e.pop("0.npy"),
    "swapped": lambda t, e: e.update({"0.npy": e["1.npy"], "1.npy": e["0.npy"]}),
    "no format": lambda t, e: t.pop("format"),
    "format": lambda t, e: t.update(format="skops"),
    "version 0": lambda t, e: t.update(version=0),
    "version 2": lambda t, e: t.update(version=2),
    "version true": lambda t, e: t.update(version=True),
    "version text": lambda t, e: t.update(version="1"),
    "no model": lambda t, e: t.pop("model"),
    "model null": lambda t, e: t.update(model=None),
    "model list": lambda t, e: t.update(model=[t["model"]]),
    "key": lambda t, e: t.update(imports=["os"]),
    "no arrays": lambda t, e: t.update(arrays=[]),
    "arrays text": lambda t, e: t.update(arrays="0.npy"),
    "array twice": lambda t, e: t["arrays"].append(t["arrays"][0]),
    "unused": lambda t, e: (t["arrays"].append(t["arrays"][0]), e.update({f"{len(e)}.npy": e["0.npy"]})),
    "dtype O": lambda t, e: t["arrays"][0].update(dtype="|O"),
    "dtype V": lambda t, e: t["arrays"][0].update(dtype="|V8"),
    "dtype M": lambda t, e: t["arrays"][0].update(dtype="<M8[s]"),
    "dtype S": lambda t, e: t["arrays"][0].update(dtype="|S8"),
    "dtype U0": lambda t, e: t["arrays"][0].update(dtype="<U0", shape=[10**12]),
    "dtype fields": lambda t, e: t["arrays"][0].update(dtype=[["a", "<f8"]]),
    "dtype name": lambda t, e: t["arrays"][0].update(dtype="float64"),
    "dtype comma": lambda t, e: t["arrays"][0].update(dtype="<f8,<f8"),
    "shape huge": lambda t, e: t["arrays"][0].update(shape=[10**9, 10**9]),
    "shape overflow": lambda t, e: t["arrays"][0].update(shape=[2**32, 2**32]),
    "shape negative": lambda t, e: t["arrays"][0].update(shape=[-1]),
    "shape float": lambda t, e: t["arrays"][0].update(shape=[1.0]),
    "shape true": lambda t, e: t["arrays"][0].update(shape=[True]),
    "shape deep": lambda t, e: t["arrays"][0].update(shape=[1] * 60),
    "shape text": lambda t, e: t["arrays"][0].update(shape="1"),
    "fortran": lambda t, e: t["arrays"][0].update(fortran=1),
    "npy pickle": lambda t, e: e.update({"0.npy": npy(np.array([print], object), allow_pickle=True)}),
    "npy empty": lambda t, e: e.update({"0.npy": b""}),
    "npy cut": lambda t, e: e.update({"0.npy": e["0.npy"][:-1]}),
    "npy longer": lambda t, e: e.update({"0.npy": e["0.npy"] + b"\0"}),
    "npy version": lambda t, e: e.update({"0.npy": npy(np.zeros(2), version=(2, 0))}),
    "npy code": lambda t, e: e.update({"0.npy": header("__import__('os').system('touch evil')")}),
    "npy deep": lambda t, e: e.update({"0.npy": header("(" * 100)}),
    "npy huge": lambda t, e: e.update(
        {"0.npy": header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**12,), }")}
    ),
}  # fmt: skip


def model_of(text):
    return text["model"]


def fields(text):
    return text["model"]["attributes"]["_context"]["fields"]


def deep(levels):
    node = 1
    for _ in range(levels):
        node = [node]
    return node


CALLABLES = ["os.system", "subprocess.Popen", "builtins.eval", "warplearn.cli.studies.subprocess",
             "ElasticLogisticRegression.fit", "LogisticRegression", "../ElasticMean", "", "__class__"]  # fmt: skip
CONTENT = {
    **{f"estimator {name}": lambda t, name=name: model_of(t).update(name=name) for name in CALLABLES},
    "estimator null": lambda t: model_of(t).update(name=None),
    "estimator list": lambda t: model_of(t).update(name=["ElasticMean"]),
    "other estimator": lambda t: model_of(t).update(name="ElasticKMeans"),
    "unknown parameter": lambda t: model_of(t)["parameters"].update(shell=True),
    "parameters list": lambda t: model_of(t).update(parameters=[]),
    "self": lambda t: model_of(t)["parameters"].update(self=1),
    **{
        f"attribute {name}": lambda t, name=name: model_of(t)["attributes"].update({name: 1})
        for name in ("__class__", "__dict__", "predict", "_operands", "matrices_", "polarity_", "x",
                     "_check_state", "coef_.x", "a b_", "", "__reduce__", "_abc_impl", "ä_", "get_params")
    },
    "no coef_": lambda t: model_of(t)["attributes"].pop("coef_"),
    "no intercept_": lambda t: model_of(t)["attributes"].pop("intercept_"),
    "no classes_": lambda t: model_of(t)["attributes"].pop("classes_"),
    "no context": lambda t: model_of(t)["attributes"].pop("_context"),
    "no channels": lambda t: model_of(t)["attributes"].pop("n_channels_in_"),
    "coef_ number": lambda t: model_of(t)["attributes"].update(coef_=1.0),
    "coef_ list": lambda t: model_of(t)["attributes"].update(coef_=[[1.0]]),
    "coef_ of another": lambda t: model_of(t)["attributes"].update(
        coef_=model_of(t)["attributes"]["intercept_"]
    ),
    "channels 10**9": lambda t: model_of(t)["attributes"].update(n_channels_in_=10**9),
    "channels -1": lambda t: model_of(t)["attributes"].update(n_channels_in_=-1),
    "length -1": lambda t: model_of(t)["attributes"].update(n_features_in_=-1),
    "length 10**9": lambda t: model_of(t)["attributes"].update(n_features_in_=10**9),
    "length true": lambda t: model_of(t)["attributes"].update(n_features_in_=True),
    "length text": lambda t: model_of(t)["attributes"].update(n_features_in_="9"),
    "epochs": lambda t: model_of(t)["attributes"].update(t_=-5),
    "states": lambda t: model_of(t)["attributes"].update(_states=[None] * 7),
    "states none": lambda t: model_of(t)["attributes"].update(_states=None),
    "unknown type": lambda t: model_of(t)["attributes"].update(a_={"type": "function", "name": "f"}),
    "method": lambda t: model_of(t)["attributes"].update(
        a_={"type": "method", "obj": {"type": "array", "index": 0}, "func": "tofile"}
    ),
    "no type": lambda t: model_of(t)["attributes"].update(a_={"a": 1}),
    "type list": lambda t: model_of(t)["attributes"].update(a_={"type": ["record"]}),
    "record": lambda t: model_of(t)["attributes"].update(
        a_={"type": "record", "name": "subprocess.Popen", "fields": {}}
    ),
    "record list": lambda t: model_of(t)["attributes"].update(
        a_={"type": "record", "name": ["Polarity"], "fields": {}}
    ),
    "cost": lambda t: model_of(t)["parameters"].update(
        band={"type": "cost", "name": "Traits", "fields": {}}
    ),
    "cost field": lambda t: model_of(t)["parameters"].update(
        band={"type": "cost", "name": "Gaussian", "fields": {"gamma": "x"}}
    ),
    "cost fields": lambda t: model_of(t)["parameters"].update(
        band={"type": "cost", "name": "Gaussian", "fields": {"delta": 1}}
    ),
    "index": lambda t: model_of(t)["attributes"]["coef_"].update(index=10**6),
    "index negative": lambda t: model_of(t)["attributes"]["coef_"].update(index=-1),
    "index text": lambda t: model_of(t)["attributes"]["coef_"].update(index="../0"),
    "index key": lambda t: model_of(t)["attributes"]["coef_"].update(path="/etc/passwd"),
    "array often": lambda t: model_of(t)["attributes"].update(
        a_=[model_of(t)["attributes"]["coef_"]] * 1000
    ),
    "classes 10**9": lambda t: fields(t)["readout"]["fields"].update(n_classes=10**9),
    "classes -1": lambda t: fields(t)["readout"]["fields"].update(n_classes=-1),
    "matrices": lambda t: fields(t)["readout"]["fields"].update(n_matrices=10**9),
    "matrices 1": lambda t: fields(t)["readout"]["fields"].update(n_matrices=1),
    "sign": lambda t: fields(t)["readout"]["fields"].update(sign=7),
    "sign text": lambda t: fields(t)["readout"]["fields"].update(sign="-"),
    "context channels": lambda t: fields(t).update(n_channels=0),
    "context readout": lambda t: fields(t).update(readout=1),
    "context scales": lambda t: fields(t).update(scales=[1, 2]),
    "context more": lambda t: fields(t).update(more=1),
    "random place": lambda t: model_of(t)["attributes"]["_rng"].update(place=10**6),
    "random key": lambda t: model_of(t)["attributes"]["_rng"].update(
        key=model_of(t)["attributes"]["coef_"]
    ),
    "random gauss": lambda t: model_of(t)["attributes"]["_rng"].update(gauss="x"),
    "alphabet of many": lambda t: model_of(t)["parameters"].update(
        alphabet={"type": "alphabet", "symbols": list(range(50_000)), "encoding": "onehot"}
    ),
    "alphabet twice": lambda t: model_of(t)["parameters"].update(
        alphabet={"type": "alphabet", "symbols": ["a", "a"], "encoding": "codes"}
    ),
    "alphabet list": lambda t: model_of(t)["parameters"].update(
        alphabet={"type": "alphabet", "symbols": [["a"]], "encoding": "codes"}
    ),
    "scalar": lambda t: model_of(t)["attributes"].update(
        a_={"type": "scalar", "dtype": "|O", "value": 1}
    ),
    "scalar overflow": lambda t: model_of(t)["attributes"].update(
        a_={"type": "scalar", "dtype": "|i1", "value": 1000}
    ),
    "scalar U": lambda t: model_of(t)["attributes"].update(
        a_={"type": "scalar", "dtype": "<U999999", "value": "a"}
    ),
    "float": lambda t: model_of(t)["attributes"].update(a_={"type": "float", "value": "1"}),
    "dict key": lambda t: model_of(t)["attributes"].update(
        a_={"type": "dict", "items": [[[1], 1]]}
    ),
    "dict pair": lambda t: model_of(t)["attributes"].update(a_={"type": "dict", "items": [[1]]}),
    "dict twice": lambda t: model_of(t)["attributes"].update(
        a_={"type": "dict", "items": [["a", 1], ["a", 2]]}
    ),
    "texts": lambda t: model_of(t)["attributes"].update(a_={"type": "texts", "items": [1]}),
    "masked": lambda t: model_of(t)["attributes"].update(
        a_={"type": "masked", "data": [1], "mask": [True]}
    ),
    "deep": lambda t: model_of(t)["attributes"].update(a_=deep(60)),
    "models in models": lambda t: model_of(t)["parameters"].update(
        band={"type": "estimator", "name": "open", "parameters": {}, "attributes": {}}
    ),
}  # fmt: skip


TEXTS = {
    "empty": "",
    "list": "[]",
    "number": "1",
    "not utf-8": b"\xff\xfe",
    "nan": '{"format": NaN}',
    "twice": '{"format": "warplearn model", "format": "warplearn model"}',
    "deep": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "many": "[" + "0," * 600_000 + "0]",
    "long number": "9" * 100_000,
    "cut": '{"format": "warplearn model", "version": 1',
}
