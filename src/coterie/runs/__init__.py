"""The product as a Python object: ``cluster`` makes a :class:`Run`, ``open_run`` reads one back."""

from coterie.options import Options
from coterie.runs.clustering import cluster
from coterie.runs.run import Run, open_run
from coterie.runs.stability import Stability, stability
from coterie.runs.timeline import Timeline, timeline
from coterie.runs.update import Updated, update

# Not imported there: a refit clusters, which makes a Run.
Run._update = staticmethod(update)
Run._stability = staticmethod(stability)
Run._timeline = staticmethod(timeline)

__all__ = [
    "Options",
    "Run",
    "Stability",
    "Timeline",
    "Updated",
    "cluster",
    "open_run",
    "stability",
    "timeline",
    "update",
]
