"""Changes by hand that last: merge, split, rename, move, delete and cut clusters of a run."""

from coterie.runs.editing.edit import Edited, cut, edit, undo
from coterie.runs.editing.parse import Edit, read_edits

__all__ = ["Edit", "Edited", "cut", "edit", "read_edits", "undo"]
