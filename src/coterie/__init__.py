"""coterie clusters short texts: tickets, queries, titles, posts, survey answers.

The names below, and the classes of all methods, are imported when first used, so that
``import coterie`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Run": "coterie.runs",
    "METHODS": "coterie.methods",
    "TextClusterer": "coterie.base",
    "TextStream": "coterie.corpus",
    "augment": "coterie.augmentation",
    "broad_themes": "coterie.base",
    "choose_n_clusters": "coterie.choose",
    "cluster": "coterie.runs",
    "compare": "coterie.comparison",
    "describe": "coterie.description",
    "describe_levels": "coterie.hierarchy",
    "export_run": "coterie.exports",
    "edit": "coterie.editing",
    "load": "coterie.methods",
    "make_corpus": "coterie.corpus",
    "make_method": "coterie.methods",
    "mark_outliers": "coterie.outliers",
    "name_clusters": "coterie.naming",
    "nest": "coterie.hierarchy",
    "open_run": "coterie.runs",
    "outlier_scores": "coterie.outliers",
    "read_corpus": "coterie.corpus",
    "sample": "coterie.corpus",
    "survey": "coterie.corpus",
    "train_masked_head": "coterie.masked_words",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        value: object = ["__version__", *sorted({*_PUBLIC, *_methods().CLASSES})]
    elif name in _PUBLIC:
        # A sub-package may share the name of the function in it (describe): fetch the function.
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    elif name[:1].isupper() and name in _methods().CLASSES:
        value = getattr(_methods(), name)
    else:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    globals()[name] = value
    return value


def _methods() -> Any:
    """The package whose registry names the classes of all methods."""
    return importlib.import_module("coterie.methods")


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")
    return names
