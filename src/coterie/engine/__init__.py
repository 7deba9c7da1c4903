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
    chosen_optimizations,
    count_trained,
    steps_for,
    usual_steps,
)

__all__ = [
    "OPTIMIZATIONS",
    "Batch",
    "Checkpoint",
    "History",
    "Optimization",
    "Run",
    "Stage",
    "TrainingData",
    "chosen_optimizations",
    "count_trained",
    "steps_for",
    "train",
    "usual_steps",
]
