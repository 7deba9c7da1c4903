"""A fitted model as a folder of safetensors and JSON: readable without running code."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from coterie import __version__
from coterie._util.files import plain, save_arrays, write_json
from coterie._util.folders import held, one_state, replace_folder
from coterie._util.torch import torch
from coterie._util.trust import (
    LARGE,
    check_model_files,
    check_shape,
    damaged,
    file_facts,
    is_count,
    list_files,
    read_arrays,
    read_json,
)
from coterie.encoders import load_saved
from coterie.errors import DataError, UsageError
from coterie.models.edited import EditedAssigner, check_labels, restore_assigner
from coterie.models.guarded import GuardResult
from coterie.models.outliers import FILE as OUTLIERS_FILE
from coterie.models.outliers import SHAPE as OUTLIERS
from coterie.models.outliers import OutlierMixin, load_outliers, save_outliers

Model = TypeVar("Model", bound=OutlierMixin)
FORMAT = 1
NOT_SAVED = {"checkpoint", "verbose"}  # of the run, not of the model
MOST_CLUSTERS = 10_000_000
SHAPE: dict[str, Any] = {
    "method": str,
    "parameters": dict,
    "rule": {"kind": str},
    "n_clusters": is_count,
    "seed": int,
    "guard?": dict,
    "fitted": dict,
    "corrections?": {str: is_count},
    "classes?": [str],
    "files": {str: {"bytes": is_count, "sha256": str}},
    "outliers": OUTLIERS,
}
HIGHEST = 10_000  # number of a cluster, or a hundred times as many as there are
WIDEST = 1 << 20  # numbers in a vector


def save(model: OutlierMixin, folder: Path, *, include_encoder: bool) -> None:
    """Write ``config.json``, ``model.safetensors`` and ``encoder/``."""
    config = {
        "format": FORMAT,
        "coterie": __version__,
        "method": model.name,
        "parameters": _plain_parameters(model),
        **_clusters(model),
        **({"classes": list(model.classes_)} if model.classes_ else {}),
        "seed": model.seed_,
        "guard": model.guard_.to_dict() if model.guard_ is not None else None,
        "fitted": {name: getattr(model, name) for name in model._saved_attributes},
    }
    if hasattr(model, "n_features_in_"):
        config["n_features_in"] = model.n_features_in_

    def fill(fresh: Path) -> None:
        config["outliers"] = save_outliers(model, fresh)
        save_arrays(fresh / "model.safetensors", model.assigner_.arrays())
        model.encoder_.save(fresh / "encoder", whole=include_encoder)
        config["files"] = list_files(fresh)
        write_json(fresh / "config.json", config)

    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"`folder={str(folder)!r}` is a file; a run needs a folder.")
    if folder.exists() and any(folder.iterdir()) and not (folder / "config.json").exists():
        raise UsageError(f"{folder} is not empty and not a saved model; choose another folder.")
    with held(folder):
        replace_folder(folder, fill)


def save_clusters(model: OutlierMixin, folder: Path, *, outliers: bool = False) -> None:
    """Write what edits change in a saved model, and leave the rest.

    ``outliers`` says whether the texts have changed that outlier scores are measured by.
    """
    config = {**read_config(folder), **_clusters(model)}
    changed = ["model.safetensors"]
    if outliers:
        config["outliers"] = save_outliers(model, folder)
        changed.append(OUTLIERS_FILE)
    elif model.outlier_limit_ is not None:
        config["outliers"] |= {"limit": model.outlier_limit_.to_dict()}
    save_arrays(folder / "model.safetensors", model.assigner_.arrays())
    config["files"] |= {name: file_facts(folder / name) for name in changed}
    write_json(folder / "config.json", config)


def _clusters(model: OutlierMixin) -> dict[str, Any]:
    """The settings of the clusters."""
    return {
        "rule": {"kind": model.assigner_.kind, **model.assigner_.numbers()},
        "n_clusters": model.n_clusters_,
        "corrections": model.corrections_,
    }


def load(cls: type[Model], folder: Path) -> Model:
    """Make an estimator of ``cls`` from a saved folder, which may be anybody's."""

    def read() -> Model:
        config = read_config(folder)
        check_model_files(folder, config["files"])
        with damaged(folder), torch.random.fork_rng(devices=[]):  # first weights are overwritten
            return _load(cls, folder, config)

    return one_state([folder], read)


