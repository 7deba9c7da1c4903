"""From texts to a finished run in a folder: :func:`coterie.cluster`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pyarrow as pa

from coterie._util.facts import now, versions
from coterie._util.folders import check_replaceable, delete, held, refuse_held, replace_folder
from coterie._util.progress import make_progress, say
from coterie._util.threads import one_blas_thread
from coterie._util.trust import inside
from coterie._util.validation import check_path
from coterie.encoders import Encoder
from coterie.errors import UsageError, counted
from coterie.models.choose import Choice, choose_n_clusters
from coterie.models.clusterer import TextClusterer
from coterie.models.fitting import Fitting, number_encoder
from coterie.models.guidance import Guidance
from coterie.options import ClusterOptions
from coterie.runs.guide import about_guidance, read_guidance
from coterie.runs.outputs import check_run_output
from coterie.runs.results import Results
from coterie.runs.run import Run
from coterie.runs.sample import files_of, read_texts
from coterie.runs.store import TRAINING, refuse_taken
from coterie.runs.table import index_of
from coterie.texts import Corpus

HISTORY = "history.jsonl"  # of a training, step by step
# Parameters of an estimator that do not change the result.
NOT_DECISIVE = {"verbose", "checkpoint", "checkpoint_every", "device"}


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a training that can be continued."""


