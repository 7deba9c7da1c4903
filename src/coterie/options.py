"""What a clustering run is asked for: name, type, default and help of each option, said once.

:func:`coterie.cluster` has these parameters, and ``coterie cluster`` these options.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from coterie._util.validation import (
    annotations_of,
    check_annotated,
    check_choice,
    check_device,
    check_integer,
    did_you_mean,
    need,
    whole_number,
    wrong_kind,
)
from coterie.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from coterie.encoders import Encoder
    from coterie.models.clusterer import TextClusterer

P = ParamSpec("P")
R = TypeVar("R")
SPARE = 2  # different texts per cluster that are certainly enough, whatever the encoder ignores
LISTS = {"levels": "(5, 20)", "write": "['xlsx']"}  # options that take several values
PANELS = ("Input", "Clusters", "Guidance", "Output", "Method", "Advanced")  # of --help


def option(
    default: Any,
    help: str,
    panel: str | None = None,
    flags: str = "",
    *,
    read: Callable[[str], object] | None = None,
) -> Any:
    """A field of :class:`Options`.

    Parameters
    ----------
    default : object
    help : str
        What follows "; in Python" is not for the command line.
    panel : str, optional
        Of :data:`PANELS`; without one the command line takes it by ``--set NAME=VALUE``.
    flags : str, optional
        On the command line, and what stands for the value: "--clusters -k N". Default: the name.
    read : callable, optional
        Makes the value of what was typed.
    """
    about = {"help": help, "panel": panel, "flags": flags.split(), "read": read}
    return field(default=default, metadata=about)


def read_number(said: str) -> Any:
    """A number of clusters as it was typed; what is no number is left for the check."""
    number = whole_number(said.strip())
    return said.strip().lower() if number is None else number


def read_levels(said: str) -> tuple[Any, ...]:
    """``"5,20,80"`` as numbers."""
    return tuple(map(read_number, said.split(",")))


TABLES = ("csv", "jsonl", "parquet", "xlsx")  # forms in which the rows of a run are written


def read_formats(said: str, name: str = "write") -> tuple[str, ...]:
    """``"xlsx,parquet"`` as words."""
    parts = [part.strip().lower().lstrip(".") for part in said.split(",") if part.strip()]
    formats = tuple(dict.fromkeys(check_choice(name, part, TABLES) for part in parts))
    if not formats:
        raise UsageError(f"`{name}`: expected some of {', '.join(TABLES)}, such as xlsx,parquet.")
    return formats


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file of texts is read."""

    text_column: str | None = option(
        None, "Column with the texts. Default: detected.", "Input", "--text-column -t COLUMN"
    )
    id_column: str | None = option(None, "Column with row ids.", "Input", "COLUMN")
    format: str = option(
        "auto",
        "csv, tsv, jsonl, parquet, arrow, xlsx or txt. Default: from the file name.",
    )
    encoding: str = option("utf-8", "Encoding of the file, e.g. cp1252.")
    header: bool | None = option(
        None, "Whether the first row of a CSV, TSV or Excel file has the column names."
    )