def _load(cls: type[Model], folder: Path, config: dict[str, Any]) -> Model:
    if config["method"] != cls.name:
        raise UsageError(
            f"{folder} holds a model of the method {config['method']!r}, not {cls.name!r}; "
            "coterie.load reads any."
        )
    known = {f.name for f in fields(cls)} - NOT_SAVED
    saved = config["parameters"]
    model = cls(**{name: value for name, value in saved.items() if name in known})
    assigner = dict(config["rule"])
    arrays = read_arrays(folder / "model.safetensors")
    check_labels(arrays, assigner, config["n_clusters"])
    model.assigner_ = restore_assigner(arrays, assigner, cls._assigners)
    model.corrections_ = dict(config.get("corrections", {}))
    model.classes_, model.empty_classes_ = tuple(config.get("classes", ())), ()
    model.encoder_ = load_saved(folder / "encoder")
    model.encoder_.eval()
    model.n_clusters_ = config["n_clusters"]
    _check_fit(model)
    model.seed_ = config["seed"]
    model.guard_ = config.get("guard") and GuardResult.from_dict(config["guard"])
    load_outliers(model, folder, config["outliers"])
    for name in cls._saved_attributes:
        setattr(model, name, config["fitted"][name])
    if "n_features_in" in config:
        model.n_features_in_ = config["n_features_in"]
    return model


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of a saved model; refuse what is none, or of another format."""
    path = folder / "config.json"
    if not path.exists():
        raise DataError(f"{folder} is not a saved model: it has no config.json.")
    config: dict[str, Any] = check_shape(read_json(path, LARGE), {"format": is_count}, str(path))
    if config["format"] != FORMAT:
        raise DataError(
            f"{folder} was written by coterie {config.get('coterie')} in format "
            f"{config['format']}; this version reads format {FORMAT}. Fit the model again, or use "
            "that version."
        )
    check_shape(config, SHAPE, str(path))
    return config


def _check_fit(model: OutlierMixin) -> None:
    """Refuse a model whose parts do not fit together, or give no numbers."""
    assigner, k, dim = model.assigner_, model.n_clusters_, model.encoder_.dim
    numbers: Collection[int] = range(k)
    finest, highest = numbers, k - 1
    if isinstance(assigner, EditedAssigner):
        numbers, finest = set(assigner.clusters), set(assigner.leaves)
        highest = max([*numbers, *finest])
    most = max(HIGHEST, 100 * len(finest))
    if not 1 <= k <= MOST_CLUSTERS or len(numbers) != k or highest > most:
        raise DataError(f"n_clusters={k} and clusters up to {highest} do not fit together.")
    if strange := [c for c in model.corrections_.values() if c not in finest]:
        raise DataError(f"a correction assigns cluster {strange[0]}, which does not exist.")
    if not 1 <= dim <= WIDEST:
        raise DataError(f"vectors of {dim} numbers are too wide for a model.")
    with np.errstate(all="ignore"):
        found = assigner.logits(np.zeros((1, dim), dtype=np.float32))
    if found.shape[1] <= max(numbers) or not np.isfinite(found[:, sorted(numbers)]).all():
        raise DataError(f"the model has no {k} clusters in vectors of {dim} numbers.")


def method_of(folder: Path) -> str:
    """Name of the method of a saved model."""
    return str(read_config(folder)["method"])


def _plain_parameters(model: OutlierMixin) -> dict[str, Any]:
    """Parameters that JSON can hold; an encoder object is left out, its vectors are kept."""
    kinds = (str, int, float, type(None), Path, np.generic, list, tuple, dict)
    return {
        name: json.loads(json.dumps(value, default=plain, skipkeys=True))
        for name, value in model._parameters().items()
        if name not in NOT_SAVED and isinstance(value, kinds)
    }
