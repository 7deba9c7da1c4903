"""New rows in a finished run: old rows stay where they are, new ones join, or are new clusters.

The table of the run grows at its end. A ridge classifier learns the clusters of all rows and
assigns later texts; a text that it would put elsewhere than the table does is bound to its cluster.
Merges, splits, moves, names and locks stay, as they are in the rows, the names and the bound texts.

The change is kept for an undo, as edits are. A killed update leaves the run as it was; the command
again finds the vectors of the texts in the cache.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from coterie._torch import need_torch
from coterie._trust import damaged
from coterie._types import Bools, Floats, Ints
from coterie._validation import check_choice, checked
from coterie.base.edited import EditedAssigner, correct, fingerprint
from coterie.blocks.assign import LinearAssigner, probabilities
from coterie.blocks.graph import principal_directions
from coterie.blocks.ridge import RidgeClassifier
from coterie.clustering import Clustering, as_said, describe_rows, opened, read, save
from coterie.corpus import Corpus, make_corpus
from coterie.corpus.corpus import build, cell_values, check_column, value_to_text
from coterie.corpus.read import ReadOptions, read_table
from coterie.corpus.sentences import split_corpus
from coterie.corpus.write import result_kind
from coterie.description import Cluster, describe_nodes, names_by_number, text_order
from coterie.drift import Drift, find_drift
from coterie.editing.apply import Draft
from coterie.errors import DataError, UsageError, counted
from coterie.hierarchy import Hierarchy
from coterie.masking import Masker, masked_sentence
from coterie.novelty import THEME_TEXTS, Placement, n_components, place_new
from coterie.options import Options
from coterie.outliers import choose_rows
from coterie.report.folder import make_map
from coterie.report.html import write_changes
from coterie.run_files import result_columns, with_types
from coterie.runs.folder import now
from coterie.runs.guide import kept_guidance
from coterie.runs.masked import masker_of
from coterie.tree import Tree, TreeRows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from coterie.comparison import Comparison

COMPARED = 20_000  # old texts, and as many new ones, that are compared with each other
FITS = 3  # of the classifier, after the first to its own predictions
DIGITS = 3  # to which the vectors of texts agree that the encoder cannot tell apart


@dataclass(frozen=True)
class Updated:
    """What an update did to a run, or would do.

    Attributes
    ----------
    run : Path
    number : int
        Of the update, counted from 1; 0 if the run had these rows already.
    rows : int
        Rows that were added.
    moved : int
        Old rows that are in another cluster than before: none, except after a refit.
    new : tuple of Cluster
        The clusters that are new.
    drift : Drift or None
        How the new texts differ from the old ones; None after a refit, and if the run had these
        rows already.
    refit : Comparison or None
        After a refit, the run before and now.
    written : bool
    notes : tuple of str
        What was noticed about the new rows.
    """

    run: Path
    number: int
    rows: int
    moved: int = 0
    new: tuple[Cluster, ...] = ()
    drift: Drift | None = None
    refit: Comparison | None = None
    written: bool = False
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What happened, in a few sentences."""
        if not self.number:
            return [f"{self.run} has these rows already; nothing was changed."]
        inside = sum(cluster.size for cluster in self.new)
        made = f"{len(self.new)} new cluster{'' if len(self.new) == 1 else 's'}"
        new = f", {inside:,} of them in {made}" if self.new else ", all in the clusters there were"
        if self.refit is not None:
            new = f"; {made}"
        out = [f"{self.rows:,} rows added{new}. Old rows moved: {self.moved:,}."]
        return out if self.drift is None else [*out, *self.drift.sentences()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": str(self.run),
            "update": self.number,
            "rows": self.rows,
            "moved": self.moved,
            "new": [{"id": c.id, "name": c.name, "size": c.size} for c in self.new],
            "drift": None if self.drift is None else self.drift.to_dict(),
            "written": self.written,
            "notes": list(self.notes),
        }


class UpdateOptions(ReadOptions, total=False):
    """The options of :func:`update`, for :meth:`coterie.Run.update`."""

    text_column: str | None
    new_only: bool
    again: bool
    refit: bool
    n_clusters: int | Literal["auto"] | None
    dry_run: bool
    confirm: Callable[[Updated], bool] | None
    mask_names: str | Path | Sequence[str] | Masker | None
    version: str | None


