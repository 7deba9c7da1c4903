"""A finished run as a Python object: one state of its folder, and the verbs that change it."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from coterie._util.folders import mend_folder
from coterie._util.types import Ints
from coterie._util.validation import check_path
from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.summary import Overview, make_overview, summarise
from coterie.describe.tree import levels_above
from coterie.errors import UsageError, counted
from coterie.models.clusterer import TextClusterer
from coterie.page.html import render_first
from coterie.runs.added import Updated
from coterie.runs.clustering import Clustering
from coterie.runs.exports import Exported, export_run, write_page
from coterie.runs.label import Labeller
from coterie.runs.measured import Stability
from coterie.runs.plots import Plots
from coterie.runs.sample import files_of
from coterie.runs.stability import stability
from coterie.runs.store import add_files, copy_run, read
from coterie.runs.table import as_frame, index_of, mark_outliers, to_frame, with_types
from coterie.runs.update import UpdateOptions, update
from coterie.texts import make_corpus
from coterie.texts.corpus import CleanTexts, combine

if TYPE_CHECKING:
    from coterie.runs.comparison import ClusterComparison, Comparison
    from coterie.runs.editing import Edited

SHOWN_CLUSTERS, SHOWN_POINTS = 20, 3_000  # of a run in a notebook


class Run(Plots):
    """A finished clustering with all that belongs to it.

    :func:`coterie.cluster` makes one, and :func:`coterie.open_run` reads one from its folder.

    Parameters
    ----------
    folder : Path
    model : TextClusterer, optional
        The model as it was fitted, with the vectors of all texts; default: loaded when needed.
    remarks : sequence of str
        What the writing of single files noticed, in sentences.
    temporary : TemporaryDirectory, optional
        Deleted with the object; :meth:`save` keeps the run.
    index : tuple, optional
        That of the frame that was clustered, and what it is called; then :attr:`table` is a frame.

    Examples
    --------
    >>> import coterie
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car", "old car"]
    >>> run = coterie.cluster(texts, 2, method="kmeans", encoder="tfidf")
    >>> run
    Run of 6 texts in 2 clusters
    >>> run.table.column_names[:3]
    ['text', 'cluster', 'name']
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model: TextClusterer | None = None,
        remarks: Sequence[str] = (),
        temporary: TemporaryDirectory[str] | None = None,
        index: tuple[Any, Collection[str]] = (None, ()),
    ) -> None:
        self.folder = check_path("folder", folder)
        self._index = index
        self.remarks = list(remarks)
        self._delete = None if temporary is None else weakref.finalize(self, temporary.cleanup)
        self._fitted = model
        self._state: Clustering | None = None
        self._table: Any = None

    @property
    def state(self) -> Clustering:
        """The run as its folder had it when it was last opened or changed by this object."""
        if self._state is None:
            self._state = replace(read(self.folder), fitted=self._fitted)
        return self._state

    def _changed(self) -> None:
        """Have the next state be read."""
        self._state = self._fitted = self._table = None

    @property
    def manifest(self) -> dict[str, Any]:
        """How the run was made: method, parameters, data, seconds, summary, versions."""
        return self.state.facts

    @property
    def version(self) -> str:
        """Tells one state of the run from another; after an undo it is the earlier one again."""
        return self.state.version

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters with names, words and examples, the largest first."""
        return self.state.clusters

    @property
    def tree(self) -> Tree:
        """The merge tree that the clusters are a cut of."""
        return self.state.tree

    @property
    def nodes(self) -> Mapping[int, Cluster]:
        """All clusters of the merge tree but the one that holds all texts, by their numbers."""
        return self.state.nodes

    @property
    def map(self) -> dict[str, Any] | None:
        """Where texts are on the map; None where there is no map."""
        return self.state.map

    @property
    def labels(self) -> Ints:
        """Cluster of each row; -1 for rows without a text and for outliers."""
        return self.state.labels

    @property
    def texts(self) -> CleanTexts:
        """The text of each row as the run read it: cleaned, empty where there is no word."""
        return self.state.texts

    @property
    def model(self) -> TextClusterer:
        """The fitted estimator."""
        return self.state.model

    @property
    def table(self) -> Any:
        """The rows of the input with cluster, name, confidence and so on, types as given.

        A frame of pandas with its index where one was clustered, else an Arrow table.
        """
        if self._table is None:
            typed = with_types(mark_outliers(self.state.table), self.manifest)
            self._table = as_frame(typed, *self._index)
        return self._table

    def to_pandas(self) -> Any:
        """The rows as :attr:`table` has them, as a frame of pandas, whatever was clustered."""
        return to_frame(self.table) if isinstance(self.table, pa.Table) else self.table

    @property
    def levels(self) -> list[list[Cluster]]:
        """The clusters of the levels that are coarser than what is shown, coarse to fine."""
        return levels_above(self.tree, self.nodes)

    @property
    def summary(self) -> list[str]:
        """The run in a few sentences: at a glance, then how it was made."""
        return summarise(self.manifest, self.clusters, self.tree, self.nodes)

    @property
    def overview(self) -> Overview:
        """The run at a glance: themes, what is new or growing, what needs attention."""
        return make_overview(self.manifest, self.clusters, self.tree, self.nodes)

    def predict(
        self,
        data: Any,
        *,
        level: int | str | None = None,
        text_column: str | None = None,
        outlier_limit: float | None = None,
        vectors: Any = None,
    ) -> Any:
        """Put new texts into the clusters.

        Parameters
        ----------
        data : list of str, Series, DataFrame or Arrow table; or str, Path or list of Path of files
            ``coterie predict`` and :func:`coterie.runs.large.predict_file` write files of any size.
        level : int or str, optional
            Number of clusters, or the name of a level such as "broad". Default: the clusters that
            the run shows.
        text_column : str, optional
        outlier_limit : float, optional
            Mark texts with a higher outlier score as outliers. Default: the limit of the run.
        vectors : array, str or Path, optional
            For a run that was made with vectors: those of the rows, a column or a file.

        Returns
        -------
        pyarrow.Table or pandas.DataFrame
            The columns of the input, then cluster, name, confidence, runner_up, margin, outlier
            and outlier_score. A frame with the same index where one was given.
        """
        from coterie.texts import read_corpus

        if isinstance(data, str) and any(map(str.isspace, data)) and not Path(data).exists():
            raise UsageError(
                f"there is no file {data!r}; to predict a single text, give a list of one text."
            )
        read = read_corpus if files_of(data) else make_corpus
        corpus = read(data, text_column=text_column)
        tree = self.tree, self.nodes
        labeller = Labeller(self.model, self.clusters, tree, outlier_limit, level)
        table = corpus.table
        if vectors is not None:
            labeller.use_vectors(vectors)
            assert labeller.vectors is not None
            labeller.vectors.check_rows(len(corpus))
            table = labeller.give(table, 0, corpus.texts)
        return as_frame(mark_outliers(combine(table, labeller(corpus.texts))), *index_of(data))

    def report(self, path: str | Path | None = None, *, texts: bool = True) -> Path:
        """Write the page: one HTML file with the map, which loads nothing from the network.

        Parameters
        ----------
        path : str or Path, optional
            Default: ``report.html`` in the folder, or ``report-no-texts.html``.
        texts : bool, default=True
            False writes words and counts only.
        """
        if path is not None:
            if Path(path).is_dir():
                raise UsageError(f"`out={str(path)!r}` is a folder; name a file.")
            write_page(Path(path), self.state, texts=texts)
            return Path(path)
        name = "report.html" if texts else "report-no-texts.html"
        add_files(self.folder, lambda fresh, run: write_page(fresh / name, run, texts=texts))
        return self.folder / name

    def export(
        self,
        to: str | Sequence[str] = "xlsx",
        *,
        texts: bool = True,
        out: str | Path | None = None,
    ) -> Exported:
        """Write the tables for Excel and other programs; see :func:`coterie.export_run`."""
        return export_run(self.folder, to, texts=texts, out=out)

    def edit(self, edits: Any, *, dry_run: bool = False, version: str | None = None) -> Edited:
        """Merge, split, rename and delete clusters, move texts; see :func:`coterie.edit`."""
        from coterie.runs.editing import edit

        done: Edited = edit(self.folder, edits, dry_run=dry_run, version=version)
        if not dry_run:
            self._changed()
        return done

    def cut(self, clusters: int | str, *, version: str | None = None) -> None:
        """Show another number of clusters, or "broad", "medium" or "fine"; see :func:`coterie.cut`.

        Parameters
        ----------
        clusters : int or str
        version : str, optional
            Only if this is the ``Run.version`` of the run.
        """
        from coterie.runs.editing import cut

        cut(self.folder, clusters, version=version)
        self._changed()

    def update(self, data: Any, **options: Unpack[UpdateOptions]) -> Updated:
        """Add new rows; old ones keep their clusters. See :func:`coterie.runs.update`."""
        done = update(self.folder, data, **options)
        if done.written:
            self._changed()
        return done

    def stability(
        self, *, seeds: int = 3, halves: int = 4, write: bool = True, verbose: int = 0
    ) -> Stability:
        """Which clusters are found again; see :func:`coterie.runs.stability`."""
        found = stability(self.folder, seeds=seeds, halves=halves, write=write, verbose=verbose)
        self._state = None  # the model is the same
        return found

    def undo(self, *, version: str | None = None) -> int:
        """Take back the last edits or the last update; returns the number of the change."""
        from coterie.runs.editing import undo

        number = undo(self.folder, version=version)
        self._changed()
        return number

    def name(
        self,
        url: str,
        *,
        model: str | None = None,
        examples: int = 6,
        prompt: str | None = None,
        language: str | None = None,
        timeout: float = 120.0,
    ) -> None:
        """Ask a chat endpoint, such as ``http://localhost:11434/v1``, for names on every level.

        :meth:`undo` takes the names back.

        Parameters
        ----------
        url : str
        model : str, optional
            Of that endpoint, if it has several.
        examples : int, default=6
            Texts of each cluster to send, with personal data masked; 0 sends words only.
        prompt : str, optional
            The task in your own words; the form of the answer is added.
        language : str, optional
            Of names and descriptions, such as "German". Default: that of the texts.
        timeout : float, default=120.0
            Seconds per answer.
        """
        from coterie.describe.naming import Endpoint, EndpointError, NameOptions
        from coterie.runs.names import name_run

        asked = NameOptions(model, examples, prompt, language)
        problem = name_run(self.folder, Endpoint(url, timeout=timeout), asked)
        self._changed()
        if problem is not None:
            raise EndpointError(f"{problem} The other clusters keep their names; to go on, repeat.")

    def compare(
        self,
        other: Run | str | Path,
        *,
        by: str = "auto",
        id_column: str | None = None,
        text_column: str | None = None,
        b_column: str | None = None,
        examples: int = 3,
    ) -> Comparison:
        """What changed from this run to another; see :func:`coterie.compare`."""
        from coterie.runs.comparison import compare

        there = other.folder if isinstance(other, Run) else other
        columns = {"id_column": id_column, "text_column": text_column, "b_column": b_column}
        return compare(self.folder, there, by=by, examples=examples, **columns)

    def compare_clusters(
        self, a: int | str, b: int | str, *, examples: int = 5
    ) -> ClusterComparison:
        """How two clusters differ; see :func:`coterie.compare_clusters`."""
        from coterie.runs.comparison import compare_clusters

        return compare_clusters(self.folder, a, b, examples=examples)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Copy the run into another folder, which is its folder from now on.

        Parameters
        ----------
        folder : str or Path
        overwrite : bool, default=False
            Replace an earlier run there.
        """
        target = Path(folder)
        if target.resolve() == self.folder.resolve():
            return target
        copy_run(self.folder, target, overwrite=overwrite)
        self.folder = target
        self._state = None
        if self._delete is not None:
            self._delete()
        return target

    def __repr__(self) -> str:
        rows = counted(self.manifest["data"]["rows"], "text")
        return f"Run of {rows} in {counted(len(self.clusters), 'cluster')}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the run at a glance, the clusters and the map; all is escaped."""
        head = "".join(f"<th>{name}</th>" for name in ("", "cluster", "texts", "share", "name"))
        body = "".join(
            f'<tr><td style="color:{self._style(c.id)[0]}">&#9679;</td><td>{c.id}</td>'
            f"<td>{c.size:,}</td><td>{100 * c.share:.1f}%</td><td>{escape(c.name)}</td></tr>"
            for c in self.clusters[:SHOWN_CLUSTERS]
        )
        more = len(self.clusters) - SHOWN_CLUSTERS
        rest = f"<p>And {more} more, in run.clusters.</p>" if more > 0 else ""
        return (
            f"<div><strong>{escape(repr(self))}</strong>{render_first(self.overview)}"
            '<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">'
            f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"
            f"{self._map_svg()}</div></div>"
        )

    def _map_svg(self) -> str:
        """The map as a picture; empty where there is none."""
        saved = self.map
        if saved is None or not saved["rows"]:
            return ""
        names = {-1: "no cluster", **{c.id: c.name for c in self.clusters}}
        colors = {number: self._style(number)[0] for number in names}
        labels, step = self.labels, -(-len(saved["rows"]) // SHOWN_POINTS)
        dots = []
        for row, x, y in list(zip(saved["rows"], saved["x"], saved["y"], strict=True))[::step]:
            label = int(labels[row])
            dots.append(
                f'<circle cx="{x:g}" cy="{y:g}" r="70" fill="{colors[label]}">'
                f"<title>{escape(names[label])}</title></circle>"
            )
        return (
            '<svg width="420" height="420" viewBox="-200 -200 10400 10400" role="img" '
            f'aria-label="map of the texts">{"".join(dots)}</svg>'
        )


def open_run(folder: str | Path) -> Run:
    """Read a finished run back from its folder.

    Parameters
    ----------
    folder : str or Path
        Written by :func:`coterie.cluster`, :meth:`Run.save` or ``coterie cluster``.

    Returns
    -------
    Run

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import coterie
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car", "old car"]
    >>> with TemporaryDirectory() as place:
    ...     folder = coterie.cluster(texts, 2, method="kmeans", encoder="tfidf").save(place)
    ...     len(open_run(folder).clusters)
    2
    """
    path = check_path("folder", folder)
    mend_folder(path)
    if not path.is_dir():
        raise UsageError(
            f"there is no folder {str(path)!r}; name that of a finished run.", code="run.no_folder"
        )
    run = Run(path)
    _ = run.state
    return run
