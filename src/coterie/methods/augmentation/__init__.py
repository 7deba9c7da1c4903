"""Views of a text: augmentations that should end in the same cluster."""

from coterie.methods.augmentation.base import Augmenter
from coterie.methods.augmentation.run import (
    KINDS,
    VIRTUAL,
    augment,
    make_augmenter,
    read_views,
    reword,
)

__all__ = [
    "KINDS",
    "VIRTUAL",
    "Augmenter",
    "augment",
    "make_augmenter",
    "read_views",
    "reword",
]
