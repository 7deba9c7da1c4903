"""``coterie mask``: a table without personal data, which any other verb takes."""

from __future__ import annotations

import sys
from pathlib import Path

from coterie._util.progress import say
from coterie.cli import options
from coterie.cli.options import option
from coterie.cli.talk import say_reading, show_json
from coterie.errors import DataError, UsageError, counted


def mask(
    file: str = options.FILE,
    out: Path | None = option(
        None, "File to write, format by suffix. Default: CSV to stdout.", "--out -o"
    ),
    names: Path | None = option(None, "File with names to mask, too, one in each line."),
    text_column: str | None = options.TEXT_COLUMN,
    id_column: str | None = option(None, "Column with row ids, which stays as it is."),
    format: str = options.FORMAT,
    encoding: str = options.ENCODING,
    header: bool | None = options.HEADER,
    overwrite: bool = options.OVERWRITE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Replace personal data in a table by words in brackets.

    In all columns it masks e-mail addresses, telephone numbers, IBANs, payment cards, IP addresses
    and links with secrets; in the texts also long numbers, codes, and names in greetings and
    closings. A name in the middle of a sentence is not seen: list it in a file.

    Examples:

        coterie mask tickets.csv --out masked.csv
        coterie mask tickets.csv --names staff.txt --id-column id --out masked.csv
        coterie cluster masked.csv
    """
    from coterie.texts import read_corpus, write_rows
    from coterie.texts.masking import Masker, masked_sentence
    from coterie.texts.write import write_stream

    options.check_free(out, overwrite=overwrite, as_json=as_json)
    try:
        listed = [] if names is None else names.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise UsageError(f"`names`: there is no file {names}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"--names {names} is not UTF-8: {error}") from error
    corpus = read_corpus(
        file,
        text_column=text_column,
        id_column=id_column,
        format=format,
        encoding=encoding,
        header=header,
    )
    say_reading(corpus.notes)
    masker = Masker(listed)
    table = masker.table(corpus.table, corpus.text_column, id_column)
    notes: list[str] = []
    if out is None:
        write_stream(sys.stdout, table, {}, "csv")
    else:
        notes = write_rows(out, table, {})
        say(f"{counted(len(corpus), 'row')} written to {out}")
    if as_json:
        show_json({"rows": len(corpus), "file": str(out), "masked": dict(masker.counts)})
    say("\n".join([masked_sentence(masker.counts), *notes]))
