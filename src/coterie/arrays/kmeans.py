"""K-means behind one call: scikit-learn on the CPU, torch on the GPU.

The torch version exists for what the other lacks: it stays on the device, is deterministic
there (sums by matrix product, not by atomic additions), and its spherical form keeps centers at
unit length. Clusters that run empty are moved to the points that fit worst.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coterie._util.torch import Tensor, torch
from coterie._util.types import Floats, Ints
from coterie.arrays.neighbors import row_blocks, top_k

Backend = Literal["auto", "sklearn", "torch"]
SEEDED = 5_000, 60  # starts are drawn from so many rows, and at least so many per cluster
FINALISTS = 3  # starts that run on all rows, where the others ran on a part


@dataclass(frozen=True)
class Clustering:
    """Centers, the nearest center of every row, and the weighted sum of squared distances."""

    centers: Floats
    labels: Ints
    inertia: float


@dataclass(frozen=True, kw_only=True)
class KMeans:
    """Lloyd's algorithm from k-means++ starts; the best of ``n_init`` by inertia is returned.

    Parameters
    ----------
    n_clusters : int
    seed : int
    n_init : int, default=10
    max_iter : int, default=300
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the mean variance.
    spherical : bool, default=False
        Work on unit vectors and keep the centers at unit length (cosine similarity).
    backend : {"auto", "sklearn", "torch"}, default="auto"
        "auto" takes torch for data on a GPU and for the spherical form, scikit-learn otherwise.
    """

    n_clusters: int
    seed: int
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-4
    spherical: bool = False
    backend: Backend = "auto"

    def __call__(self, x: Floats | Tensor, weights: Floats | None = None) -> Clustering:
        """Cluster the rows of ``x``, row ``i`` counting ``weights[i]`` times."""
        tensor = torch.as_tensor(x, dtype=torch.float32)
        if self.spherical:
            tensor = torch.nn.functional.normalize(tensor, dim=1)
        backend = self.backend
        if backend == "auto":
            backend = "torch" if self.spherical or tensor.is_cuda else "sklearn"
        weight = None if weights is None else np.asarray(weights, dtype=np.float32)
        if backend == "torch":
            centers = self._torch(tensor, weight)
        else:
            centers = self._sklearn(tensor.cpu().numpy(), weight)
        return _finish(tensor, centers.to(tensor.device), weight)

    def _sklearn(self, x: Floats, weights: Floats | None) -> Tensor:
        """Lloyd's rounds by scikit-learn, from starts found here.

        Its own starts take several times longer: they look at single precision in double. Among
        many rows several starts run on a random part of them, and the best on all.
        """
        tensor = torch.from_numpy(x)
        weight = torch.ones(len(x)) if weights is None else torch.from_numpy(weights)
        generator = torch.Generator().manual_seed(self.seed)
        most = _part_size(self.n_clusters)
        if self.n_init <= FINALISTS or len(x) <= most:
            starts = (
                plus_plus(tensor, weight, self.n_clusters, generator) for _ in range(self.n_init)
            )
            return self._lloyd(x, weights, (start.numpy() for start in starts), 1)[0]
        rows = torch.randperm(len(x), generator=generator)[:most]
        few, heavy = tensor[rows], weight[rows]
        starts = (plus_plus(few, heavy, self.n_clusters, generator) for _ in range(self.n_init))
        part = few.numpy(), None if weights is None else heavy.numpy()
        found = self._lloyd(*part, (start.numpy() for start in starts), FINALISTS)
        return self._lloyd(x, weights, (centers.numpy() for centers in found), 1)[0]

    def _lloyd(
        self, x: Floats, weights: Floats | None, starts: Iterable[Floats], best: int
    ) -> list[Tensor]:
        """Centers after Lloyd's rounds from each start: those of the least inertia, best first."""
        from sklearn.cluster import KMeans as Reference
        from sklearn.exceptions import ConvergenceWarning

        ends = []
        for start in starts:
            model = Reference(
                self.n_clusters, init=start, n_init=1, max_iter=self.max_iter, tol=self.tol
            )
            with warnings.catch_warnings():  # of fewer different rows than clusters
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(x, sample_weight=weights)
            ends.append((float(model.inertia_), model.cluster_centers_))
        ends.sort(key=lambda end: end[0])
        return [self._unit(torch.from_numpy(np.float32(centers))) for _, centers in ends[:best]]

    def _torch(self, x: Tensor, weights: Floats | None) -> Tensor:
        weight = torch.ones(len(x)) if weights is None else torch.from_numpy(weights)
        weight = weight.to(x.device)
        generator = torch.Generator(device=x.device).manual_seed(self.seed)
        mean = (weight @ x) / weight.sum()
        tolerance = self.tol * float((weight @ (x - mean).square()).mean() / weight.sum())
        best, lowest = x[: self.n_clusters], math.inf
        for _ in range(self.n_init):
            centers = self._unit(plus_plus(x, weight, self.n_clusters, generator))
            for _ in range(self.max_iter):
                labels, distances = nearest(x, centers)
                moved = self._unit(_means(x, weight, labels, distances, centers))
                shift = float((moved - centers).square().sum())
                centers = moved
                if shift <= tolerance:
                    break
            inertia = float(weight @ nearest(x, centers)[1])
            if inertia < lowest:
                best, lowest = centers, inertia
        return best

    def _unit(self, centers: Tensor) -> Tensor:
        return torch.nn.functional.normalize(centers, dim=1) if self.spherical else centers


