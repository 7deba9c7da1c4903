"""What a method is told about the texts before it trains."""

from __future__ import annotations

from dataclasses import dataclass

from coterie._types import Ints


@dataclass(frozen=True)
class TrainingContext:
    """What a method may know when it plans its training: never a label.

    Attributes
    ----------
    n : int
        Texts that are not empty.
    n_views : int
        1 if there are no augmentations.
    seed : int
        For random choices between the steps.
    sizes : tuple of int
        Texts in each cluster of the start solution; empty before there is one.
    texts : list of str, optional
        The texts, in the order of ``Batch.index``; None if vectors were passed in.
    rows : ndarray of shape (n,), optional
        Number of each text among the different ones, which the start solution is about.
    """

    n: int
    n_views: int
    seed: int
    sizes: tuple[int, ...] = ()
    texts: list[str] | None = None
    rows: Ints | None = None
