"""The one training loop: stages as data, and all that every method needs around them."""

from coterie.methods.train.checkpoint import Checkpoint
from coterie.methods.train.data import Batch, TrainingData
from coterie.methods.train.history import History
from coterie.methods.train.loop import train
from coterie.methods.train.stage import (
    OPTIMIZATIONS,
    Optimization,
    Run,
    Stage,
    TrainingContext,
    chosen_optimizations,
    count_trained,
    steps_for,
    usual_steps,
)
from coterie.methods.train.trained import TrainedClusterer, kmeans_labels
from coterie.methods.train.tuned import TunedClusterer

__all__ = [
    "OPTIMIZATIONS",
    "Batch",
    "Checkpoint",
    "History",
    "Optimization",
    "Run",
    "Stage",
    "TrainedClusterer",
    "TrainingContext",
    "TrainingData",
    "TunedClusterer",
    "chosen_optimizations",
    "count_trained",
    "kmeans_labels",
    "steps_for",
    "train",
    "usual_steps",
]
