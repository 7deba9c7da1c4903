"""What all methods share: parameters, fitting, the start guard, prediction and saving."""

from coterie.base.clusterer import TextClusterer, WeightedClusterer
from coterie.base.core import (
    TrainingContext,
    kmeans_assigner,
    kmeans_labels,
    metric_assigner,
    second_step,
)
from coterie.base.guard import GuardResult
from coterie.base.storage import FORMAT, method_of
from coterie.base.tuned import TunedClusterer

__all__ = [
    "FORMAT",
    "GuardResult",
    "TextClusterer",
    "TrainingContext",
    "TunedClusterer",
    "WeightedClusterer",
    "kmeans_assigner",
    "kmeans_labels",
    "method_of",
    "metric_assigner",
    "second_step",
]
