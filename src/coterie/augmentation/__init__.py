"""Views of a text: augmentations that should end in the same cluster."""

from coterie.augmentation.base import Augmenter, Chain
from coterie.augmentation.run import (
    KINDS,
    VIRTUAL,
    Augmented,
    augment,
    make_augmenter,
    read_views,
    reword,
)

__all__ = [
    "KINDS",
    "VIRTUAL",
    "Augmented",
    "Augmenter",
    "Chain",
    "augment",
    "make_augmenter",
    "read_views",
    "reword",
]