@checked
def update(  # noqa: PLR0913 - options of one command
    run: str | Path,
    data: object,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    new_only: bool = False,
    again: bool = False,
    refit: bool = False,
    n_clusters: int | Literal["auto"] | None = None,
    dry_run: bool = False,
    confirm: Callable[[Updated], bool] | None = None,
    mask_names: str | Path | Sequence[str] | Masker | None = None,
    version: str | None = None,
    **reading: Unpack[ReadOptions],
) -> Updated:
    """Add new rows to a finished run; every old row keeps its cluster, number and name.

    Parameters
    ----------
    run : str or Path
        Folder of a finished run.
    data : list of str, Series, DataFrame or Arrow table; or str or Path of a file; or None
        None adds no rows, for a refit.
    text_column : str, optional
        Column of the new data with the texts. Default: called as in the run, else the obvious one.
    id_column : "none", optional
        Add the new rows without ids. Default: ids are in the column that has them in the run.
    new_only : bool, default=False
        Leave out rows whose id the run has already, instead of rejecting them.
    again : bool, default=False
        Add rows that an earlier update has added.
    refit : bool, default=False
        Cluster old and new rows anew, with the method and the settings of the run. Clusters that
        match keep number and name, locked clusters their rows; other old rows may move.
    n_clusters : int or "auto", optional
        Of a refit. Default: found anew if it was found, else as many as there are.
    dry_run : bool, default=False
        Say what the update would do, without writing.
    confirm : callable, optional
        Is shown what a refit would do, before it is written; false leaves the run as it is.
    mask_names : str, Path, sequence of str or Masker, optional
        List of names to mask, or a file of them; needed if the run was masked by one.
    version : str, optional
        Update the run only if this is its ``Run.version``: nobody has changed it since it was read.
    **reading
        ``format``, ``encoding`` and ``header`` of a file.

    Returns
    -------
    Updated
    """
    if data is None and not refit:
        raise UsageError("name the file with the new rows, or add `refit`.")
    if n_clusters is not None and not refit:
        raise UsageError(
            "`n_clusters` is for a refit; add `refit`, or leave it out: an update finds new "
            "clusters by itself.",
            code="update.clusters_need_refit",
        )
    check_choice("id_column", id_column or "none", ["none"])
    need_torch("an update, which searches for new clusters,")
    given = None if data is None else _read(data, reading)
    folder = Path(run)
    with opened(folder, version=version, to_write=not dry_run) as before:
        if "split" in before.facts and refit:
            raise UsageError(
                "`refit`: the rows of this run were cut into sentences, and it has not kept them "
                "whole; cluster all rows again."
            )
        corpus, notes = None, tuple[str, ...]()
        if given is not None:
            table, guess = given
            text = _text_column(before, table.column_names, guess, text_column)
            masker = masker_of(folder, None, mask_names)
            corpus, notes = _fitting(before, table, text, id_column is None, new_only, masker)
        known = [entry["sha256"] for entry in before.facts.get("updates", [])]
        if corpus is not None and corpus.sha256 in known and not again:
            corpus = None
        if refit:
            return _refit(before, corpus, n_clusters, notes, dry_run, confirm)
        if corpus is None:
            return Updated(folder, 0, 0, notes=notes)
        added = AddedRows(before, corpus)
        found = Updated(
            folder,
            len(known) + 1,
            added.n_input,
            new=tuple(c for c in added.clusters if c.id in added.new),
            drift=added.drift,
            written=not dry_run,
            notes=notes,
        )
        if not dry_run:
            about = {"rows": added.n_input, "sha256": corpus.sha256, "new": added.new}
            odd = [t for t, strange in zip(corpus.texts, added.strange, strict=True) if strange]
            page = (folder.resolve().name, found.sentences(), added.drift, found.new)
            save(
                before,
                added.clustering,
                log={"update": about, "done": found.sentences()[:1]},
                beside=lambda fresh: write_changes(
                    fresh / "changes.html", *page, list(dict.fromkeys(odd))
                ),
            )
    return found


