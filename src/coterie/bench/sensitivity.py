"""The suite of sweeps: one parameter at a time, the others as they are."""

from __future__ import annotations

from typing import Any

from coterie.bench.entries import Entry, Suite

# Figures 7 to 9 of AECL: four weights, and the lengths of the first two stages.
AECL_SWEEPS: dict[str, tuple[float, ...]] = {
    "contrast_weight": (0, 5, 10, 15, 20),
    "label_weight": (1, 5, 10, 15),
    "entropy_weight": (0.001, 0.005, 0.01, 0.1),
    "balance_weight": (0.09, 0.18, 0.5, 1, 10),
    "contrast_epochs": (2, 6, 10, 15, 20),
    "label_epochs": (1, 2, 6, 10, 15),
}
ADSL_SWEEPS: dict[str, tuple[float, ...]] = {"sharpness": (1, 2, 5, 10, 20, 50)}  # Figure 4a


def label_of(name: str, value: float) -> str:
    """How an entry of a sweep is called.

    Examples
    --------
    >>> label_of("label_weight", 5)
    'label_weight=5'
    """
    return f"{name}={value:g}"


def _sweep(method: str, sweeps: dict[str, tuple[float, ...]], **more: Any) -> list[Entry]:
    whole = ("contrast_epochs", "label_epochs")
    return [
        Entry(label_of(name, v), method, {name: v if name in whole else float(v)}, **more)
        for name, values in sweeps.items()
        for v in values
    ]


SENSITIVITY = Suite(
    "sensitivity",
    "AECL's Figures 7 to 9 and ADSL's Figure 4: one parameter at a time; wants a GPU",
    (
        *_sweep("aecl", AECL_SWEEPS, views=("eda",), own_views="eda"),
        *_sweep("adsl", ADSL_SWEEPS, datasets=("stackoverflow",)),
    ),
    ("stackoverflow", "searchsnippets", "googlenews-ts", "tweet"),
    3,
)
