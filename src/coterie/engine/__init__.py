"""The one training loop: stages as data, and all that every method needs around them."""

from coterie.engine.checkpoint import Checkpoint
from coterie.engine.data import Batch, TrainingData
from coterie.engine.history import History
from coterie.engine.loop import train
from coterie.engine.stage import (
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
from coterie.engine.trained import TrainedClusterer, kmeans_labels
from coterie.engine.tuned import TunedClusterer

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