def _refit(
    before: Clustering,
    corpus: Corpus | None,
    n_clusters: int | Literal["auto"] | None,
    notes: tuple[str, ...],
    dry_run: bool,
    confirm: Callable[[Updated], bool] | None,
) -> Updated:
    """Cluster all rows anew beside the run, and let the result take its place."""
    from coterie.comparison import compare
    from coterie.comparison.page import write_comparison
    from coterie.runs.fit import make_run

    table = before.input
    if corpus is not None:
        table = pa.concat_tables([table, corpus.table.select(table.column_names)])
    table = with_types(table, before.facts)
    updates = before.facts.get("updates", [])
    with TemporaryDirectory(prefix="coterie-") as place:
        options = Options.make(
            folder=Path(place) / "run",
            keep=before.folder,
            text_column=before.text_column,
            id_column=before.id_column,
            **_refit_options(before, n_clusters, table),
        )
        made = read(make_run(table, options).folder)
        compared = compare(before.folder, made.folder)
        found = Updated(
            before.folder,
            len(updates) + 1,
            0 if corpus is None else len(corpus),
            moved=int((made.labels[: len(before.table)] != before.labels).sum()),
            new=tuple(c for c in made.clusters if c.id not in before.names),
            refit=compared,
            notes=notes,
        )
        if dry_run or (confirm is not None and not confirm(found)):
            return found
        entry = {
            "when": now(),
            "rows": found.rows,
            "sha256": "" if corpus is None else corpus.sha256,
            "new": [c.id for c in found.new],
            "moved": found.moved,
            "first": len(before.table),
        }
        editing = {**made.facts["editing"]}
        editing["edits"] = before.facts.get("editing", {}).get("edits", 0)
        editing.pop("kept_from", None)  # it is this run
        facts = {**made.facts, "editing": editing, "updates": [*updates, entry]}
        save(
            before,
            replace(made, facts=facts),
            log={"refit": entry, "done": found.sentences()[:1]},
            beside=lambda fresh: write_comparison(
                fresh / "changes.html", replace(compared, a="before", b="now")
            ),
        )
    return replace(found, written=True)


def _refit_options(
    before: Clustering, n_clusters: int | Literal["auto"] | None, table: pa.Table
) -> dict[str, Any]:
    """How the run was made, with what was given to it, for all rows of a table."""
    out, guidance = before.options(n_clusters), before.facts.get("guidance")
    if guidance is None:
        return out
    if "kept" not in guidance:
        raise UsageError(
            f"`refit`: {before.folder} was made with themes, labels or constraints by a version "
            "that did not keep them; cluster all rows with them again."
        )
    with damaged(before.folder, "a run"):
        given = kept_guidance(guidance, table)
    if given.get("only_known"):
        out["n_clusters"] = None
    elif n_clusters is None and out["n_clusters"] != "auto":
        out["n_clusters"] = max(out["n_clusters"], len(guidance["given"]))
    return out | given


def _read(data: object, reading: Mapping[str, Any]) -> tuple[pa.Table, str | None]:
    """The new rows, and their column of texts where that is obvious."""
    if not isinstance(data, (str, Path)):
        corpus = make_corpus(data)
        return corpus.table, corpus.text_column
    table = read_table(data, **reading)[0]
    if not len(table):
        raise DataError(f"{data} is empty; give a file with texts.")
    return table, table.column_names[0] if len(table.column_names) == 1 else None


def _fitting(
    run: Clustering,
    table: pa.Table,
    text: str,
    with_ids: bool,
    new_only: bool,
    masker: Masker | None,
) -> tuple[Corpus | None, tuple[str, ...]]:
    """The new rows with the columns of the run, and what was noticed; None if all are known."""
    names = [n for n in table.column_names if with_ids or n == text or n != run.id_column]
    split = run.facts.get("split")
    made = {*run.own.values(), *([] if split is None else [split["column"]])}
    wanted = [name for name in run.table.column_names if name not in made]
    taken = {text, *wanted}
    notes = []
    left = [name for name in names if name not in taken]
    if left:
        notes.append(f"Columns that the run does not have are left out: {', '.join(left)}.")
    gone = [name for name in wanted if name not in names and name != run.text_column]
    if gone:
        notes.append(f"Columns that the new rows do not have are empty: {', '.join(gone)}.")
    columns = {}
    for name in wanted:
        source = text if name == run.text_column else name
        cells = cell_values(table.column(source)) if source in names else [None] * len(table)
        columns[name] = [value_to_text(value) for value in cells]
    fitting = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    if run.id_column is not None and run.id_column in names:
        fitting, dropped = _new_rows(run, fitting, new_only)
        if dropped:
            notes.append(f"{dropped:,} rows are left out: the run has their ids already.")
        if not len(fitting):
            return None, tuple(notes)
    corpus = build(fitting, run.text_column, run.id_column, masker=masker)
    notes += [note.message for note in corpus.notes]
    notes += [] if corpus.masked is None else [masked_sentence(corpus.masked)]
    return (corpus if split is None else _cut(corpus, split)), tuple(notes)


