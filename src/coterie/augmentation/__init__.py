"""Views of a text: augmentations that should end in the same cluster."""

from coterie.augmentation.base import Augmenter, Chain
from coterie.augmentation.kinds import KINDS, VIRTUAL, make_augmenter
from coterie.augmentation.run import Augmented, augment, reword
from coterie.augmentation.views import Asked, read_views

__all__ = [
    "KINDS",
    "VIRTUAL",
    "Asked",
    "Augmented",
    "Augmenter",
    "Chain",
    "augment",
    "make_augmenter",
    "read_views",
    "reword",
]
