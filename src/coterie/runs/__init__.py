"""The product as a Python object: a :class:`Run`, which ``open_run`` reads from its folder."""

from coterie.options import ClusterOptions
from coterie.runs.added import Updated
from coterie.runs.measured import Stability
from coterie.runs.run import Run, open_run
from coterie.runs.stability import stability
from coterie.runs.update import update

__all__ = [
    "ClusterOptions",
    "Run",
    "Stability",
    "Updated",
    "open_run",
    "stability",
    "update",
]
