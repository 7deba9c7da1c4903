"""What a run is, apart from what came out: the head of its line, and the key to find it by."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._files import plain
from coterie.bench.entries import Job
from coterie.datasets import PAIRS
from coterie.methods import METHODS

if TYPE_CHECKING:
    from coterie.base import TextClusterer
    from coterie.bench.data import Data

Row = dict[str, Any]
NOISE = 1e-3  # length of the noise over the length of the vector
LEFT_OUT = {"device", "verbose", "checkpoint", "checkpoint_every", "random_state"}
PUBLISHED = {pairs.file for pairs in PAIRS.values()}


def head(job: Job, model: TextClusterer, data: Data) -> Row:
    """The part of a line that is known before the run."""
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k not in LEFT_OUT}
    # A path says where a file lay on one machine; its name is what matters.
    for key in ("encoder", "views"):
        if key in parameters and isinstance(parameters[key], str):
            parameters[key] = Path(parameters[key]).name
    if job.k == "found":
        parameters["n_clusters"] = None  # not known before the run
    return {
        "label": job.entry.label,
        "method": job.entry.method,
        "preset": job.entry.preset,
        "parameters": parameters,
        "views_source": views_source(parameters.get("views")),
        "protocol": "all" if data.train is None else "split",
        "k": job.k,
        "dataset": data.name,
        "dataset_sha256": data.sha256,
        "seed": job.seed,
        **({} if job.draw is None else {"noise": {"size": NOISE, "draw": job.draw}}),
    }


def views_source(views: Any) -> str | None:
    """Whether augmented texts were "published" or are our "own"; None if there are none.

    Examples
    --------
    >>> views_source("tweet.eda.csv"), views_source("eda"), views_source("virtual")
    ('published', 'own', None)
    """
    if views is None or views == "virtual":
        return None
    return "published" if views in PUBLISHED else "own"


def key_of(row: Row) -> str:
    """Two lines with the same key are the same run.

    Parameters at their default are left out: a line from before a parameter existed is the line
    of a run that does not set it.
    """
    usual = _defaults(row["method"])
    given = json.loads(json.dumps(row["parameters"], default=plain))
    found = row.get("k", "given") == "found"
    parameters = {
        k: v
        for k, v in given.items()
        if not (k in usual and usual[k] == v) and not (found and k == "n_clusters")
    }
    parts = {k: row[k] for k in ("label", "method", "preset", "dataset", "dataset_sha256", "seed")}
    parts |= {"protocol": row.get("protocol", "all"), "k": row.get("k", "given")}
    if row.get("noise"):
        parts["noise"] = row["noise"]
    return json.dumps({**parts, "parameters": parameters}, sort_keys=True)


@cache
def _defaults(method: str) -> dict[str, Any]:
    if method not in METHODS:
        return {}
    usual = {f.name: f.default for f in fields(METHODS[method].cls) if f.default is not MISSING}
    kept: dict[str, Any] = json.loads(json.dumps(usual, default=plain))
    return kept
