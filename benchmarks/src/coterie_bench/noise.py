"""How much the scores move with the seed, and with vectors that differ by little."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie._util.progress import Progress
from coterie._util.types import Floats, Ints
from coterie.encoders import Encoder
from coterie.models.clusterer import TextClusterer
from coterie_bench.ledger import Row
from coterie_bench.tables import shown


def with_noise(model: TextClusterer, size: float, draw: int) -> Encoder:
    """The encoder of a method, with Gaussian noise on its vectors.

    Parameters
    ----------
    model : TextClusterer
    size : float
        Length of the noise over the length of the vector, in the mean.
    draw : int
        Another number is other noise. Equal vectors get equal noise, so that ``predict`` agrees
        with ``labels_``.
    """
    encoder: Any = TextClusterer._make_encoder(model, 0)
    kind = type(encoder)
    encoder.__class__ = type(f"Noisy{kind.__name__}", (_Noisy, kind), {})
    encoder.noise = (size, draw)
    noisy: Encoder = encoder
    return noisy


class _Noisy(Encoder):
    noise: tuple[float, int]

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        return add_noise(super().encode(items, index, progress=progress), *self.noise)

    def encode_views(
        self, items: Any, weights: Floats, *, progress: Progress | None = None
    ) -> list[Floats]:
        views = super().encode_views(items, weights, progress=progress)  # type: ignore[misc]
        return [add_noise(view, *self.noise) for view in views]


def add_noise(vectors: Floats, size: float, draw: int) -> Floats:
    """Vectors with Gaussian noise of ``size`` times their length; see :func:`with_noise`."""
    out = np.empty_like(vectors)
    for i, vector in enumerate(np.ascontiguousarray(vectors)):
        digest = hashlib.blake2b(vector.tobytes(), digest_size=8, salt=b"%d" % draw).digest()
        noise = np.random.default_rng(int.from_bytes(digest, "little")).standard_normal(len(vector))
        out[i] = vector + noise * (size * np.linalg.norm(vector) / np.sqrt(len(vector)))
    return out


def spread(rows: Sequence[Row], score: str = "nmi") -> float | None:
    """Sample deviation of a score, in per cent; None of fewer than two lines."""
    values = [100 * row["scores"][score] for row in rows]
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def spreads(rows: Sequence[Row]) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """By data set and method: the deviation of NMI over seeds, and over draws of noise."""
    groups: dict[tuple[str, str], tuple[list[Row], list[Row]]] = {}
    for row in rows:
        label = shown({**row, "noise": None})
        groups.setdefault((row["dataset"], label), ([], []))[bool(row.get("noise"))].append(row)
    return {place: (spread(seeds), spread(draws)) for place, (seeds, draws) in groups.items()}


def summarize_stability(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table of the spreads, with their means in the last line."""
    found = spreads(rows)
    datasets = list(dict.fromkeys(dataset for dataset, _ in found))
    labels = list(dict.fromkeys(label for _, label in found))
    body = [
        [name, *(" / ".join(map(_shown, found.get((name, n), (None, None)))) for n in labels)]
        for name in datasets
    ]
    whole = [  # sets with both numbers of all methods
        name
        for name in datasets
        if all(None not in found.get((name, label), (None,)) for label in labels)
    ]
    means = []
    for label in labels if whole else ():
        pairs = np.array([found[name, label] for name in whole], float)
        means.append(" / ".join(map(_shown, pairs.mean(axis=0))))
    return ["", *labels], [*body, [f"mean of {len(whole)} sets", *means]]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