@dataclass(frozen=True)
class Options(Reading):
    """All that decides a run besides the texts; the parameters of :func:`coterie.cluster`.

    Examples
    --------
    >>> Options(levels=(5, 20)).wanted, Options(n_clusters="auto", levels=(5, 20)).wanted
    (20, None)
    >>> Options.make(n_cluster=8)
    Traceback (most recent call last):
        ...
    coterie.errors.UsageError: cluster has no option 'n_cluster'. Did you mean 'n_clusters'?
    """

    n_clusters: int | Literal["auto"] | None = option(
        None,
        "Number of clusters, or auto: estimated (default).",
        "Clusters",
        "--clusters -k N",
        read=read_number,
    )
    method: str = option("auto", "See 'coterie methods'.", "Method", "--method -m NAME")
    _: KW_ONLY
    vectors: object = option(
        None,
        "Your own embeddings in place of an encoder: a column, or a file with a row for each row "
        "(.npy, .parquet); in Python also an array.",
        "Input",
        "FILE",
    )
    levels: Sequence[int] = option(
        (),
        "Nested levels, coarse to fine, e.g. 5,20,80; the last is the clustering.",
        "Clusters",
        "N,N,...",
        read=read_levels,
    )
    max_outliers: float | str | None = option(
        None, "Mark at most this share (5%) or number of rows as outliers.", "Clusters", "SHARE"
    )
    themes: str | Path | Sequence[str | Mapping[str, object]] | None = option(
        None,
        "YAML or JSON list of themes you know: names, optionally with description, keywords and "
        "examples.",
        "Guidance",
        "FILE",
    )
    labels: str | Sequence[object] | None = option(
        None,
        "Column with the classes of some rows; empty cells are unlabelled; in Python also one "
        "value per row.",
        "Guidance",
        "COLUMN",
    )
    only_known: bool = option(False, "No clusters beside those of themes and labels.", "Guidance")
    keep: str | Path | None = option(
        None, "Earlier run: matched clusters keep number and name.", "Guidance", "RUN"
    )
    folder: str | Path | None = option(
        None,
        "Folder to write. Default: FILE.clusters; in Python a temporary folder, which is deleted "
        "with the Run unless Run.save keeps it.",
        "Output",
        "--out -o FOLDER",
    )
    write: Sequence[str] = option(
        (), "Tables beside assignments.csv: xlsx, parquet, jsonl.", read=read_formats
    )
    resume: bool = option(
        False, "Continue a stopped training from its checkpoint; the result is the same.", "Output"
    )
    overwrite: bool = option(False, "Replace an earlier run in the same folder.", "Output")
    include_encoder: bool = option(False, "Copy the encoder into the saved model.")
    encoder: str | Path | Encoder | None = option(
        None,
        "A model folder or name, multilingual, lexical, tfidf, ...; hub:NAME allows a download.",
        "Method",
        "NAME",
    )
    preset: str | None = option(None, "Preset of the method, e.g. official-code.")
    effort: Literal["quick", "standard", "best"] | None = option(
        None, "quick, standard or best: number of k-means runs in 'auto'."
    )
    views: str | Path | Sequence[Sequence[str]] | None = option(
        None,
        "CSV with augmented texts (columns text, text1, text2), or a kind of augmentation: "
        "eda, contextual:FOLDER, ...",
    )
    settings: Mapping[str, object] = field(
        default_factory=dict, metadata={"help": "Other parameters of the method."}
    )
    seed: int = option(0, "Same seed, same clusters.", "Advanced", "N")
    device: str = option("auto", "auto, cpu or cuda.", "Advanced", "NAME")
    precision: Literal["auto", "float32"] = option(
        "auto",
        "Of the encoder: auto is 8 bits where nothing is trained on a CPU; float32 is exact.",
        "Advanced",
        "NAME",
    )
    fit_sample: int | None = option(
        None,
        "Fit a sample of this many different texts, then assign all rows. Default: 25000 if there "
        "are more than 100000 rows, otherwise all. 0 fits all.",
    )
    engine: Literal["local", "ray"] = option(
        "local",
        "local, or ray: distribute the rows of Parquet files over a Ray cluster; same result.",
        "Advanced",
        "NAME",
    )
    workers: int | None = option(
        None, "Processes of --engine ray. Default: one per GPU, or per 4 CPUs.", "Advanced", "N"
    )
    verbose: int = option(0, "1 shows progress and notes on stderr.")

    @classmethod
    def make(
        cls,
        n_clusters: int | Literal["auto"] | None = None,
        method: str = "auto",
        **given: Any,
    ) -> Options:
        """Options by their names, checked; an unknown name is rejected with the nearest one."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or f" Known: {', '.join(known)}."
                raise UsageError(f"cluster has no option {name!r}.{hint}")
        given |= {name: _as_list(name, given[name]) for name in LISTS if name in given}
        options = cls(n_clusters, method, **given)
        options.check()
        return options

    @property
    def wanted(self) -> int | None:
        """The clusters to make: as asked for, else the finest level; None: to be found."""
        if self.n_clusters is None:
            return self.levels[-1] if self.levels else None
        return None if self.n_clusters == "auto" else self.n_clusters

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of :func:`coterie.read_corpus`."""
        return {f.name: getattr(self, f.name) for f in fields(Reading)}

    def check(self) -> None:
        """Reject what cannot be, whatever the texts are."""
        from coterie._util.random import check_seed

        check_seed(self.seed)
        if self.n_clusters not in (None, "auto"):
            check_integer("n_clusters", self.n_clusters)
        for level in self.levels:
            check_integer("levels", level)
        if any(a >= b for a, b in pairwise(self.levels)):
            raise UsageError(
                f"`levels` {','.join(map(str, self.levels))}: the numbers do not increase; name "
                "the levels coarse to fine, such as 5,20,80."
            )
        if self.write:
            from coterie.texts.write import FORMATS

            if "xlsx" in [check_choice("write", name, FORMATS) for name in self.write]:
                need("xlsxwriter", "excel")  # before the work begins
        if self.max_outliers is not None:
            from coterie.arrays.outliers import allowed_rows

            allowed_rows(self.max_outliers, 0, "`max_outliers`")
        if self.fit_sample is not None:
            check_integer("fit_sample", self.fit_sample, 0)
        for name, hint in annotations_of(Options).items():
            check_annotated(name, getattr(self, name), hint)
        self._check_known()

    def _check_known(self) -> None:
        if self.vectors is not None and self.encoder is not None:
            raise UsageError("`vectors`: vectors of your own need no `encoder`; leave one out.")
        if self.vectors is not None and self.themes is not None:
            raise UsageError(
                "`themes` cannot be compared with vectors of your own, since themes have none; "
                "leave out `themes` or `vectors`, or give labels."
            )
        if self.only_known and (self.n_clusters is not None or self.levels):
            raise UsageError(
                "`only_known`: the known classes are the clusters; leave out `n_clusters` and "
                "`levels`."
            )

    def make_model(self, n_clusters: int) -> TextClusterer:
        """The estimator; what was not asked for stays as the method has it."""
        from coterie.models.registry import METHODS

        recipe = METHODS[check_choice("method", self.method, METHODS)]
        given = {name: getattr(self, name) for name in ("encoder", "views", "effort")}
        given = {name: value for name, value in given.items() if value is not None}
        for name in given:
            if not hasattr(recipe.cls, name):
                raise UsageError(f"`{name}`: the method {self.method!r} does not take it.")
        given |= {name: getattr(self, name) for name in ("device", "precision", "verbose")}
        given["random_state"] = self.seed
        return recipe.make(n_clusters, self.preset, **{**given, **self.settings})

    @property
    def steered(self) -> list[str]:
        """The options that say what is known."""
        names = ("themes", "labels", "only_known")
        given = {name: getattr(self, name) for name in names}
        return [name for name, value in given.items() if value is not None and value is not False]

    def make_checked_model(self) -> TextClusterer:
        """The estimator with parameters that can work, before the texts are read."""
        from coterie._util.torch import need_torch
        from coterie.encoders import check_encoder

        model = self.make_model(2)
        model._check_parameters()
        for name in () if model._uses_guidance() else self.steered:
            raise UsageError(
                f"`{name}`: the method {self.method!r} cannot use it; take auto, kmeans, "
                "spherical-kmeans or sccl."
            )
        need_torch(f"`method={self.method!r}`: clustering")
        check_device(model.device)
        if model.encoder != type(model).encoder:  # some methods have one of their own
            check_encoder(model.encoder)
        return model

    def check_texts(
        self, n_clusters: int, texts: Sequence[str], count_distinct: Callable[[], int]
    ) -> None:
        """Reject what cannot be, now that the number of clusters and the texts are known.

        ``count_distinct`` says how many texts differ for the encoder, which may ignore capitals.
        """
        from coterie.arrays.outliers import allowed_rows

        placed = sum(text != "" for text in texts)
        if self.max_outliers is not None:
            allowed_rows(self.max_outliers, placed, "`max_outliers`")
        finest = max(self.levels, default=0)
        distinct, read = len(set(texts) - {""}), ""
        if distinct < SPARE * max(n_clusters, finest):
            told_apart = count_distinct()
            read = " as the encoder reads them" if told_apart < distinct else ""
            distinct = told_apart
        levels = ",".join(map(str, self.levels))
        if finest > distinct:
            raise UsageError(
                f"`levels` {levels}: {finest:,} clusters asked for, but there are only "
                f"{distinct:,} different texts{read}; ask for at most {distinct}."
            )
        if n_clusters > distinct:
            raise DataError(
                f"`n_clusters={n_clusters!r}`: that is more than the "
                f"{counted(distinct, 'different text')}{read}; ask for at most {distinct}."
            )
        if finest > n_clusters:
            raise UsageError(
                f"`levels` {levels}: the finest level has {finest} clusters, more than the "
                f"{n_clusters} there are; leave out `n_clusters`, or ask for at most "
                f"{n_clusters}."
            )

    def handover(self) -> dict[str, Any]:
        """What the manifest says about levels, outliers and tables."""
        limit = None if self.max_outliers is None else str(self.max_outliers)
        return {"levels": list(self.levels), "max_outliers": limit, "write": list(self.write)}


