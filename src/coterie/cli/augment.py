"""``coterie augment``: each text in other words, for methods that train on pairs."""

from __future__ import annotations

import sys
from pathlib import Path

from coterie._progress import make_progress, say
from coterie.cli import options
from coterie.cli.options import beside, option
from coterie.cli.talk import say_header, show_json
from coterie.errors import UsageError


def augment(
    file: str = options.FILE,
    kind: str = option(
        "eda",
        "eda, wordnet, contextual, charswap, deletion or backtranslation; with a rate: eda@0.1; "
        "one after the other: wordnet+charswap.",
    ),
    out: Path | None = option(
        None,
        "File to write, format by suffix. Default: FILE.views.csv, or stdout for -.",
        "--out -o",
    ),
    augmentations: int = option(
        2, "Number of augmentations per text: text1, text2, ...", "--augmentations -n"
    ),
    rate: float | None = option(None, "Share of words to change. Default: 0.2; contextual 0.1."),
    model: str | None = option(
        None,
        "contextual: folder or name of a masked language model. backtranslation: an Apertium pair "
        "(eng-spa) or two models, THERE,BACK.",
    ),
    languages: str | None = option(None, "FROM,TO for a translation model of many languages."),
    text_column: str | None = options.TEXT_COLUMN,
    seed: int = option(0, "Same seed, same augmentations."),
    device: str = options.DEVICE,
    format: str = options.FORMAT,
    encoding: str = options.ENCODING,
    header: bool | None = options.HEADER,
    quiet: bool = options.QUIET,
    no_cache: bool = options.NO_CACHE,
    as_json: bool = options.AS_JSON,
) -> None:
    """Make augmentations of each text, for methods that train on pairs.

    Writes the columns text, text1, text2, ... and then all other columns of the file. An
    augmentation depends on the text, the seed and the settings only. The output of language models
    is cached in the folder COTERIE_CACHE.

    Examples:

        coterie augment tickets.csv --kind charswap
        coterie augment tickets.csv --kind eda --rate 0.1 -n 1 --out tickets.eda.csv
        coterie augment tickets.csv --kind contextual --model FOLDER
        coterie cluster tickets.csv -k 15 --method sccl --set views=tickets.views.csv
    """
    import pyarrow as pa

    from coterie.augmentation import make_augmenter, reword
    from coterie.corpus import read_corpus, write_rows
    from coterie.corpus.write import write_stream
    from coterie.runs.outputs import check_output, is_reworded
    from coterie.runs.sample import bundled

    if augmentations < 1:
        raise UsageError(f"--augmentations should be at least 1, got {augmentations}.")
    path = None
    if file != "-" or out is not None:
        path = out or beside(file, ".views.csv")
        check_output(path, [bundled(file), model], wrote=is_reworded)
        if out is None and path.exists():
            raise UsageError(f"{path} already exists; name it with --out to replace it.")
    corpus = read_corpus(
        bundled(file), text_column=text_column, format=format, encoding=encoding, header=header
    )
    say_header(() if quiet else corpus.notes)
    augmenter = make_augmenter(
        kind, rate=rate, model=model, device=device, languages=_pair(languages)
    )
    if not augmenter.seeded and augmentations > 1:
        say(f"{kind} has no random choices: one augmentation is made.")
        augmentations = 1
    progress = make_progress(0 if quiet else 1)
    made = [reword(augmenter, corpus.texts, seed, i + 1, progress) for i in range(augmentations)]
    views = {"text": corpus.texts, **{f"text{i}": list(view) for i, view in enumerate(made, 1)}}
    others = corpus.table.drop_columns([corpus.text_column])
    if path is None:
        write_stream(sys.stdout, pa.table(views), others, "csv")
    else:
        write_rows(path, pa.table(views), others)
    shares = {f"text{i}": view.unchanged for i, view in enumerate(made, 1)}
    if as_json and path is not None:
        facts = {"out": str(path), "rows": len(corpus.texts), "unchanged": shares}
        show_json(facts | {"settings": made[0].settings}, indent=None)
    elif not quiet:
        told = ", ".join(f"{name} {100 * share:.1f}%" for name, share in shares.items())
        say(f"{len(made[0]):,} rows{f' written to {path}' if path else ''}; unchanged: {told}")


def _pair(said: str | None) -> tuple[str, str] | None:
    if said is None:
        return None
    first, _, second = said.partition(",")
    if not first or not second:
        raise UsageError(f"--languages {said}: expected FROM,TO, e.g. eng_Latn,spa_Latn.")
    return first.strip(), second.strip()
