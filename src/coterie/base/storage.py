"""A fitted model as a folder of safetensors and JSON: readable without running code."""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import coterie
from coterie._errors import DataError, UsageError
from coterie._files import atomic_path, plain, save_arrays, write_json
from coterie._folders import one_state, replace_folder
from coterie._trust import check_folder, damaged, read_json_file
from coterie.base.edited import restore_rule
from coterie.base.guard import Signs, Verdict
from coterie.base.outlying import load_outliers, save_outliers
from coterie.encoders.load import load_saved, saved_settings

if TYPE_CHECKING:
    from coterie.base.clusterer import TextClusterer

FORMAT = 1
NOT_SAVED = {"checkpoint", "verbose"}  # of the run, not of the model
MOST_CLUSTERS = 10_000_000
KINDS: dict[str, Any] = {
    "method": str, "parameters": dict, "encoder": dict, "rule": dict, "n_clusters": int,
    "guard": (dict, type(None)), "fitted": dict,
}  # fmt: skip


def save(model: TextClusterer, folder: Path, *, include_encoder: bool) -> None:
    """Write ``config.json``, ``model.safetensors`` and, if needed, ``encoder/``."""
    encoder = saved_settings(model.encoder_, model.pooling)
    if include_encoder:
        encoder["pointer"] = None
        encoder.get("meaning", {})["pointer"] = None
    config = {
        "format": FORMAT,
        "coterie": coterie.__version__,
        "method": model.name,
        "parameters": {k: v for k, v in _plain_parameters(model).items()},
        "encoder": encoder,
        **_clusters(model),
        "seed": model.seed_,
        "guard": model.guard_.to_dict() if model.guard_ is not None else None,
        "fitted": {name: getattr(model, name) for name in model.keeps},
    }
    if hasattr(model, "n_features_in_"):
        config["n_features_in"] = model.n_features_in_

    def fill(fresh: Path) -> None:
        config["outliers"] = save_outliers(model, fresh)
        write_json(fresh / "config.json", config)
        save_arrays(fresh / "model.safetensors", model.rule_.arrays())
        if encoder.get("pointer") is None:
            model.encoder_.save(fresh / "encoder")
        if include_encoder and hasattr(model.encoder_, "meaning"):
            model.encoder_.meaning.save(fresh / "encoder" / "meaning")

    if folder.exists() and any(folder.iterdir()) and not (folder / "config.json").exists():
        raise UsageError(f"{folder} is not empty and not a saved model; choose another folder.")
    replace_folder(folder, fill)


def save_clusters(model: TextClusterer, folder: Path) -> None:
    """Write what edits change of a saved model, and leave the rest as it lies."""
    config = {**read_config(folder), **_clusters(model)}
    if model.outlier_limit_ is not None:
        config["outliers"] |= {"limit": model.outlier_limit_.to_dict()}
    write_json(folder / "config.json", config)
    with atomic_path(folder / "model.safetensors") as temporary:
        save_arrays(temporary, model.rule_.arrays())


def _clusters(model: TextClusterer) -> dict[str, Any]:
    """The part of the settings that says what the clusters are."""
    return {
        "rule": {"kind": model.rule_.kind, **model.rule_.numbers()},
        "n_clusters": model.n_clusters_,
        "corrections": model.corrections_,
    }


def load(cls: type[TextClusterer], folder: Path) -> TextClusterer:
    """Make an estimator of ``cls`` from a saved folder, which may be anybody's."""

    def read() -> TextClusterer:
        config = read_config(folder)
        check_folder(folder)
        with damaged(folder), torch.random.fork_rng(devices=[]):  # first weights are overwritten
            return _load(cls, folder, config)

    return one_state([folder], read)


def _load(cls: type[TextClusterer], folder: Path, config: dict[str, Any]) -> TextClusterer:
    from safetensors.numpy import load_file

    if config["method"] != cls.name:
        raise UsageError(
            f"{folder} holds a model of the method {config['method']!r}, not {cls.name!r}; "
            "coterie.load reads any."
        )
    known = {f.name for f in fields(cls)} - NOT_SAVED
    model = cls(**{k: v for k, v in config["parameters"].items() if k in known})
    rule = dict(config["rule"])
    arrays = load_file(folder / "model.safetensors")
    model.rule_ = restore_rule(arrays, rule, cls.rules)
    model.corrections_ = {str(k): int(v) for k, v in config.get("corrections", {}).items()}
    model.encoder_ = load_saved(folder / "encoder", config["encoder"])
    model.encoder_.eval()
    model.n_clusters_ = _fitting(config["n_clusters"], arrays, model.encoder_)
    model.seed_ = config["seed"]
    model.guard_ = _verdict(config["guard"])
    load_outliers(model, folder, config.get("outliers"))
    for name in cls.keeps:
        setattr(model, name, config["fitted"][name])
    if "n_features_in" in config:
        model.n_features_in_ = config["n_features_in"]
    return model


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of a saved model; refuse what is none, or of a newer format."""
    path = folder / "config.json"
    if not path.exists():
        raise DataError(f"{folder} is not a saved model: it holds no config.json.")
    config = read_json_file(path)
    if not isinstance(config, dict) or not isinstance(config.get("format"), int):
        raise DataError(f"{path} is not the configuration of a coterie model.")
    for key, kinds in KINDS.items():
        if config["format"] <= FORMAT and not isinstance(config.get(key), kinds):
            raise DataError(f"{path} is not the configuration of a coterie model: {key!r}.")
    if config["format"] > FORMAT:
        raise DataError(
            f"{folder} was written by coterie {config.get('coterie')} in format "
            f"{config['format']}; this version reads up to {FORMAT}: upgrade coterie."
        )
    return config


def _fitting(n_clusters: Any, arrays: dict[str, Any], encoder: Any) -> int:
    """The number of clusters, if centers, and a map before them, are as wide as the rest says."""
    if not 1 <= n_clusters <= MOST_CLUSTERS:
        raise DataError(f"n_clusters={n_clusters} in a saved model is out of all proportion.")
    wide = getattr(encoder, "dim", None)
    for name, says in (("map_weight", 0), ("centers", 1)):  # the axis that the next one has to fit
        array = arrays.get(name)
        if array is None:
            continue
        if array.ndim != 2 or (wide and array.shape[1] != wide):
            raise DataError(f"{name} of shape {array.shape} do not fit vectors of {wide} numbers.")
        wide = array.shape[says]
    return int(n_clusters)


def method_of(folder: Path) -> str:
    """Name of the method of a saved model."""
    return str(read_config(folder)["method"])


def _plain_parameters(model: TextClusterer) -> dict[str, Any]:
    """Parameters that JSON can hold; an encoder object is left out, its vectors are kept."""
    out = {}
    for name, value in model._parameters().items():
        if name in NOT_SAVED:
            continue
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, (str, int, float, bool, type(None), Path)):
            out[name] = value if not isinstance(value, Path) else str(value)
        elif isinstance(value, (list, tuple, dict)):
            try:
                out[name] = json.loads(json.dumps(value, default=plain))
            except (TypeError, ValueError):
                continue
    return copy.deepcopy(out)


def _verdict(saved: dict[str, Any] | None) -> Verdict | None:
    if saved is None:
        return None
    parts = {key: None if saved[key] is None else Signs(**saved[key]) for key in ("start", "final")}
    return Verdict(**{**saved, **parts})
