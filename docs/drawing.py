"""The page on which visitors draw a series, made when the site is built."""

import numpy as np

from warplearn import ElasticLogisticRegression, datasets
from warplearn.experiments.pages import write_page
from warplearn.experiments.views import view_of

SETS = ("ECG200", "GunPoint")
TEXT = """<p>Draw on the lower plot. The path through the weights, the contributions and the
decision follow. What computes them is the C code that <code>warplearn export</code> writes,
compiled to WebAssembly.</p>"""


def write(path):
    """Write the page, with a model for each set; it needs nothing but itself."""
    views = []
    for name in SETS:
        train, test = (datasets.load(name, part) for part in ("train", "test"))
        model = ElasticLogisticRegression(random_state=0)
        model.fit(train.X.astype(np.float32), train.y)
        views.append(view_of(model, test.X, test.y, name=name, n_series=12))
    return write_page(path, "Draw a series", [TEXT], views)
