"""coterie clusters short texts: tickets, queries, titles, posts, survey answers.

The names below, and the classes of all methods, are imported when first used, so that
``import coterie`` costs nothing. ``__init__.pyi`` says the same to type checkers and editors.
"""

import importlib
import os

__version__ = "0.1.0"

# Threads of OpenMP that wait for each other burn their core by default. On a machine with other
# work they keep from it the very thread they wait for, and small products take many times longer.
# OpenMP reads that they are to sleep instead when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# onnxruntime would write a device id into the user's cache and look up a host of its maker. It
# reads this when it is imported; whoever wants to take part sets the variable to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_PUBLIC = {
    "CoterieError": "coterie.errors",
    "METHODS": "coterie.models.registry",
    "Run": "coterie.runs",
    "TextClusterer": "coterie.models.clusterer",
    "augment": "coterie.methods.augmentation",
    "choose_n_clusters": "coterie.models.choose",
    "cluster": "coterie.runs.fit",
    "compare": "coterie.runs.comparison",
    "compare_clusters": "coterie.runs.comparison",
    "cut": "coterie.runs.editing",
    "describe_clusters": "coterie.describe",
    "edit": "coterie.runs.editing",
    "export_run": "coterie.runs.exports",
    "load": "coterie.models.registry",
    "make_method": "coterie.models.registry",
    "mark_outliers": "coterie.arrays.outliers",
    "mask": "coterie.texts.masking",
    "name_clusters": "coterie.describe.naming",
    "open_run": "coterie.runs",
    "outlier_scores": "coterie.arrays.outliers",
    "read_corpus": "coterie.texts",
    "sample": "coterie.texts",
    "split_sentences": "coterie.texts.sentences",
}


def __getattr__(name):  # noqa: ANN001, ANN202 - typed in __init__.pyi
    if name == "__all__":
        value = ["__version__", *sorted({*_PUBLIC, *_methods().CLASSES})]
    elif name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    elif name[:1].isupper() and name in _methods().CLASSES:
        value = _methods().CLASSES[name].cls
    else:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    globals()[name] = value
    return value


def _methods():  # noqa: ANN202
    """The package whose registry names the classes of all methods."""
    return importlib.import_module("coterie.models.registry")


def __dir__():  # noqa: ANN202
    return __getattr__("__all__")