def _cut(corpus: Corpus, split: Mapping[str, Any]) -> Corpus:
    """New rows of a run of sentences, cut into these; their numbers follow those of the run."""
    cut = split_corpus(corpus)
    assert cut.split is not None
    name = cut.split["column"]
    numbers = [str(split["rows"] + int(row)) for row in cut.table.column(name).to_pylist()]
    table = cut.table.drop_columns([name])
    return replace(cut, table=table.append_column(split["column"], pa.array(numbers, pa.string())))


def _text_column(run: Clustering, names: list[str], guess: str | None, wanted: str | None) -> str:
    """The column of the new data with the texts."""
    if wanted is not None:
        return check_column(names, wanted, "`text_column`")
    if run.text_column in names:
        return run.text_column
    if guess is None:
        raise UsageError(
            f"the new data has no column {run.text_column!r}, which holds the texts of the run; "
            f"name the one to take with `text_column`. Columns: {', '.join(names)}."
        )
    return guess


def _new_rows(run: Clustering, table: pa.Table, new_only: bool) -> tuple[pa.Table, int]:
    """The rows whose id is new; how many were left out."""
    ids = table.column(run.id_column).to_pylist()
    known = set(run.ids or ()) - {""}
    old = [i for i, value in enumerate(ids) if value in known]
    if old and not new_only:
        raise DataError(
            f"row {old[0] + 1} has the {run.id_column} {ids[old[0]]!r}, which the run has "
            f"already (so have {len(old):,} rows in all); leave them out with `new_only`.",
            code="update.known_ids",
        )
    keep = [i for i, value in enumerate(ids) if value not in known]
    first: dict[str, int] = {}
    twice = [(first[ids[i]], i) for i in keep if first.setdefault(ids[i], i) != i and ids[i]]
    if twice:
        row, other = twice[0]
        count = counted(len({ids[i] for _, i in twice}), "such id")
        raise DataError(
            f"rows {row + 1} and {other + 1} have one {run.id_column}, {ids[row]!r} ({count} in "
            "all); give each row its own, or add the rows without ids: `id_column='none'`.",
            code="update.one_id",
        )
    return table.take(pa.array(keep, pa.int64())), len(old)


@dataclass(frozen=True)
class Learned:
    """New texts with their clusters, and the classifier that has learned all texts.

    Attributes
    ----------
    placed : Placement
        Cluster of each new text, the clusters that are new, and texts that fit nowhere.
    bound : bool
        Whether the new texts keep these clusters, whatever the classifier finds.
    classifier : LinearAssigner
    ids : list of int
        Cluster of each of its columns.
    """

    placed: Placement
    bound: bool
    classifier: LinearAssigner
    ids: list[int]


