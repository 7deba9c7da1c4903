"""Texts and tables without personal data: what a run reads is masked before anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._folders import one_state
from coterie._validation import check_kind
from coterie.corpus import Chunk, Corpus, Note
from coterie.corpus.corpus import cell_values, clean_values
from coterie.errors import DataError, UsageError
from coterie.masking import Masker, masked_sentence
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


@dataclass(frozen=True)
class MaskingNote(Note):
    """What was masked, as a note about the data."""

    found: dict[str, int] = field(default_factory=dict)


def masking_note(counts: Counter[str]) -> MaskingNote:
    """How often each kind of personal data was masked."""
    found = dict(sorted(counts.items()))
    return MaskingNote("masked", sum(found.values()), (), masked_sentence(found), found)


def is_masking(note: str) -> bool:
    """Whether a sentence about the data is that of a :class:`MaskingNote`."""
    return note.startswith("Personal data is masked")


def mask_table(
    table: pa.Table, text_column: str, id_column: str | None, masker: Masker
) -> pa.Table:
    """The table without personal data in its columns of texts, but for the ids of the rows."""
    for place, name in enumerate(table.column_names):
        if name == id_column:
            continue
        change = masker.text if name == text_column else masker.cell
        values = cell_values(table.column(place))
        new = [change(value) if isinstance(value, str) else value for value in values]
        if new != values:
            table = table.set_column(place, name, pa.array(new, pa.string()))
    return table


def mask_corpus(corpus: Corpus, masker: Masker) -> Corpus:
    """The corpus without personal data, with a note of what was masked."""
    table = mask_table(corpus.table, corpus.text_column, corpus.id_column, masker)
    texts = clean_values(cell_values(table.column(corpus.text_column)))
    note = masking_note(masker.counts)
    return replace(corpus, table=table, texts=texts, notes=(*corpus.notes, note))


class MaskedStream:
    """The rows of a file or table, in parts and without personal data.

    Each time the rows are gone through, the masker counts anew.
    """

    def __init__(self, stream: Any, masker: Masker) -> None:
        self.stream, self.masker = stream, masker

    @property
    def name(self) -> str:
        """Of the file or table."""
        source = getattr(self.stream, "source", None)
        return str(self.stream.name if source is None else source.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __iter__(self) -> Iterator[Chunk]:
        self.masker.counts.clear()
        for chunk in self.stream:
            column = str(self.stream.text_column)
            table = mask_table(chunk.table, column, self.stream.id_column, self.masker)
            values = cell_values(table.column(column))
            yield Chunk(chunk.first, table, clean_values(values), values)
