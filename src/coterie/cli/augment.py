"""``coterie augment``: augmentations of the texts of a file, or a model that makes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import UsageError
from coterie._progress import say
from coterie.cli.options import (
    AsJson,
    Device,
    Encoding,
    File,
    Format,
    Header,
    NoCache,
    Quiet,
    TextColumn,
)
from coterie.cli.talk import say_header

HEAD = "Of --train-head: "


def augment(
    file: File,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="eda, wordnet, contextual, charswap, deletion or backtranslation; with a rate: "
            "eda@0.1; one after the other: wordnet+charswap.",
        ),
    ] = "eda",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, by its suffix; a folder with --train-head. "
            "Default: FILE.views.csv, CSV to stdout for -, or FILE.head.",
        ),
    ] = None,
    wordings: Annotated[
        int, typer.Option("--wordings", "-n", help="How many of each text: text1, text2, ...")
    ] = 2,
    rate: Annotated[
        float | None,
        typer.Option("--rate", help="Share of words to change. Default: 0.2; contextual 0.1."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="contextual: folder or name of a masked language model. backtranslation: an "
            "Apertium pair (eng-spa) or two models, THERE,BACK.",
        ),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option("--languages", help="FROM,TO for a translation model of many languages."),
    ] = None,
    text_column: TextColumn = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same wordings.")] = 0,
    device: Device = "auto",
    train_head: Annotated[
        bool,
        typer.Option("--train-head", help="Fit a masked language model for --kind contextual."),
    ] = False,
    encoder: Annotated[str | None, typer.Option("--encoder", help=HEAD + "to begin with.")] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option("--also", help=HEAD + "a further file of texts; may be repeated."),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", help=HEAD + "training steps.")] = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    header: Header = None,
    quiet: Quiet = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Make augmentations of each text, for methods that train on pairs (--views).

    Writes the columns text, text1, text2, ... and then all other columns of the file. A wording
    depends on the text, the seed and the settings alone. What a language model made is kept on
    disk (see coterie cache), so that a stopped run goes on where it was.

    Examples:

        coterie augment tickets.csv --kind charswap
        coterie augment tickets.csv --kind eda --rate 0.1 --wordings 1 --out tickets.eda.csv
        coterie augment tickets.csv --train-head --out tickets.head
        coterie augment tickets.csv --kind contextual --model tickets.head
        coterie cluster tickets.csv -k 15 --method sccl --views tickets.views.csv
    """
    from coterie.corpus import read_corpus
    from coterie.runs.outputs import check_head_folder, check_output, is_reworded
    from coterie.runs.sample import bundled

    if wordings < 1:
        raise UsageError(f"--wordings should be at least 1, got {wordings}.")
    path = None
    if train_head:
        path = _place(file, out, ".head")
        check_head_folder(path)
    elif file != "-" or out is not None:
        path = _place(file, out, ".views.csv")
        check_output(path, [bundled(file), model, *(also or [])], wrote=is_reworded)
        if out is None and path.exists():
            raise UsageError(f"{path} is there already; name it with --out to replace it.")
    corpus = read_corpus(
        bundled(file), text_column=text_column, format=format, encoding=encoding, header=header
    )
    shown = 0 if quiet else 1
    say_header(() if quiet else corpus.notes)
    if train_head:
        assert path is not None
        _train(corpus.texts, path, also or [], as_json, {
            "encoder": encoder, "steps": steps, "random_state": seed, "device": device,
            "verbose": shown,
        })  # fmt: skip
        return
    if encoder or also or steps:
        raise UsageError("--encoder, --also and --steps are for --train-head.")
    options = {"rate": rate, "model": model, "device": device, "languages": _pair(languages)}
    made = _wordings(corpus.texts, kind, wordings, (seed, shown), options)
    _write(corpus, made, path)
    _report(made, path, quiet=quiet, as_json=as_json)


def _pair(said: str | None) -> tuple[str, str] | None:
    if said is None:
        return None
    first, _, second = said.partition(",")
    if not first or not second:
        raise UsageError(f"--languages {said}: expected FROM,TO, e.g. eng_Latn,spa_Latn.")
    return first.strip(), second.strip()


def _place(file: str, out: Path | None, ending: str) -> Path:
    if out is not None:
        return out
    path = Path(file)
    if file == "-" or path.is_fifo():
        raise UsageError("--out is needed when the texts come from standard input or a pipe.")
    return path.with_name(f"{path.stem}{ending}")


def _wordings(
    texts: list[str], kind: str, count: int, said: tuple[int, int], options: dict[str, Any]
) -> list[Any]:
    """All wordings by one augmenter, so that a model is loaded once."""
    from coterie._progress import make_progress
    from coterie.augmentation import make_augmenter, reword

    seed, shown = said
    augmenter = make_augmenter(kind, **options)
    if not augmenter.seeded and count > 1:
        say(f"{kind} gives the same wording every time: one is made.")
        count = 1
    try:
        progress = make_progress(shown)
        return [reword(augmenter, texts, seed, view, progress) for view in range(1, count + 1)]
    finally:
        augmenter.close()


def _write(corpus: Any, made: list[Any], path: Path | None) -> None:
    import pyarrow as pa

    from coterie.corpus import write_rows
    from coterie.corpus.write import write_stream

    views = {"text": corpus.texts, **{f"text{i}": list(view) for i, view in enumerate(made, 1)}}
    others = corpus.table.drop_columns([corpus.text_column])
    table = pa.table(views)
    if path is None:
        write_stream(sys.stdout, table, others, "csv")
        sys.stdout.flush()
    else:
        write_rows(path, table, others)


def _report(made: list[Any], path: Path | None, *, quiet: bool, as_json: bool) -> None:
    shares = {f"text{i}": view.unchanged for i, view in enumerate(made, 1)}
    if as_json and path is not None:
        facts = {"out": str(path), "rows": len(made[0]), "unchanged": shares}
        typer.echo(json.dumps(facts | {"settings": made[0].settings}))
    elif not quiet:
        told = ", ".join(f"{name} {100 * share:.1f}%" for name, share in shares.items())
        where = "" if path is None else f" written to {path}"
        say(f"{len(made[0]):,} rows{where}; unchanged: {told}")


def _train(
    texts: list[str], folder: Path, also: list[Path], as_json: bool, said: dict[str, Any]
) -> None:
    from coterie.corpus import read_corpus
    from coterie.encoders import DEFAULT
    from coterie.masked_words import HeadSettings, train_masked_head

    more = [text for path in also for text in read_corpus(str(path)).texts]
    encoder = said.pop("encoder") or DEFAULT
    found = train_masked_head(
        texts, folder, more=more, encoder=encoder, settings=HeadSettings(**said)
    )
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **found}))
        return
    typer.echo(
        f"{found['hidden_tokens']:,} hidden tokens of {found['held_out_texts']:,} texts it never "
        f"saw: first guess right {100 * found['top1']:.1f}%, one of five "
        f"{100 * found['top5']:.1f}% (always the most frequent: "
        f"{100 * found['frequent_top1']:.1f}%, {100 * found['frequent_top5']:.1f}%)"
    )
    typer.echo(f"model  {folder}   (coterie augment FILE --kind contextual --model {folder})")