def learn_new(  # noqa: PLR0913 - old texts, new ones, and the numbers of clusters
    old: Floats,
    labels: Ints,
    new: Floats,
    ids: Sequence[int],
    next_id: int,
    seed: int = 0,
    cut: Mapping[int, int] | None = None,
) -> Learned:
    """Put new texts into clusters, and fit a ridge classifier to the clusters of all texts.

    :func:`coterie.novelty.place_new` finds the new clusters. The classifier then decides about all
    new texts: what it cannot learn from so many was chance. New clusters that it leaves with too
    few texts are given up. It is not asked where clusters are too small to learn them.

    Parameters
    ----------
    old : ndarray of shape (m, d)
    labels : ndarray of shape (m,)
        Clusters of the old texts.
    new : ndarray of shape (n, d)
        Of different texts.
    ids : sequence of int
        All clusters there are, ascending.
    next_id : int
        Number of the first new cluster.
    seed : int, default=0
        Chooses the texts that are compared, where there are more than 20,000.
    cut : mapping of int to int, optional
        Of a run with a merge tree, whose finest clusters are learned: where each of them is shown.
        New clusters are those that are not among what is shown.
    """
    n = len(new)
    shown = labels if cut is None else np.array([cut[i] for i in labels.tolist()], dtype=np.int64)
    placed = Placement(np.full(n, -1, dtype=np.int64), [], np.zeros(n, dtype=bool))
    if n and len(old):
        rows = choose_rows(len(old), np.searchsorted(ids, labels), COMPARED, seed)
        part = choose_rows(n, None, COMPARED, seed)
        found = place_new(old[rows], shown[rows], new[part], next_id)
        finest = found.labels
        if cut is not None:
            finest = _finest(new[part], found.labels, cut, old[rows], labels[rows])
        placed.labels[part], placed.strange[part] = finest, found.strange
        placed = replace(placed, new=found.new, fewest=found.fewest)
    seen, bound = placed.labels >= 0, placed.fewest < THEME_TEXTS
    vectors = np.concatenate([old, new[seen]])
    answers, made = placed.labels, placed.new
    while True:
        every = [*ids, *made]
        kept = np.isin(answers[seen], every)
        known = np.concatenate([labels, answers[seen][kept]])
        rows = np.concatenate([np.ones(len(old), dtype=bool), kept])
        codes = np.searchsorted(every, known)
        classifier = fit_classifier(vectors[rows], codes, len(every), len(old))
        if bound or not n:
            break
        found = np.array(every)[classifier.logits(new).argmax(axis=1)]
        large = [i for i in made if (found == i).sum() >= placed.fewest]
        if large == made:
            answers = found
            break
        made = large
    if (answers < 0).any():  # more texts than are compared
        found = np.array(every)[classifier.logits(new).argmax(axis=1)]
        answers = np.where(answers < 0, found, answers)
    numbers = {i: next_id + j for j, i in enumerate(made)}
    answers = np.array([numbers.get(i, i) for i in answers.tolist()], dtype=np.int64)
    made = list(numbers.values())
    return Learned(replace(placed, labels=answers, new=made), bound, classifier, [*ids, *made])


def _finest(new: Floats, places: Ints, cut: Mapping[int, int], old: Floats, labels: Ints) -> Ints:
    """The finest cluster of new texts, inside those of a cut that they are in: the nearest mean."""
    out, known = places.copy(), {*labels.tolist()}
    for cluster in {*places.tolist()} & {*cut.values()}:
        inside = np.array([i for i, place in cut.items() if place == cluster and i in known])
        means = np.array([old[labels == i].mean(axis=0) for i in inside])
        rows = np.flatnonzero(places == cluster)
        far = np.linalg.norm(new[rows][:, None] - means, axis=2)
        out[rows] = inside[far.argmin(axis=1)]
    return out


def fit_classifier(x: Floats, codes: Ints, k: int, n_old: int) -> LinearAssigner:
    """A ridge classifier in few directions, for clusters of which some are new.

    With all directions it would learn each text by heart. A cluster counts by the square root of
    its size, so that small ones are not lost beside those that have grown for long, and by the
    fourth root of its new texts: what comes now is most of what will be asked. It is fitted again
    to its own predictions, as in ``auto``, as long as no cluster loses all its texts: what the
    first few texts of a run got wrong then weighs less.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Old texts, then new ones.
    codes : ndarray of shape (n,)
        Cluster of each text, below ``k``.
    k : int
    n_old : int
    """
    kept = n_components(k)
    directions = None if x.shape[1] <= kept else principal_directions(x, kept)
    few = x if directions is None else x @ directions.T
    for _ in range(FITS):
        sizes, new = (np.bincount(part, minlength=k) for part in (codes, codes[n_old:]))
        weights = ((new + 1) ** 0.25 / np.sqrt(np.maximum(sizes, 1)))[codes]
        ridge = RidgeClassifier(few, (weights / weights.mean()).astype(np.float32))
        found = LinearAssigner(*ridge.fit(codes, k))
        codes = np.asarray(found.logits(few).argmax(axis=1), dtype=np.int64)
        if (np.bincount(codes, minlength=k)[sizes > 0] == 0).any():
            break
    if directions is None:
        return found
    return LinearAssigner(found.weight @ directions, found.bias)