def _as_list(name: str, given: object) -> Sequence[Any]:
    """The values of an option that takes several: none for None, and one text for itself."""
    if given is None:
        return ()
    if isinstance(given, str) and name == "write":
        return (given,)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise wrong_kind(name, given, f"a list, such as {LISTS[name]}")
    return list(given)


def flags() -> dict[str, str]:
    """Options by their names as ``coterie cluster`` has them; the others are for ``--set``."""
    shown = {f.name: f.metadata["flags"] for f in fields(Options) if f.metadata.get("panel")}
    return {
        name: next((flag for flag in flags if flag[0] == "-"), f"--{name.replace('_', '-')}")
        for name, flags in shown.items()
    }


def with_options(
    options: Callable[P, Options],
) -> Callable[[Callable[[object, Options], R]], Callable[Concatenate[object, P], R]]:
    """Give a function of data and options the options one by one, with their types and help."""

    def decorate(function: Callable[[object, Options], R]) -> Callable[Concatenate[object, P], R]:
        @functools.wraps(function)
        def call(data: object, *args: P.args, **given: P.kwargs) -> R:
            return function(data, Options.make(*args, **given))  # type: ignore[arg-type]

        own = inspect.signature(function)
        data = own.parameters["data"]
        shown = own.replace(parameters=[data, *inspect.signature(options).parameters.values()])
        call.__signature__ = shown.replace(return_annotation=own.return_annotation)  # type: ignore[attr-defined]
        parts = [f"{f.name} : {f.type}\n        {f.metadata['help']}" for f in fields(Options)]
        call.__doc__ = (function.__doc__ or "").replace("{options}", "\n    ".join(parts))
        return call  # type: ignore[return-value]  # data may also be given by name

    return decorate
