"""coterie turns a pile of short texts into clusters a person can use.

The names below are imported when first used, so that ``import coterie`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "AECL": "coterie.methods",
    "Auto": "coterie.methods",
    "Autoencoder": "coterie.methods",
    "ADSL": "coterie.methods",
    "DEC": "coterie.methods",
    "DECCRL": "coterie.methods",
    "HACSD": "coterie.methods",
    "IDEC": "coterie.methods",
    "KATE": "coterie.methods",
    "LDA": "coterie.methods",
    "RSTC": "coterie.methods",
    "SCCL": "coterie.methods",
    "STCC": "coterie.methods",
    "SelfTrain": "coterie.methods",
    "ClusterBERT": "coterie.methods",
    "Consensus": "coterie.methods",
    "METHODS": "coterie.methods",
    "TextClusterer": "coterie.base",
    "TextStream": "coterie.corpus",
    "TwoStep": "coterie.methods",
    "VaSCL": "coterie.methods",
    "augment": "coterie.augmentation",
    "broad_themes": "coterie.report",
    "choose_n_clusters": "coterie.choose",
    "compare": "coterie.comparison",
    "describe": "coterie.description",
    "describe_levels": "coterie.hierarchy",
    "describe_model": "coterie.report",
    "export_run": "coterie.exports",
    "edit": "coterie.editing",
    "load": "coterie.methods",
    "load_dataset": "coterie.datasets",
    "make_corpus": "coterie.corpus",
    "make_method": "coterie.methods",
    "mark_outliers": "coterie.outliers",
    "name_clusters": "coterie.naming",
    "nest": "coterie.hierarchy",
    "outlier_scores": "coterie.outliers",
    "read_corpus": "coterie.corpus",
    "report_model": "coterie.report",
    "sample": "coterie.datasets",
    "survey": "coterie.corpus",
    "train_masked_head": "coterie.masked_words",
    "write_report": "coterie.report",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    # A sub-package may share the name of the function in it (describe): fetch the function.
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