class AddedRows:
    """New rows of a run: their clusters, and the model that assigns later texts.

    Parameters
    ----------
    run : Clustering
    corpus : Corpus
        The new rows, with the columns of the run.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each new row, -1 for those without a text; of outliers, the nearest one.
    finest : ndarray of shape (n,)
        The same in the finest clusters of the merge tree, if there is one.
    new : list of int
        Clusters that are new.
    strange : ndarray of shape (n,)
        New rows that fit nowhere.
    alarm : bool
        Whether there is a new theme.
    n_input : int
        New rows of the input; a run of sentences has several texts for one.
    """

    def __init__(self, run: Clustering, corpus: Corpus) -> None:
        self.run, self.corpus = run, corpus
        self.split = run.facts.get("split")
        self.n_input = len(corpus)
        if self.split is not None:
            self.n_input = len(set(corpus.table.column(self.split["column"]).to_pylist()))
        self.draft, self.grown = Draft.of(run), run.tree
        # What is learned: the clusters, or the finest ones of a merge tree
        self.known = self.draft.labels if run.tree is None else self.draft.finest
        self.model = copy.copy(run.model)
        old, new = run.vectors, np.asarray(self.model.transform(corpus.texts))
        self.n_old = len(old)
        self.vectors = np.concatenate([old, new]).astype(np.float32)
        self.texts = [*run.texts, *corpus.texts]
        filled = np.array([text != "" for text in corpus.texts])
        settled = (self.draft.labels >= 0) & ~self.draft.outliers
        keys = [row.tobytes() for row in np.round(self.vectors, DIGITS)]
        known = {keys[i]: int(self.known[i]) for i in np.flatnonzero(settled)}
        by_text = text_order(corpus.texts)
        first = {keys[self.n_old + i]: i for i in by_text[filled[by_text]][::-1].tolist()}
        unknown = [i for key, i in first.items() if key not in known]
        fresh = np.array(unknown[::-1], dtype=np.int64)
        order = text_order(run.texts)
        order = order[settled[order]]
        found = learn_new(
            old[order],
            self.known[order],
            new[fresh].astype(np.float32),
            sorted(self.draft.names if run.tree is None else run.tree.leaves),
            self.draft.next_id,
            run.seed,
            None if run.tree is None else run.tree.cut(),
        )
        self._take(found, settled)
        if found.bound:
            pairs = zip(fresh.tolist(), found.placed.labels.tolist(), strict=True)
            known |= {keys[self.n_old + i]: label for i, label in pairs}
        self._assign(filled, known, keys)
        strange = set(fresh[found.placed.nowhere].tolist())
        odd = np.array([first.get(key) in strange for key in keys[self.n_old :]], dtype=bool)
        self.strange = filled & odd
        self._compare_with(fresh)

    def _take(self, found: Learned, settled: Bools) -> None:
        """Let the classifier assign later texts, as sure of itself as the run was."""
        self.new, self.alarm = found.placed.new, found.placed.alarm
        self.draft.next_id += len(self.new)
        self.draft.names |= dict.fromkeys(self.new)
        usual = self.run.table[self.run.own["confidence"]].to_numpy()
        self.sure = float(np.nanmean(usual[settled])) if settled.any() else 0.5
        linear = found.classifier.calibrated(self.vectors[: self.n_old][settled], self.sure)
        self.model.assigner_ = EditedAssigner(linear, tuple(found.ids))
        self.model.n_clusters_ = len(found.ids)

    def _assign(self, filled: Bools, known: Mapping[bytes, int], keys: Sequence[bytes]) -> None:
        """Label the new rows, and bind texts that the classifier would put elsewhere."""
        draft, n = self.draft, self.n_old
        there = np.concatenate([draft.labels >= 0, filled])
        assigner = self.model.assigner_
        assert isinstance(assigner, EditedAssigner)
        found = np.full(len(self.vectors), -1, dtype=np.int64)
        found[there] = assigner.logits(self.vectors[there]).argmax(axis=1)
        corrections, self.finest = dict(draft.led_to), found[n:].copy()
        for i in np.flatnonzero(filled).tolist():
            same = known.get(keys[n + i])  # of an old text that the encoder cannot tell apart
            bound = corrections.get(fingerprint(self.corpus.texts[i]), same)
            self.finest[i] = self.finest[i] if bound is None else bound
        right = np.concatenate([self.known, self.finest])
        settled = np.concatenate([~draft.outliers, filled])
        for row in np.flatnonzero(settled & (found != right)):
            corrections[fingerprint(self.texts[row])] = int(right[row])
        self.labels = self.finest
        if self.run.tree is not None:
            self.grown = self._grow(self.run.tree, right)
            cut = {**self.grown.cut(), -1: -1}
            self.labels = np.array([cut[i] for i in self.finest.tolist()], dtype=np.int64)
            old = self.vectors[:n][self.known >= 0]
            assigner = replace(assigner, cut=self.grown.cut()).calibrated(old, self.sure)
            self.model.assigner_, self.model.n_clusters_ = assigner, self.grown.at
        self.nearest = np.concatenate([draft.labels, self.labels])  # of all rows
        self.model.corrections_ = corrections
        both = replace(draft, texts=self.texts, corrections=corrections)
        self.model.corrected_rows_ = dict(both.bound_rows())
        p = np.zeros((len(self.vectors), assigner.width))
        p[there] = probabilities(assigner.logits(self.vectors[there]))
        self.p = np.asarray(correct(self.model, p))

    def _grow(self, tree: Tree, finest: Ints) -> Tree:
        """The merge tree with the new clusters, each beside the most similar that is shown."""
        places = {**tree.cut(), **{i: i for i in self.new}, -1: -1}
        labels = np.array([places[i] for i in finest.tolist()], dtype=np.int64)
        free = count(self.draft.next_id)
        for new, near in self._nearest(labels).items():
            tree = tree.with_new(new, near, free)
        self.draft.next_id = next(free)
        return tree

    def _nearest(self, labels: Ints) -> dict[int, int]:
        """The old cluster that is most similar to each new one."""
        old = [c.id for c in self.run.clusters if (labels == c.id).any()]
        means = np.array([self.vectors[labels == i].mean(axis=0) for i in [*old, *self.new]])
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        similar = means[len(old) :] @ means[: len(old)].T
        return {new: old[int(similar[i].argmax())] for i, new in enumerate(self.new)}

    def _compare_with(self, fresh: Ints) -> None:
        """Later texts are compared with the new ones, too; some new rows may be outliers."""
        self.scores = np.full(len(self.corpus), np.nan)
        outliers = np.zeros(len(self.corpus), dtype=bool)
        if (index := self.model._neighbor_index) is not None:
            total = max(len(set(self.run.texts)), len(index.vectors))
            vectors = self.vectors[self.n_old + fresh]
            self.model._neighbor_index = index.extended(vectors, total, self.run.seed)
            filled = self.labels >= 0
            if filled.any():
                new = self.vectors[self.n_old :]
                self.scores[filled] = self.model._neighbor_index.scores(new[filled])
            if self.run.marks and self.model.outlier_limit_ is not None:
                rows = self.model.corrected_rows_
                outliers = self.model.outlier_limit_.marks(self.scores, self.finest)
                outliers[[row - self.n_old for row in rows if row >= self.n_old]] = False
        self.outliers = np.concatenate([self.draft.outliers, outliers])  # of all rows
        self.all_labels = np.where(self.outliers, -1, self.nearest)

    @cached_property
    def input(self) -> pa.Table:
        """The columns of the input, of old and new rows."""
        old = self.run.input
        return pa.concat_tables([old, self.corpus.table.select(old.column_names)])

    @cached_property
    def hierarchy(self) -> Hierarchy | None:
        """The levels of the run; a new cluster is where the most similar old one is."""
        if self.tree is not None:
            return self.tree.above()
        known, labels = self.run.hierarchy, self.all_labels
        if known is None:
            return None
        return known.extended(self.texts, labels, self.vectors, self._nearest(labels))

    @cached_property
    def tree(self) -> Tree | None:
        """The merge tree with all its clusters described anew; old ones keep their names."""
        tree = self.grown
        if tree is None:
            return None
        finest = np.where(self.outliers, -1, np.concatenate([self.known, self.finest]))
        found = describe_nodes(self.texts, finest, tree.inside(), self.vectors, names=tree.names)
        return replace(tree, nodes={c.id: c for c in as_said([*found.values()], tree.nodes)})

    @cached_property
    def clusters(self) -> list[Cluster]:
        """All clusters, described anew; old ones keep their names."""
        run, names = self.run, self.draft.names
        said = {c.id: c for c in run.clusters}
        if self.tree is not None:
            names = {i: self.tree.names.get(i, name) for i, name in names.items()}
        found = describe_rows(
            self.input,
            (run.text_column, run.id_column),
            self.texts,
            self.all_labels,
            self.vectors,
            self.p,
            names,
            {i: c.topics for i, c in said.items()},
            said,  # old rows stay where they are, so it still holds
        )
        return found if self.hierarchy is None else self.hierarchy.parented(found)

    @cached_property
    def drift(self) -> Drift:
        """How the new texts differ from the old ones."""
        names = {c.id: c.name for c in self.clusters}
        labels, n = self.all_labels, self.n_old
        parts = [np.arange(n), np.arange(n, len(labels))]
        few = [part[choose_rows(len(part), None, COMPARED, self.run.seed)] for part in parts]
        before, after = (([self.texts[i] for i in rows], labels[rows]) for rows in few)
        return find_drift(*before, *after, names, int(self.strange.sum()), self.alarm)

    @property
    def clustering(self) -> Clustering:
        """The run with the new rows. Changes all parts."""
        run, saved = self.run, self.run.map
        if saved is not None:
            odd = self.outliers if run.marks else None
            saved = make_map(self.vectors, self.nearest, run.seed, odd, self.texts)
        return replace(
            run,
            facts=self._facts(),
            table=self._table(),
            clusters=self.clusters,
            hierarchy=self.hierarchy,
            tree=None if self.tree is None else self.tree.described(self.clusters),
            map=saved,
            fitted=self.model,
        )

    def _table(self) -> pa.Table:
        """The table of the run with the new rows at its end."""
        run, p = self.run, self.p[self.n_old :]
        results = result_columns(
            self.labels,
            p,
            names_by_number(self.clusters, p.shape[1]),
            self.scores,
            self.outliers[self.n_old :] if run.marks else None,
            self.hierarchy if self.tree is None else TreeRows(self.tree, self.finest),
        )
        bare = {written: name for name, written in run.own.items()}
        columns = {
            name: pa.array(results.get(bare[name], [None] * len(p)), result_kind(name))
            if name in bare
            else self.corpus.table.column(name)
            for name in run.table.column_names
        }
        return pa.concat_tables([run.table, pa.table(columns, schema=run.table.schema)])

    def _facts(self) -> dict[str, Any]:
        before = self.run.facts
        digest = hashlib.sha256()
        for text in self.texts:
            digest.update(text.encode("utf-8") + b"\0")
        entry = {
            "when": now(),
            "rows": self.n_input,
            "sha256": self.corpus.sha256,
            "new": self.new,
            "fit_nowhere": int(self.strange.sum()),
            "first": self.n_old,
        }
        # Nobody has looked at the new rows.
        grown = set(self.all_labels[self.n_old :].tolist())
        if self.grown is not None:
            inside = self.finest[~self.outliers[self.n_old :]].tolist()
            grown = {i for i in self.draft.finished if {*self.grown.below(i)} & {*inside}}
        self.draft.finished -= grown
        facts = {
            **before,
            "data": {**before["data"], "rows": len(self.texts), "sha256": digest.hexdigest()},
            "editing": {**before.get("editing", {}), **self.draft.facts},
            "updates": [*before.get("updates", []), entry],
        }
        if self.split is not None:
            facts["split"] = {**self.split, "rows": self.split["rows"] + self.n_input}
        if self.corpus.masked is not None:
            facts["data"] |= _masked_data(before["data"], self.corpus.masked)
        if self.run.marks and "outliers" in facts:
            facts["outliers"] = {**facts["outliers"], "marked": int(self.outliers.sum())}
        return facts


def _masked_data(data: Mapping[str, Any], new: Mapping[str, int]) -> dict[str, Any]:
    """What was masked in old and new rows."""
    known = data.get("masked", {"found": {}, "by_list": True})
    found = dict(sorted((Counter(known["found"]) + Counter(new)).items()))
    said = masked_sentence(known["found"])  # a note of version 0.1
    notes = [note for note in data["notes"] if note != said]
    return {"masked": {**known, "found": found}, "notes": notes}
