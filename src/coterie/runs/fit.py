"""From texts to a finished run in a folder: :func:`coterie.cluster`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from coterie._util.folders import check_replaceable, delete, held, refuse_held, replace_folder
from coterie._util.progress import make_progress, say
from coterie._util.threads import one_blas_thread
from coterie._util.trust import inside
from coterie._util.validation import check_path
from coterie.errors import UsageError, counted
from coterie.models.auto import Auto
from coterie.models.choose import Choice, choose_n_clusters
from coterie.models.clusterer import TextClusterer
from coterie.models.fitting import Fitting, number_encoder
from coterie.models.guidance import Guidance
from coterie.options import Options, with_options
from coterie.runs.folder import TRAINING, begin_facts, refuse_taken
from coterie.runs.guide import about_guidance, read_guidance
from coterie.runs.outputs import check_run_output
from coterie.runs.results import Results
from coterie.runs.run import Run
from coterie.runs.run_files import index_of
from coterie.runs.sample import files_of, read_texts
from coterie.texts import Corpus

HISTORY = "history.jsonl"  # of a training, step by step


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a training that can be continued."""


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
    with one_blas_thread():
        return _make_run(data, asked)


def _make_run(data: object, asked: Options) -> Run:
    taken = {"resume": asked.resume, "overwrite": asked.overwrite}
    folder, temporary = asked.folder, None
    if folder is None:
        temporary = TemporaryDirectory(prefix="coterie-")
        folder = Path(temporary.name) / "run"
    path = Path(folder)
    read = [*(check_path("data", str(file)) for file in files_of(data)), asked.views]
    check_run_output(path, [name for name in read if isinstance(name, (str, Path))])
    refuse_held(path)
    refuse_taken(path, **taken)
    check_replaceable(path)
    model = asked.make_checked_model()
    corpus, encoder = read_texts(data, asked)
    if encoder is not None:  # vectors of the user's own
        model.encoder, asked = encoder, replace(asked, encoder=encoder, vectors=None)
    earlier = None
    if asked.keep is not None:
        from coterie.runs.editing.keep import read_earlier

        earlier = read_earlier(Path(asked.keep), corpus.texts)
    guidance = read_guidance(asked, corpus) if corpus.large is None else None
    fit = RunFit(model, corpus, asked, guidance)
    choice = fit.choose()
    facts = begin_facts(asked, model, corpus, choice)
    with held(path):
        refuse_taken(path, **taken)
        with _training(path, resume=asked.resume) as place:
            if hasattr(model, "checkpoint"):  # it trains
                model.checkpoint = place / "checkpoint"
            fit.fitting.run()
            if guidance is not None:
                facts["guidance"] = about_guidance(guidance, model)
            results = Results(facts, asked, model, corpus, earlier, fit.medium)

            def write(fresh: Path) -> None:
                if (place / HISTORY).exists():
                    (place / HISTORY).replace(fresh / HISTORY)
                results.write(fresh)

            replace_folder(path, write)
    return Run(
        path,
        model=model if corpus.large is None else None,
        remarks=results.remarks,
        temporary=temporary,
        index=index_of(data),
    )


@contextmanager
def _training(path: Path, *, resume: bool) -> Iterator[Path]:
    """Where the checkpoints of a method lie; it stays after an error if one is there."""
    place = inside(path, TRAINING)
    if not resume:
        delete(place)
    try:
        yield place
    except BaseException as error:
        if not any(place.glob("checkpoint*")):
            delete(place)
        elif isinstance(error, KeyboardInterrupt):
            raise Stopped from None
        raise


class RunFit:
    """The number of clusters and the fit of a run, from one reading of the texts.

    Texts are cleaned when they are read. The encoder is loaded, and the texts are tokenised and
    encoded, when a step first needs it; choosing the number of clusters and fitting use the same
    vectors. The model is not fitted; :meth:`choose` sets its number of clusters.
    """

    def __init__(
        self,
        model: TextClusterer,
        corpus: Corpus,
        options: Options,
        guidance: Guidance | None = None,
    ) -> None:
        self.model, self.corpus, self.options = model, corpus, options
        self.guidance = guidance
        if options.verbose:
            say(f"{counted(len(corpus), 'row')}, texts in the column {corpus.text_column!r}")
            for note in corpus.notes:
                say(f"  {note.message}")

    @cached_property
    def fitting(self) -> Fitting:
        """The encoder and the texts as it takes them."""
        guidance = self.guidance if self.model._uses_guidance() else None
        return self.model._fitting(self.model, self.corpus.texts, guidance=guidance)

    def choose(self) -> Choice | None:
        """Set the number of clusters: as asked for, or found.

        Returns None if nothing had to be found.
        """
        options, found = self.options, None
        k = options.wanted
        classes = 0 if self.guidance is None else len(self.guidance.names)
        if k is not None and k < classes:
            raise UsageError(
                f"there are {classes} known classes, but `n_clusters={k!r}`; ask for at least "
                f"{classes}."
            )
        if options.only_known:
            k = self._known_classes(classes)
        if k is None:
            found = self._find_number()
            k = max(found.n_clusters, classes)
            if k > found.n_clusters and options.verbose:
                say(f"There are {k} clusters, so that all given ones have a place.")
        self.medium = k
        if found is not None and isinstance(self.model, Auto) and self.grows_tree:
            k = found.levels.get("fine", k)
            self.model._even = True  # sizes are looked at when the fine clusters are merged
        options.check_texts(k, self.corpus.texts, lambda: self.fitting.inputs.n_distinct)
        self.model.n_clusters = k
        return found if found is not None and found.curve else None

    @property
    def grows_tree(self) -> bool:
        """Whether a finer clustering is fitted, whose clusters a tree then merges."""
        asked = self.options
        return not asked.levels and asked.keep is None and self.guidance is None

    def _known_classes(self, classes: int) -> int:
        """How many of the known classes have texts, where there are no other clusters."""
        self.model.n_clusters = classes
        known = self.fitting.find_themes()
        assert known is not None
        if not known.n_classes:
            raise UsageError(
                "`themes`: no text fits any of the themes, and `only_known` allows no other "
                "cluster; give descriptions or examples."
            )
        return known.n_classes

    def _find_number(self) -> Choice:
        encoder = number_encoder(self.model)
        if encoder is self.model.encoder:
            choice = self.fitting.find_number()
        else:  # the method has an encoder of its own
            choice = choose_n_clusters(
                self.corpus.texts,
                encoder=encoder,
                random_state=self.options.seed,
                progress=make_progress(self.options.verbose),
            )
        if self.options.verbose:
            say(choice.reason)
        return choice
