"""``coterie cluster``: a file of texts in, a folder with clusters, table, page and model out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import UsageError
from coterie._ranks import is_first
from coterie.cli.handover import Levels, MaxOutliers, Write, read_plan
from coterie.cli.name import NameModel, NameWith, ShowRequest, make_asker
from coterie.cli.options import (
    AsJson,
    Device,
    Encoding,
    File,
    Format,
    Header,
    IdColumn,
    NoCache,
    Quiet,
    TextColumn,
    parse_settings,
)
from coterie.cli.overview import show_run
from coterie.cli.talk import say


def cluster(
    file: File,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-k",
            help="How many clusters, or auto: found from the texts, which is the default.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="See 'coterie methods'. Default: auto."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="A model folder or name, static:FOLDER, tfidf, tfidf-svd, bow, sif or lda. "
            "hub:NAME allows a download.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write. Default: FILE.clusters.")
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    views: Annotated[
        str | None,
        typer.Option(
            "--views",
            help="CSV with augmented texts (columns text, text1, text2), or a kind as in "
            "coterie augment: eda, contextual:FOLDER, ...",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="A method's named settings, e.g. official-code.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE for a parameter of the method; may be repeated."),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(
            "--effort", help="quick, standard or best: how many k-means runs 'auto' combines."
        ),
    ] = None,
    levels: Levels = None,
    max_outliers: MaxOutliers = None,
    write: Write = None,
    fit_sample: Annotated[
        int | None,
        typer.Option(
            "--fit-sample",
            help="Fit at most so many different texts, then assign all rows. Default: 25000 if "
            "there are more than 100000 rows, otherwise all. 0 is all in any case.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same clusters.")] = 0,
    device: Device = "auto",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run in the same folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier run in the same folder.")
    ] = False,
    include_encoder: Annotated[
        bool, typer.Option("--include-encoder", help="Copy the encoder into the saved model.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="An earlier run: matched clusters keep number, name, locks."),
    ] = None,
    name_with: NameWith = None,
    name_model: NameModel = None,
    show_request: ShowRequest = False,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    header: Header = None,
    quiet: Quiet = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Cluster the texts of a file.

    Writes a folder with assignments.csv (all your columns, plus cluster, name, confidence,
    runner_up, margin, outlier and outlier_score), clusters.json, report.html, model/ and
    manifest.json. Where the number of clusters is found and there are more than ten, they are
    grouped into broad themes (columns theme and theme_name). The word "sample" in the place of a
    file stands for a thousand support messages that come with coterie.

    Examples:

        coterie cluster sample
        coterie cluster tickets.csv --clusters 15
        coterie cluster tickets.csv --levels 5,20,80 --max-outliers 5% --write xlsx
        coterie cluster titles.txt -k 20 --method sccl --set steps=500 --device cuda
        cat posts.jsonl | coterie cluster - -k 8 --text-column body --out posts
    """
    from coterie._folders import held, refuse_held
    from coterie.cli.claim import refuse_taken
    from coterie.cli.large import refuse_whole
    from coterie.cli.outputs import check_run_output

    path, quiet = out or _default_out(file), quiet or not is_first()
    if is_first():
        check_run_output(path, [_bundled(file), views])
        refuse_held(path)
        refuse_taken(path, resume=resume, overwrite=overwrite)
    plan = read_plan(levels, max_outliers, write)
    asker = make_asker(name_with, name_model, show_request, as_json)
    name, wanted = method or "auto", plan.clusters(clusters)
    given: dict[str, Any] = {"encoder": encoder, "views": views, "random_state": seed}
    given |= {"device": device, "verbose": 0 if quiet else 1, "effort": effort}
    tried = _checked(_make(name, 2, preset, settings or [], given))
    reading: dict[str, Any] = {"text_column": text_column, "id_column": id_column}
    reading |= {"format": format, "encoding": encoding, "header": header}
    corpus = _read(file, reading, (fit_sample, wanted, seed), quiet)
    refuse_whole(corpus, keep=keep, views=views, **{"write xlsx": "xlsx" in plan.formats})
    _tell_cost(corpus, tried, wanted, quiet)
    choice = _how_many(wanted, corpus.texts, given, quiet)
    plan.check(choice.n_clusters, corpus.texts, tried)
    model = _make(name, choice.n_clusters, preset, settings or [], given)
    folder = _folder(path, name, model, corpus, plan)
    folder.locate(resume=resume, overwrite=overwrite)
    if _only_helped(folder, resume=resume):
        return
    folder.choice = choice.to_dict() if choice.curve else None
    folder.themes = wanted is None
    folder.keep(keep)
    with held(path):
        if folder.begin(resume=resume, overwrite=overwrite) == "done":
            say(f"{folder.path} holds this run already, finished.")
            _named(asker, folder, [], quiet)
            return
        with _stoppable(folder):
            _fit(model, folder)
            described = folder.finish(include_encoder=include_encoder)
        described = _named(asker, folder, described, quiet)
    show_run(described, folder, as_json=as_json)