def cluster(  # noqa: PLR0913 - all that can be asked of a run
    data: object,
    n_clusters: int | Literal["auto"] | None = None,
    method: str = "auto",
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    header: bool | None = None,
    vectors: object = None,
    levels: Sequence[int] = (),
    max_outliers: float | str | None = None,
    themes: str | Path | Sequence[str | Mapping[str, object]] | None = None,
    labels: str | Sequence[object] | None = None,
    only_known: bool = False,
    keep: str | Path | None = None,
    folder: str | Path | None = None,
    write: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    include_encoder: bool = False,
    encoder: str | Path | Encoder | None = None,
    preset: str | None = None,
    effort: Literal["quick", "standard", "best"] | None = None,
    views: str | Path | Sequence[Sequence[str]] | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
    device: str = "auto",
    precision: Literal["auto", "float32"] = "auto",
    fit_sample: int | None = None,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    verbose: int = 0,
) -> Run:
    """Cluster texts: read, find the number of clusters, fit, describe, mark outliers.

    This is what ``coterie cluster`` does. More rows than 100,000 are clustered by a sample, and all
    rows are then assigned.

    Parameters
    ----------
    data : str, Path, list of str or dict, Series, DataFrame, Arrow table or Hugging Face dataset
        A string or a path names a file: CSV, TSV, JSON lines, Parquet, Arrow, Excel or plain text;
        or a folder or pattern of such files. ``"book.xlsx#SHEET"`` is a sheet. A list of paths is
        several files of one table. ``"-"`` is standard input, and ``"sample"`` the support messages
        that come with coterie.
    n_clusters : int or "auto", optional
        Without it, or with "auto", the number is estimated.
    method : str, default="auto"
        A name in :data:`coterie.METHODS`.
    text_column, id_column : str, optional
        Columns with the texts, by default detected, and with ids of the rows.
    format : str, default="auto"
        csv, tsv, jsonl, parquet, arrow, xlsx or txt; auto goes by the name of the file.
    encoding : str, default="utf-8"
        Of the file, such as cp1252.
    header : bool, optional
        Whether the first row of a CSV, TSV or Excel file has the column names.
    vectors : str, Path or array, optional
        Your own embeddings in place of an encoder: a column, or a file (.npy, .parquet) or an array
        with a row for each row.
    levels : list of int, default=()
        Nested levels, coarse to fine, such as ``[5, 20, 80]``; the last is the clustering.
    max_outliers : float | str | None
        Mark at most this share, such as "5%", or number of rows as outliers.
    themes : str, Path or list, optional
        The themes you know, as a YAML or JSON file or as a list: names, or mappings with ``name``,
        ``description``, ``keywords`` and ``examples``.
    labels : str or list, optional
        The classes of some rows: a column, or one value per row; empty values are unlabelled.
    only_known : bool, default=False
        No clusters beside those of themes and labels.
    keep : str or Path, optional
        An earlier run: matched clusters keep number and name.
    folder : str or Path, optional
        Where to write. Default: a temporary folder, which is deleted with the Run unless
        :meth:`Run.save` keeps it.
    write : list of str, default=()
        Tables beside assignments.csv: xlsx, parquet, jsonl.
    resume : bool, default=False
        Continue a stopped training from its checkpoint; the result is the same.
    overwrite : bool, default=False
        Replace an earlier run in the same folder.
    include_encoder : bool, default=False
        Copy the encoder into the saved model.
    encoder : str, Path or Encoder, optional
        A model folder or name, multilingual, lexical, tfidf, ...; "hub:NAME" allows a download.
    preset : str, optional
        Of the method, such as "official-code".
    effort : {"quick", "standard", "best"}, optional
        Number of k-means runs of the method "auto".
    views : str, Path or list of pairs, optional
        Augmented texts: a CSV with the columns text, text1 and text2, two texts for each, or a kind
        of augmentation such as "eda".
    settings : dict, optional
        Other parameters of the method.
    seed : int, default=0
        Same seed, same clusters.
    device : str, default="auto"
        auto, cpu or cuda.
    precision : {"auto", "float32"}, default="auto"
        Of the encoder: auto is 8 bits where nothing is trained on a CPU; float32 is exact.
    fit_sample : int, optional
        Fit a sample of this many different texts, then assign all rows. Default: 25000 if there are
        more than 100000 rows, otherwise all. 0 fits all.
    engine : {"local", "ray"}, default="local"
        ray distributes the rows of Parquet files over a Ray cluster; the result is the same.
    workers : int, optional
        Processes of the engine ray. Default: one per GPU, or per 4 CPUs.
    verbose : int, default=0
        1 shows progress and notes on stderr.

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
    given = dict(locals())
    del given["data"]
    options = ClusterOptions(**given | {"settings": settings or {}})
    with one_blas_thread():
        return _make_run(data, options)


def _make_run(data: object, asked: ClusterOptions) -> Run:
    taken = {"resume": asked.resume, "overwrite": asked.overwrite}
    path, temporary = asked.folder, None
    if path is None:
        temporary = TemporaryDirectory(prefix="coterie-")
        path = Path(temporary.name) / "run"
    read = [*(check_path("data", str(file)) for file in files_of(data)), asked.views]
    check_run_output(path, [name for name in read if isinstance(name, (str, Path))])
    refuse_held(path)
    refuse_taken(path, **taken)
    check_replaceable(path)
    model = asked.make_checked_model()
    corpus, encoder = read_texts(data, asked)
    if encoder is not None:  # vectors of the user's own
        model.encoder = encoder
        asked = asked.model_copy(update={"encoder": encoder, "vectors": None})
    earlier = None
    if asked.keep is not None:
        from coterie.runs.editing.keep import read_earlier

        earlier = read_earlier(asked.keep, corpus.texts)
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
            results = Results(facts, asked, model, corpus, earlier)

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
        options: ClusterOptions,
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
        if found is not None and not options.levels and options.keep is None and not self.guidance:
            k = self.model._fit_finer(k, found.levels.get("fine", k))
        options.check_texts(k, self.corpus.texts, lambda: self.fitting.inputs.n_distinct)
        self.model.n_clusters = k
        return found if found is not None and found.curve else None

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


def begin_facts(
    options: ClusterOptions, model: TextClusterer, corpus: Corpus, choice: Choice | None
) -> dict[str, Any]:
    """What the manifest says about a run before it is fitted."""
    facts: dict[str, Any] = {
        "started": now(),
        "method": options.method,
        "parameters": _parameters(model),
        "handover": options.handover(),
        "data": {
            "rows": len(corpus),
            "text_column": corpus.text_column,
            "id_column": corpus.id_column,
            "sha256": corpus.sha256,
            "notes": [note.message for note in corpus.notes],
            **_types(corpus.table.schema),
        },
        "versions": versions(),
        "number_of_clusters": None if choice is None else choice.to_dict(),
    }
    if corpus.large is not None:
        found = corpus.large.survey
        facts["fit_sample"] = len(found.texts)
        facts["data"] |= {"texts": found.filled, "different_texts": found.distinct}
    return facts


def _parameters(model: TextClusterer) -> dict[str, Any]:
    """Parameters that decide the result, as JSON reads them back."""
    given = model.get_params(deep=False).items()
    simple = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, simple) else str(value)
        for name, value in given
        if name not in NOT_DECISIVE
    }


def _types(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """What the manifest says about the columns that are no texts, by their names; or nothing."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    kinds = (*numbers, pa.types.is_temporal, pa.types.is_dictionary)
    types = {kind.name: str(kind.type) for kind in schema if any(is_a(kind.type) for is_a in kinds)}
    return {"types": types} if types else {}
