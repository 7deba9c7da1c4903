"""The product as a Python object: ``cluster`` makes a :class:`Run`, ``open_run`` reads one back."""

from coterie.runs.clustering import cluster
from coterie.runs.options import Options
from coterie.runs.run import Run, open_run
from coterie.runs.update import Updated, update

Run._update = staticmethod(update)  # not imported there: a refit clusters, which makes a Run

__all__ = ["Options", "Run", "Updated", "cluster", "open_run", "update"]