def _folder(path: Path, name: str, model: Any, corpus: Any, plan: Any) -> Any:
    """The folder of the run, for a corpus that is fitted whole or by a sample."""
    from coterie.cli.large_folder import LargeFolder
    from coterie.cli.run_folder import RunFolder
    from coterie.corpus import Corpus

    kind = RunFolder if isinstance(corpus, Corpus) else LargeFolder
    return kind(path, name, model, corpus, plan)


def _checked(model: Any) -> Any:
    """Refuse options that cannot be before the texts are read, which may take long."""
    from coterie._validation import check_device
    from coterie.encoders import check_encoder

    model._check_parameters()
    check_device(model.device)
    if model.encoder != type(model).encoder:  # some methods have one of their own
        check_encoder(model.encoder)
    return model


def _tell_cost(corpus: Any, model: Any, clusters: int | None, quiet: bool) -> None:
    """What a run on many texts will take, before it takes it."""
    from coterie.cli.large import expected
    from coterie.corpus import Corpus

    if not quiet and not isinstance(corpus, Corpus):
        say(expected(corpus, model, clusters))


def _only_helped(folder: Any, *, resume: bool) -> bool:
    """Whether this is one of several processes, but not the one that writes; if so, it fits."""
    if not is_first() and not (resume and folder.is_done()):
        folder.model.set_params(checkpoint=folder.work / "checkpoint").fit(folder.corpus.texts)
    return not is_first()


def _read(
    file: str, reading: dict[str, Any], sampling: tuple[int | None, int | None, int], quiet: bool
) -> Any:
    """The corpus, whole or by a sample, and what is odd about it."""
    from coterie._progress import make_progress
    from coterie.cli.large import read_any

    corpus = read_any(_bundled(file), reading, sampling, make_progress(0 if quiet else 1))
    if not quiet:
        say(f"{len(corpus):,} rows, texts in the column {corpus.text_column!r}")
        for note in corpus.notes:
            say(f"  {note.message}")
    return corpus


def _fit(model: Any, folder: Any) -> None:
    """Fit the model, unless a run that is continued has done so."""
    if not folder.fitted:
        model.checkpoint = folder.work / "checkpoint"
        model.fit(folder.corpus.texts)


@contextmanager
def _stoppable(folder: Any) -> Iterator[None]:
    """Ctrl-C leaves what is done, and the way to go on."""
    try:
        yield
    except KeyboardInterrupt:
        folder.stopped("interrupted", "Ctrl-C")
        again = [argument for argument in sys.argv[1:] if argument != "--resume"]
        say(f"\nStopped. Continue with:\n  coterie {shlex.join([*again, '--resume'])}")
        raise
    except Exception as error:
        folder.stopped("failed", str(error))
        raise


def _named(asker: Any, folder: Any, described: list[Any], quiet: bool) -> list[Any]:
    """The clusters with names from an endpoint, if one was given."""
    return described if asker is None else asker.after(folder.path, quiet=quiet)


def _make(
    name: str, clusters: int, preset: str | None, settings: list[str], given: dict[str, Any]
) -> Any:
    """The estimator, with the options that were given; what was not stays as the method has it."""
    from coterie._validation import check_choice
    from coterie.methods import METHODS

    recipe = METHODS[check_choice("--method", name, METHODS)]
    chosen = {key: value for key, value in given.items() if value is not None}
    if "effort" in chosen and not hasattr(recipe.cls, "effort"):
        raise UsageError(f"--effort is for the method 'auto', not for {name!r}.")
    if "views" in chosen and not hasattr(recipe.cls, "views"):
        raise UsageError(f"--views: the method {name!r} trains nothing and takes no views.")
    return recipe.make(clusters, preset, **{**chosen, **parse_settings(settings, recipe.cls)})


def _how_many(clusters: int | None, texts: list[str], given: dict[str, Any], quiet: bool) -> Any:
    """The number of clusters, as asked for or as the texts say."""
    from coterie._progress import make_progress
    from coterie.choose import Choice, choose_n_clusters
    from coterie.encoders import DEFAULT

    if clusters is not None:
        return Choice(clusters, clusters, clusters, [], "As asked.")
    choice = choose_n_clusters(
        texts,
        encoder=given["encoder"] or DEFAULT,
        random_state=given["random_state"],
        progress=make_progress(0 if quiet else 1),
    )
    if not quiet:
        say(choice.reason)
    return choice


def _bundled(file: str) -> str:
    """The word "sample" stands for the bundled messages, unless there is a file of that name."""
    from importlib import resources

    if file != "sample" or Path(file).is_file():
        return file
    return str(resources.files("coterie") / "sample" / "support.csv")


def _default_out(file: str) -> Path:
    path = Path(file)
    if file == "-" or path.is_fifo():
        raise UsageError("--out is needed when the texts come from standard input or a pipe.")
    return path.with_name(f"{path.stem}.clusters")
