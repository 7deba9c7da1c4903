"""What all methods share: parameters, fitting, the start guard, prediction and saving."""

from coterie.base.clusterer import TextClusterer
from coterie.base.coded import CodedClusterer
from coterie.base.facts import Facts
from coterie.base.guard import Verdict
from coterie.base.sharpened import SharpenedClusterer
from coterie.base.start import kmeans_rule, second_step
from coterie.base.storage import FORMAT, method_of
from coterie.base.tuned import TunedClusterer

__all__ = [
    "FORMAT",
    "CodedClusterer",
    "Facts",
    "SharpenedClusterer",
    "TextClusterer",
    "TunedClusterer",
    "Verdict",
    "kmeans_rule",
    "method_of",
    "second_step",
]
