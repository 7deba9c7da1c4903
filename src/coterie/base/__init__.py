"""What all methods share: parameters, fitting, the start guard, prediction and saving."""

from coterie.base.clusterer import TextClusterer
from coterie.base.facts import TrainingContext
from coterie.base.guard import Verdict
from coterie.base.start import kmeans_assigner, second_step
from coterie.base.storage import FORMAT, method_of
from coterie.base.tuned import TunedClusterer

__all__ = [
    "FORMAT",
    "TextClusterer",
    "TrainingContext",
    "TunedClusterer",
    "Verdict",
    "kmeans_assigner",
    "method_of",
    "second_step",
]
