"""What ``coterie cluster`` hands over besides clusters: levels, outliers, files for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie._errors import DataError, UsageError

if TYPE_CHECKING:
    from coterie.description import Cluster
    from coterie.hierarchy import Hierarchy

FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx")
SPARE = 2  # texts for each cluster that make sure of enough, even if the encoder cannot tell some
LINES = 40  # of the tree in the terminal; the page has all of it

Levels = Annotated[
    str | None,
    typer.Option(
        "--levels", help="Nested levels, coarse to fine, e.g. 5,20,80; the last is the clustering."
    ),
]
MaxOutliers = Annotated[
    str | None,
    typer.Option(
        "--max-outliers",
        help="Mark at most this share (5%) or number of rows as fitting no cluster. Default: none.",
    ),
]
Write = Annotated[
    str | None,
    typer.Option(
        "--write", help="Tables to write besides assignments.csv: xlsx, parquet, jsonl, tsv."
    ),
]


@dataclass(frozen=True)
class Plan:
    """The options, checked before anything is read.

    Attributes
    ----------
    levels : tuple of int
        Coarse to fine; empty if there are none.
    max_outliers : str or None
    formats : tuple of str
        Besides CSV.
    """

    levels: tuple[int, ...] = ()
    max_outliers: str | None = None
    formats: tuple[str, ...] = ()

    def clusters(self, asked: str | None) -> int | None:
        """The clusters to make: as asked for, else the finest level, else None: to be found."""
        from coterie._validation import whole_number

        if asked is None:
            return self.levels[-1] if self.levels else None
        if asked.strip().lower() == "auto":
            return None
        number = whole_number(asked.strip())
        if not number:
            raise UsageError(
                f"--clusters should be a whole number from 1 on, or auto; got {asked!r:.80}."
            )
        return number

    def check(self, n_clusters: int, texts: Sequence[str], model: Any) -> None:
        """Refuse what cannot be, now that the number of clusters and the texts are known.

        Parameters
        ----------
        n_clusters : int
        texts : sequence of str
        model : TextClusterer
            Not fitted; its encoder decides which texts differ.
        """
        from coterie.base.fitting import count_distinct
        from coterie.outliers import allowed_rows

        placed = sum(text != "" for text in texts)
        if self.max_outliers is not None:
            allowed_rows(self.max_outliers, placed, "--max-outliers")
        most, said = max(n_clusters, *self.levels, 0), ",".join(map(str, self.levels))
        distinct, read = len(set(texts) - {""}), ""
        if distinct < SPARE * most:
            told = count_distinct(model, texts)
            read = " as the encoder reads them" if told < distinct else ""
            distinct = told
        few = f"there are only {distinct:,} different texts{read}; ask for at most {distinct}."
        if self.levels and self.levels[-1] > distinct:
            raise UsageError(f"--levels {said}: {self.levels[-1]:,} clusters asked for, but {few}")
        if n_clusters > distinct:
            raise DataError(f"--clusters {n_clusters}: {few}")
        if not self.levels:
            return
        if self.levels[-1] > n_clusters:
            raise UsageError(
                f"--levels {said}: the finest level has {self.levels[-1]} clusters, more than the "
                f"{n_clusters} there are; leave out --clusters, or ask for at most {n_clusters}."
            )

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"levels": list(self.levels), "max_outliers": self.max_outliers,
                "write": list(self.formats)}  # fmt: skip


def read_plan(levels: str | None, max_outliers: str | None, write: str | None) -> Plan:
    """The options as they were typed."""
    if max_outliers is not None:
        from coterie.outliers import allowed_rows

        allowed_rows(max_outliers, 0, "--max-outliers")
    return Plan(read_levels(levels), max_outliers, read_formats(write, "--write"))


def read_levels(said: str | None) -> tuple[int, ...]:
    """``"5,20,80"`` as numbers."""
    if said is None:
        return ()
    from coterie._validation import whole_number

    levels = tuple(whole_number(part.strip()) or 0 for part in said.split(","))
    if not all(levels):
        raise UsageError(f"--levels {said}: expected whole numbers from 1 on, such as 5,20,80.")
    if any(a >= b for a, b in pairwise(levels)):
        raise UsageError(
            f"--levels {said}: the numbers do not increase; name the levels coarse to fine, such "
            "as 5,20,80."
        )
    return levels


def read_formats(said: str | None, option: str) -> tuple[str, ...]:
    """``"xlsx,parquet"`` as words; refuses a workbook where nothing can write one."""
    from coterie._validation import check_choice

    parts = [part.strip().lower().lstrip(".") for part in (said or "").split(",") if part.strip()]
    formats = tuple(dict.fromkeys(check_choice(option, part, FORMATS) for part in parts))
    if said is not None and not formats:
        raise UsageError(f"{option}: expected some of {', '.join(FORMATS)}, such as xlsx,parquet.")
    if "xlsx" in formats:
        from coterie.corpus.excel import check_excel

        check_excel()
    return formats


def add_columns(
    columns: dict[str, list[Any]],
    scores: Any,
    outliers: Any = None,
    hierarchy: Hierarchy | None = None,
) -> dict[str, list[Any]]:
    """The result columns with those of outliers and levels behind them.

    Parameters
    ----------
    columns : dict of str to list
        With ``cluster`` and ``name`` of the nearest cluster, also for outliers.
    scores : ndarray of shape (n,)
        Outlier scores; not a number for rows without a text.
    outliers : ndarray of shape (n,), optional
        None where no text may be one: then there is no column ``nearest_cluster``.
    hierarchy : Hierarchy, optional
    """
    from coterie.report import NONE_OF_THESE

    nearest, out = columns["cluster"], dict(columns)
    marked = [False] * len(nearest) if outliers is None else [bool(value) for value in outliers]
    both = list(zip(nearest, columns["name"], marked, strict=True))
    out["cluster"] = [-1 if odd else cluster for cluster, _, odd in both]
    out["name"] = [NONE_OF_THESE if odd else name for _, name, odd in both]
    out["outlier"] = ["yes" if odd else "no" for odd in marked]
    out["outlier_score"] = [None if s != s else round(float(s), 4) for s in scores]
    if outliers is not None:
        out["nearest_cluster"] = [None if cluster < 0 else cluster for cluster in nearest]
    if hierarchy is not None:
        out |= hierarchy.columns(out["cluster"], out["name"])
    return out


def mark_new(model: Any, seen: Any, limit: float | None) -> tuple[Any, str]:
    """Which of the new texts belong to none of the clusters, and their share in a sentence.

    Parameters
    ----------
    model : TextClusterer
    seen : Assessed
    limit : float, optional
        Default: that of the model; if it has none, no text is marked and nothing said.
    """
    from coterie.outliers import OutlierLimit

    known = model.outlier_limit_
    if limit is not None:
        if not 0 <= limit <= 1:
            raise UsageError(f"--outlier-limit should be between 0 and 1, got {limit}.")
        known = OutlierLimit(limit)
    if known is None:
        return None, ""
    marked, placed = seen.outliers(known), int((seen.labels >= 0).sum())
    share = 100 * int(marked.sum()) / max(placed, 1)
    return marked, f"{int(marked.sum()):,} of {placed:,} texts ({share:.1f}%) are none of these."


def tree_lines(
    levels: Sequence[Sequence[Cluster]], clusters: Sequence[Cluster], most: int = LINES
) -> list[str]:
    """The hierarchy as lines for a terminal; levels that would not fit are only counted.

    Parameters
    ----------
    levels : sequence of sequences of Cluster
        Coarse to fine, without the clustering itself.
    clusters : sequence of Cluster
    most : int
    """
    from coterie.report import cluster_tree
    from coterie.report.points import visible

    everything = [*levels, clusters]
    shown, lines = 1, len(everything[0])
    while shown < len(everything) and lines + len(everything[shown]) <= most:
        lines += len(everything[shown])
        shown += 1

    def draw(branches: Sequence[Any], depth: int, indent: str) -> list[str]:
        out = []
        for branch in branches:
            hidden = depth == shown and branch.children
            more = f", {len(branch.children)} inside" if hidden else ""
            name, texts = visible(branch.cluster.name), f"{branch.cluster.size:,}"
            out.append(f"{indent}{name}  ({texts}{more})")
            if not hidden:
                out += draw(branch.children, depth + 1, indent + "  ")
        return out

    return draw(cluster_tree(levels, clusters), 1, "")
