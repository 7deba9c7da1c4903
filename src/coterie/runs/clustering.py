"""``coterie.cluster``: texts in, a :class:`~coterie.Run` out; what the command line calls, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from coterie._folders import held, refuse_held
from coterie._progress import make_progress, say
from coterie._ranks import is_first
from coterie.base import TextClusterer
from coterie.choose import Choice, choose_n_clusters
from coterie.corpus import Corpus
from coterie.encoders import DEFAULT
from coterie.run_files import model_folder
from coterie.runs.folder import RunFolder, refuse_taken
from coterie.runs.options import Options
from coterie.runs.outputs import check_run_output
from coterie.runs.results import make_results
from coterie.runs.run import Run
from coterie.runs.sample import AnyCorpus, bundled, read_texts, refuse_sampled


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a run that can be resumed."""


def cluster(
    data: Any,
    n_clusters: int | Literal["auto"] | None = None,
    method: str = "auto",
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Run:
    """Cluster texts: read, find the number of clusters, fit, describe, mark outliers.

    This is what ``coterie cluster`` does. More rows than 100,000 are clustered by a sample, and
    all rows are then assigned.

    Parameters
    ----------
    data : str, Path, list of str, Series, DataFrame or Arrow table
        A string or a path names a file: CSV, TSV, JSON lines, Parquet or plain text; ``"-"`` is
        standard input, and ``"sample"`` the support messages that come with coterie.
    n_clusters : int or "auto", optional
        Exactly so many clusters; "auto" estimates the number, as does None without ``levels``.
    method : str, default="auto"
        See ``coterie methods``.
    folder : str or Path, optional
        Where the files of the run go. Default: a temporary folder that is deleted with the
        :class:`Run`; :meth:`Run.save` keeps it.
    resume : bool, default=False
        Continue an interrupted run in ``folder``; the result is the same, byte for byte.
    overwrite : bool, default=False
        Replace an earlier run in ``folder``.
    **options
        ``encoder``, ``preset``, ``effort`` and ``views``, as for the methods; ``settings``, a dict
        of other parameters of the method; ``seed`` (default 0) and ``device``.
        ``levels``, such as ``(5, 20, 80)``: nested levels, the last is the clustering.
        ``max_outliers``, such as ``"5%"``: mark texts that fit no cluster.
        ``write``: tables beside ``assignments.csv``, such as ``["xlsx", "parquet"]``.
        ``fit_sample``: fit at most so many different texts; 0 fits all.
        ``keep``: the folder of an earlier run; matched clusters keep number, name and locks.
        ``text_column``, ``id_column``, ``format``, ``encoding`` and ``header`` say how to read.
        ``include_encoder``: copy the encoder into the saved model.
        ``verbose``: 1 shows progress and notes on stderr.

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
    asked = Options.make({"n_clusters": n_clusters, "method": method, **options})
    temporary = None
    if folder is None:
        temporary = TemporaryDirectory(prefix="coterie-")
        folder = Path(temporary.name) / "run"
    path = Path(folder)
    if is_first():
        read = [bundled(str(data)) if isinstance(data, (str, Path)) else None, asked.views]
        check_run_output(path, [name for name in read if isinstance(name, str)])
        refuse_held(path)
        refuse_taken(path, resume=resume, overwrite=overwrite)
    model = asked.make_checked_model()
    corpus = read_texts(data, asked)
    refuse_sampled(corpus, asked)
    if asked.verbose:
        _tell(corpus, model, asked)
    choice = _choose(corpus, asked)
    asked.check_texts(choice.n_clusters, corpus.texts, model)
    model = asked.make_model(choice.n_clusters)
    place = RunFolder(path, asked, model, corpus)
    place.locate(resume=resume, overwrite=overwrite)
    if not is_first():  # one of several processes, but not the one that writes
        if not (resume and place.is_done()):
            model.set_params(checkpoint=place.work / "checkpoint").fit(corpus.texts)
        return Run(path)
    kept = None
    if asked.keep is not None:
        from coterie.editing.keep import read_kept

        kept = read_kept(Path(asked.keep), corpus.texts)
    with held(path):
        if place.begin(resume=resume, overwrite=overwrite) == "done":
            return Run(path, fresh=False)
        with _stoppable(place):
            model = _fit(model, place, corpus)
            found = choice if choice.curve else None
            make_results(place, asked, model, corpus, found, kept).write()
    return Run(
        path,
        model=model if isinstance(corpus, Corpus) else None,
        remarks=place.remarks,
        temporary=temporary,
    )


def _tell(corpus: AnyCorpus, model: TextClusterer, options: Options) -> None:
    """What was read, and what a run on many texts will take."""
    say(f"{len(corpus):,} rows, texts in the column {corpus.text_column!r}")
    for note in corpus.notes:
        say(f"  {note.message}")
    if not isinstance(corpus, Corpus):
        from coterie.runs.estimate import expected

        say(expected(corpus, model, options.wanted))


def _choose(corpus: AnyCorpus, options: Options) -> Choice:
    """The number of clusters, as asked for or as the texts say."""
    if options.wanted is not None:
        k = options.wanted
        return Choice(k, k, k, [], "As asked.")
    choice = choose_n_clusters(
        corpus.texts,
        encoder=options.encoder or DEFAULT,
        random_state=options.seed,
        progress=make_progress(options.verbose),
    )
    if options.verbose:
        say(choice.reason)
    return choice


def _fit(model: TextClusterer, place: RunFolder, corpus: AnyCorpus) -> TextClusterer:
    """The fitted model: of the run that is resumed, if it got that far."""
    if "fitted" in place.manifest:
        from coterie.methods import load

        return load(model_folder(place.work))
    model.checkpoint = place.work / "checkpoint"
    return model.fit(corpus.texts)


@contextmanager
def _stoppable(place: RunFolder) -> Iterator[None]:
    """Ctrl-C and errors leave what is done, with the reason in the manifest."""
    try:
        yield
    except KeyboardInterrupt:
        place.stopped("interrupted", "Ctrl-C")
        raise Stopped from None
    except Exception as error:
        place.stopped("failed", str(error))
        raise
