"""``coterie.cluster``, apart from what it needs: torch is imported when texts are clustered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie.options import Options, with_options

if TYPE_CHECKING:
    from coterie.runs.run import Run


@with_options(Options)
def cluster(data: object, asked: Options) -> Run:
    """Cluster texts: read, find the number of clusters, fit, describe, mark outliers.

    This is what ``coterie cluster`` does, and both have the options of
    :class:`coterie.options.Options`. More rows than 100,000 are clustered by a sample, and all rows
    are then assigned.

    Parameters
    ----------
    data : str, Path, list of str or dict, Series, DataFrame, Arrow table or Hugging Face dataset
        A string or a path names a file: CSV, TSV, JSON lines, Parquet, Arrow, Excel, SQLite or
        plain text; or a folder or pattern of such files. ``"book.xlsx#SHEET"`` is a sheet,
        ``"sqlite:///FILE?query=SELECT ..."`` the rows of a query. A list of paths is several files
        of one table. ``"-"`` is standard input, and ``"sample"`` the support messages that come
        with coterie.
    {options}

    Returns
    -------
    Run

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car", "old car"]
    >>> run = cluster(texts, 2, method="kmeans", encoder="tfidf")
    >>> [cluster.size for cluster in run.clusters]
    [3, 3]
    >>> run.predict(["my apple"])["name"].to_pylist() == [run.clusters[run.labels[0]].name]
    True
    """
    from coterie.runs.fit import make_run
    from coterie.runs.run import Run

    return Run(**vars(make_run(data, asked)))
