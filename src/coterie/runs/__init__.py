"""The product as a Python object: ``cluster`` makes a :class:`Run`, ``open_run`` reads one back."""

from coterie.measured import Stability, Timeline
from coterie.options import Options
from coterie.runs.run import Run, cluster, open_run
from coterie.runs.stability import stability
from coterie.runs.timeline import timeline
from coterie.runs.update import Updated, update

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