def nearest(x: Tensor, centers: Tensor) -> tuple[Tensor, Tensor]:
    """Index of the nearest center of each row and the squared distance to it."""
    half = centers.square().sum(dim=1) / 2
    labels, scores = top_k(x, 1, centers, bias=-half)
    return labels[:, 0], (x.square().sum(dim=1) - 2 * scores[:, 0]).clamp(min=0)


def _finish(x: Tensor, centers: Tensor, weights: Floats | None) -> Clustering:
    labels, distances = nearest(x, centers)
    weight = 1.0 if weights is None else torch.from_numpy(weights).to(x.device)
    return Clustering(
        centers=centers.cpu().numpy(),
        labels=labels.cpu().numpy(),
        inertia=float((distances * weight).sum()),
    )


def _part_size(k: int) -> int:
    """Rows that starts are drawn from."""
    return max(SEEDED[0], SEEDED[1] * k)


def plus_plus(
    x: Tensor,
    weight: Tensor,
    k: int,
    generator: torch.Generator,
    given: Tensor | None = None,
) -> Tensor:
    """Greedy k-means++: of a few candidates drawn by squared distance keep the best.

    Among many rows it is drawn from a random part of them, drawn anew for every start. Centers
    that are ``given`` are the first of the ``k``.
    """
    trials = 2 + int(math.log(k))
    most = _part_size(k)
    if len(x) > most:
        part = torch.randperm(len(x), generator=generator, device=x.device)[:most]
        x, weight = x[part], weight[part]
    centers = x[:0] if given is None else given
    if not len(centers):
        centers = x[torch.multinomial(weight, 1, generator=generator)]
    squares = x.square().sum(dim=1)
    closest = _to_point(x, squares, centers).min(dim=1).values
    chosen = [centers]
    for _ in range(len(centers), k):
        mass = (closest * weight).clamp(min=1e-20)  # all at zero: any point will do
        candidates = torch.multinomial(mass, trials, replacement=True, generator=generator)
        reduced = torch.minimum(_to_point(x, squares, x[candidates]), closest[:, None])
        pick = (weight @ reduced).argmin()
        closest = reduced[:, pick]
        chosen.append(x[candidates[pick]][None])
    return torch.cat(chosen)


def _to_point(x: Tensor, squares: Tensor, points: Tensor) -> Tensor:
    lengths = squares[:, None] + points.square().sum(dim=1)
    return torch.addmm(lengths, x, points.T, alpha=-2).clamp_(min=0)  # (n, trials)


def _means(x: Tensor, weight: Tensor, labels: Tensor, distances: Tensor, centers: Tensor) -> Tensor:
    """Weighted mean of each cluster; empty ones move to the points farthest from their center."""
    k = len(centers)
    sums = torch.zeros_like(centers)
    sizes = torch.zeros(k, device=x.device)
    for block in row_blocks(len(x), k, x.device):
        member = torch.nn.functional.one_hot(labels[block], k).to(x.dtype) * weight[block, None]
        sums += member.T @ x[block]
        sizes += member.sum(dim=0)
    empty = torch.nonzero(sizes == 0)[:, 0]
    if len(empty):
        far = distances.topk(len(empty)).indices
        sums[empty], sizes[empty] = x[far], 1.0
    return sums / sizes[:, None]
