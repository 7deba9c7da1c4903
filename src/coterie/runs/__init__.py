"""The product as a Python object: ``cluster`` makes a :class:`Run`, ``open_run`` reads one back."""

from coterie.runs.clustering import cluster
from coterie.runs.options import Options
from coterie.runs.run import Run, open_run

__all__ = ["Options", "Run", "cluster", "open_run"]
