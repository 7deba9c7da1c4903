"""Views of a text: other wordings that should end in the same cluster."""

from coterie.augment.views import VIRTUAL, read_views

__all__ = ["VIRTUAL", "read_views"]
