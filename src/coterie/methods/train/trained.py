"""The base of methods that train a network: their parameters, hooks and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie._util.torch import Tensor, nn, torch
from coterie._util.types import Floats, Ints
from coterie._util.validation import NonNegativeFloat, PositiveInt
from coterie.arrays.assign import Assigner
from coterie.methods.train.fitting import TrainedFitting
from coterie.methods.train.history import History
from coterie.methods.train.stage import Optimization, Stage, TrainingContext
from coterie.models.clusterer import TextClusterer, read_guidance
from coterie.models.core import ClustererCore, kmeans_assigner
from coterie.models.fitting import Fitting


class TrainedAttributes:
    """Types of what a fit sets; :class:`TrainedClusterer` describes them."""

    start_labels_: Ints
    trained_labels_: Ints | None
    trained_parameters_: dict[str, int]
    history_: History
    net_: Any


@dataclass(eq=False, repr=False, kw_only=True)
class TrainedClusterer(TrainedAttributes, TextClusterer):
    """A method that trains a network from the start solution on.

    It overrides :meth:`_build_network`, :meth:`_training_stages` and :meth:`_final_assigner`; one
    whose start solution needs training itself, :meth:`_pretraining_stages`.

    Parameters
    ----------
    batch_size : int, default=256
        Texts per training step.
    optimizations : bool or list of str, default=True
        Ways to train faster on a GPU: any of "graphs" (a step is launched at once), "packing"
        (short texts share rows), "fused" (layers in few kernels), "one-pass" (all views at once),
        "fused-adam", "device-tokens", "tf32" (rounder products of heads). True is all of them.
    guard : bool, default=True
        Return the clusters from before training if training collapsed, or moved them away from a
        consensus clustering of the same texts.
    checkpoint : str or Path, optional
        Folder for checkpoints; a fit that finds one there continues it.
    checkpoint_every : float, default=60.0
        Seconds between checkpoints at ends of epochs; there is always one per stage.

    Attributes
    ----------
    start_labels_ : ndarray of shape (n_samples,)
        The clustering before training.
    trained_labels_ : ndarray of shape (n_samples,) or None
        The clustering after training, also where the guard kept the start.
    trained_parameters_ : dict of str to int
        How many numbers of each part of the network were trained; empty if nothing was.
    guard_ : GuardResult or None
        What the start guard saw; None if nothing was trained.
    history_ : History
        Loss terms over the training.
    """

    _fitting: ClassVar[type[Fitting]] = TrainedFitting
    _trains: ClassVar[bool] = True

    batch_size: PositiveInt = 256
    optimizations: bool | Sequence[Optimization] = True
    guard: bool = True
    checkpoint: str | Path | None = None
    checkpoint_every: NonNegativeFloat = 60.0

    def fit(
        self, X: Any, y: Any = None, *, labels: Any = None, themes: Any = None, views: Any = None
    ) -> Self:
        """Cluster the texts ``X``, as :meth:`TextClusterer.fit` does.

        Parameters
        ----------
        X, y, labels, themes : as there
        views : sequence of lists of str, optional
            Augmented texts, row by row; overrides the parameter ``views`` where there is one.
        """
        return self._fit(X, read_guidance(labels, themes), views=views)

    # What a method may override ------------------------------------------------------------

    def _pretraining_stages(self, context: TrainingContext) -> list[Stage]:
        """Training that the start solution needs, such as an autoencoder's."""
        return []

    def _build_pretraining_network(self, encoder: Any, context: TrainingContext) -> nn.Module:
        """The network of :meth:`_pretraining_stages`; its child ``encoder`` is the encoder."""
        raise NotImplementedError(f"{type(self).__name__} has pretraining but no network for it")

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> nn.Module:
        """The network to train; its child ``encoder`` is the encoder, ``start`` an assigner."""
        raise NotImplementedError(f"{type(self).__name__} has stages but no network")

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        """The training; an empty list trains nothing."""
        return []

    def _final_assigner(
        self, net: nn.Module, vectors: Floats, weights: Floats, seed: int
    ) -> Assigner:
        """Cluster the distinct texts after training."""
        return self._initial_assigner(vectors, weights, seed)

    @property
    def kept_start(self) -> bool:
        """Whether the guard returned the start solution instead of the trained one."""
        check_is_fitted(self, "assigner_")
        return self.guard and self.guard_ is not None and self.guard_.fired


def kmeans_labels(
    model: ClustererCore, vectors: Tensor, seed: int, *, spherical: bool = False
) -> Tensor:
    """Labels of k-means on the vectors of all texts, for a stage that learns them."""
    points = vectors.cpu().numpy()
    ones = np.ones(len(points), dtype=np.float32)
    found = kmeans_assigner(model, points, ones, seed, spherical=spherical)
    return torch.from_numpy(found.logits(points).argmax(axis=1))
