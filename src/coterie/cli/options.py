"""Options that several verbs share, and how what was typed becomes values."""

from __future__ import annotations

import ast
import dataclasses
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from coterie._util.progress import quietly
from coterie._util.validation import check_choice, did_you_mean
from coterie.cli.streams import log_details
from coterie.errors import UsageError
from coterie.options import ClusterOptions


def option(default: Any, help: str, flags: str = "", **more: Any) -> Any:
    """An option of a verb; ``flags`` as in "--text-column -t", by default the parameter's name."""
    return typer.Option(default, *flags.split(), help=help, **more)


def switch(flag: str, help: str) -> Any:
    """An option without a value, which is off unless it is given."""
    return typer.Option(False, flag, help=help)


def in_silence(context: typer.Context, wanted: bool) -> bool:
    """Say nothing but errors until the verb is done."""
    if wanted:
        context.with_resource(quietly())
    return wanted


def there(folder: Path) -> Path:
    """Refuse a folder that is not there; a killed command may have left it by another name."""
    from coterie._util.folders import mend_folder

    mend_folder(folder)
    if not folder.exists():
        raise typer.BadParameter(f"there is no folder {folder}.")
    return folder


def check_free(out: Path | None, *, overwrite: bool, as_json: bool = False) -> None:
    """Refuse to replace a file unasked, and JSON where the rows go to standard output."""
    if as_json and out is None:
        raise UsageError("--json needs --out; without it the rows go to standard output.")
    if out is not None and out.is_file() and out.stat().st_size and not overwrite:
        raise UsageError(f"`out` {out} already exists; name another, or give `overwrite`.")


def without_cache(context: typer.Context, wanted: bool) -> bool:
    """Switch the cache off until the verb is done."""
    if wanted:
        from coterie.encoders.cache import no_cache

        context.with_resource(no_cache())
    return wanted


RUN = typer.Argument(..., metavar="RUN", callback=there, help="Folder of a finished run.")
RUN_OR_MODEL = typer.Argument(
    ..., metavar="RUN", callback=there, help="Folder of a run, or of a saved model."
)
FILE = typer.Argument(
    ...,
    metavar="FILE",
    help="CSV, TSV, JSONL, Parquet, Arrow, Excel or plain text file; a folder or a "
    "pattern of them; - for standard input.",
)
TEXT_COLUMN = option(None, "Column with the texts. Default: detected.", "--text-column -t")
ID_COLUMN = option(None, "Column with row ids.")
FORMAT = option(
    "auto",
    "csv, tsv, jsonl, parquet, arrow, xlsx or txt. Default: from the file name.",
)
ENCODING = option("utf-8", "Encoding of the file, e.g. cp1252.")
HEADER = option(
    None,
    "Whether the first row of a CSV, TSV or Excel file has the column names. Default: detected.",
    "--header/--no-header",
)
DEVICE = option("auto", "auto, cpu or cuda.")
QUIET = option(False, "Print no progress and no notes.", "--quiet -q", callback=in_silence)
VERBOSE = option(False, "Log details to stderr.", "--verbose -v", callback=log_details)
AS_JSON = switch("--json", "Print JSON.")
OVERWRITE = switch("--overwrite", "Replace the file of --out.")
NO_TEXTS = switch("--no-texts", "Leave out texts, examples and columns of the input.")
NO_CACHE = option(
    False,
    "Do not use the cache of embeddings.",
    "--no-cache",
    callback=without_cache,
)
ENGINE = option("local", "local, or ray: distribute the rows of Parquet files over a Ray cluster.")
WORKERS = option(None, "Processes of --engine ray. Default: one per GPU, or per 4 CPUs.")
FAIL_ABOVE = option(
    None, "Exit code 4 if more than this share of the new texts fit nowhere, e.g. 10%."
)

# Options of cluster that --set takes beside the parameters of the method.
RARE = (
    *("write", "include_encoder", "preset", "effort", "views", "fit_sample"),
    *("format", "encoding", "header"),
)
MORE = option(
    None,
    f"A parameter of the method, see 'coterie methods NAME'; or {', '.join(RARE)}. Repeatable.",
    "--set",
    metavar="KEY=VALUE",
    rich_help_panel="Method",
)
WORDS = {"true": True, "false": False, "none": None}


def parse_settings(pairs: Sequence[str], method: str) -> dict[str, Any]:
    """``["steps=30", "effort=quick"]`` as options of ``cluster``, the method's in ``settings``."""
    from coterie.models.registry import METHODS

    cls = METHODS[check_choice("method", method, METHODS)].cls
    known = [f.name for f in dataclasses.fields(cls) if f.name not in ClusterOptions.model_fields]
    out: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair}: expected KEY=VALUE, e.g. --set steps=500.")
        if key in RARE:
            out[key] = value
        elif key in known:
            out.setdefault("settings", {})[key] = parse_value(value)
        else:
            hint = did_you_mean(key, [*known, *RARE]) or f" Known: {', '.join([*known, *RARE])}."
            raise UsageError(f"--set {pair}: {method} has no parameter {key!r}.{hint}")
    return out


def parse_value(value: str) -> Any:
    """A number, true, false, none, a list, or else the text itself."""
    if value.lower() in WORDS:
        return WORDS[value.lower()]
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def beside(file: str, ending: str) -> Path:
    """The default output: beside the file or folder, with another ending."""
    from coterie.texts.source import file_of, is_address

    if is_address(file):
        raise UsageError("--out is needed when the texts are at an address.")
    path = file_of(file)[0]
    if file == "-" or path.is_fifo():
        raise UsageError("--out is needed when the texts come from standard input or a pipe.")
    if not path.exists() and glob.has_magic(path.name):
        path = path.parent if path.parent.name else Path(path.parent.resolve().name)
    return path.with_name(f"{path.stem}{ending}")
