"""Corrections by hand that last: merge, split, rename, move and lock clusters of a finished run."""

from coterie.editing.edit import Edited, edit, undo
from coterie.editing.parse import Edit, read_edits

__all__ = ["Edit", "Edited", "edit", "read_edits", "undo"]
