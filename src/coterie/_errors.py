"""The former place of :mod:`coterie.errors`."""

from coterie.errors import NOTHING, CoterieError, DataError, MissingError, TrainingError, UsageError
from coterie.errors import param as param

__all__ = ["NOTHING", "CoterieError", "DataError", "MissingError", "TrainingError", "UsageError"]
