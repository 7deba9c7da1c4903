"""What masks the personal data of a run, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coterie._folders import one_state
from coterie._validation import check_kind
from coterie.errors import DataError, UsageError
from coterie.masking import Masker
from coterie.run_files import MANIFEST, read_manifest


def make_masker(names: str | Path | Sequence[str] | Masker | None) -> Masker:
    """A masker with a list of names, or with the lines of a file of them."""
    if isinstance(names, Masker):
        return names
    if isinstance(names, (str, Path)):
        try:
            names = Path(names).read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"`mask_names`: {names} cannot be read as a list of names: {error}"
            ) from error
    for name in names or ():
        check_kind("mask_names", name, str, "names, or a file of them")
    return Masker(names or ())


def masker_of(
    folder: Path, mask: bool | None, names: str | Path | Sequence[str] | Masker | None
) -> Masker | None:
    """What masks new rows of a run; None if nothing is to be masked.

    Rows of a run that was masked are masked, too, unless ``mask`` is False. A run keeps no list
    of names: if it was masked by one, the list has to be given again.

    Parameters
    ----------
    folder : Path
        Of a run, or of a saved model, which was never masked.
    mask : bool, optional
    names : str, Path, sequence of str or Masker, optional
    """
    if mask is False:
        if names is not None:
            raise UsageError(
                "`mask_names`: a list of names masks them; leave it out, or leave out `mask=False`."
            )
        return None
    before = None
    if (folder / MANIFEST).exists():
        before = one_state([folder], lambda: read_manifest(folder))["data"].get("masked")
    if not mask and before is None and names is None:
        return None
    if before is not None and before["by_list"] and names is None:
        raise UsageError(
            f"the names in {folder} were masked by a list: give it again, `mask_names` FILE, so "
            "that the new rows are masked, too."
        )
    return make_masker(names)
