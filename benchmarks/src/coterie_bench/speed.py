"""The suite of training speed: what each optimization brings, and how long a step takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.engine import OPTIMIZATIONS
from coterie_bench.entries import Entry, Suite

WARM = 3  # readings of a stage that do not count: recording, caches, first batches

VARIANTS: dict[str, dict[str, Any]] = {
    "all shortcuts": {},
    **{
        f"without {name}": {"optimizations": [s for s in OPTIMIZATIONS if s != name]}
        for name in OPTIMIZATIONS
    },
    "float32": {"precision": "float32"},
    "without any": {"optimizations": False},
    "without any, float32": {"optimizations": False, "precision": "float32"},
}
TRAINED = (  # views as published, batches of 400, length 32: the settings of the authors' loops
    ("SCCL", "sccl", {"steps": 200}, ("contextual10",)),
    ("AECL", "aecl", {"epochs": 5, "contrast_epochs": 1, "label_epochs": 1}, ("eda",)),
)

SPEED = Suite(
    "speed",
    "milliseconds of a training step, with and without each optimization; wants a GPU of its own",
    (
        *(
            Entry(f"{label}, {variant}", method, {**parameters, **more}, views=views)
            for label, method, parameters, views in TRAINED
            for variant, more in VARIANTS.items()
        ),
        Entry("SCCL, whole run", "sccl", {"steps": 1000}, views=("contextual10",)),
    ),
    ("stackoverflow",),
    1,
)

SAME = Suite(
    "same-labels",
    "the fast path beside the plain one in float32: do they score alike? wants a GPU",
    tuple(
        Entry(f"{label}, {path}", method, {**length, **parameters}, views=views)
        for label, method, views, length in (
            ("SCCL", "sccl", ("contextual10",), {"steps": 300}),
            ("AECL", "aecl", ("eda",), {}),
        )
        for path, parameters in (
            ("fast", {}),
            ("plain float32", {"optimizations": False, "precision": "float32"}),
        )
    ),
    ("tweet",),
    5,
)


def step_ms(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Milliseconds of a step in each stage, between the fourth reading of the loss and the last.

    The host waits for the device at every reading, so the times are those of finished work.

    Parameters
    ----------
    rows : sequence of dict
        Of a training history.

    Returns
    -------
    dict of str to float
        Without stages that are too short to tell.

    Examples
    --------
    >>> rows = [{"stage": "a", "step": s, "seconds": 1 + s / 100, "terms": {}}
    ...         for s in (10, 20, 30, 40, 50)]
    >>> step_ms(rows)
    {'a': 10.0}
    """
    stages: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if "terms" in row:
            stages.setdefault(row["stage"], []).append(row)
    found = {}
    for name, read in stages.items():
        if len(read) > WARM + 1:
            first, last = read[WARM], read[-1]
            took, steps = last["seconds"] - first["seconds"], last["step"] - first["step"]
            found[name] = round(1000 * took / steps, 3)
    return found


def summarize_speed(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: milliseconds of a step in the longest stage, whole run, NMI."""
    body = []
    for row in rows:
        stages = row.get("step_ms") or {}
        step = f"{list(stages.values())[-1]:.1f}" if stages else ""
        whole = f"{sum(row['seconds'].values()):.0f}"
        body.append(
            [row["label"], row["dataset"], step, whole, f"{100 * row['scores']['nmi']:.1f}"]
        )
    return ["", "data set", "ms per step", "seconds in all", "NMI"], body
