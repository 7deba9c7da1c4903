"""What a cluster is about: its words, a name and examples; never sees a model."""

from coterie.description.cluster import Cluster, describe
from coterie.description.words import tokens

__all__ = ["Cluster", "describe", "tokens"]
