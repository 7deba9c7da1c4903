"""What all methods share: parameters, fitting, prediction and saving."""

from coterie.models.clusterer import TextClusterer, WeightedClusterer
from coterie.models.core import kmeans_assigner, metric_assigner, second_step
from coterie.models.storage import FORMAT, method_of

__all__ = [
    "FORMAT",
    "TextClusterer",
    "WeightedClusterer",
    "kmeans_assigner",
    "method_of",
    "metric_assigner",
    "second_step",
]
