"""What a clustering run is asked for: name, type, default, limits and help of each option.

:func:`coterie.cluster` has these parameters, and ``coterie cluster`` these options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from coterie._util.validation import (
    check_choice,
    check_device,
    check_path,
    did_you_mean,
    need,
    whole_number,
    wrong_kind,
)
from coterie.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from coterie.models.clusterer import TextClusterer

SPARE = 2  # different texts per cluster that are certainly enough, whatever the encoder ignores
LARGEST = 10**12  # of whole numbers: beyond, arrays and counters overflow
FILE_OPTIONS = ("text_column", "id_column", "format", "encoding", "header")


def read_number(said: str) -> int | str:
    """A number of clusters as it was typed, or a word such as auto or fine."""
    number = whole_number(said.strip())
    return said.strip().lower() if number is None else number


def read_formats(said: str, name: str) -> tuple[str, ...]:
    """``"xlsx,parquet"`` as words."""
    from coterie.texts.write import FORMATS

    parts = [part.strip().lower().lstrip(".") for part in said.split(",") if part.strip()]
    formats = tuple(dict.fromkeys(check_choice(name, part, FORMATS) for part in parts))
    if not formats:
        raise UsageError(f"`{name}`: expected some of {', '.join(FORMATS)}, such as xlsx,parquet.")
    return formats


def _place(value: object, about: ValidationInfo) -> Path:
    return check_path(str(about.field_name), value)


def _listed(value: object, about: ValidationInfo) -> list[Any]:
    """The values of an option that takes several; words may stand in one text, with commas."""
    name = str(about.field_name)
    if value is None:
        return []
    if isinstance(value, str):
        return list(
            read_formats(value, name) if name == "write" else map(read_number, value.split(","))
        )
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise wrong_kind(name, value, "a list")
    return list(value)


Count = Annotated[int, Field(ge=1, le=LARGEST)]
Place = Annotated[Path, BeforeValidator(_place)]


class ClusterOptions(BaseModel):
    """All that decides a run besides the texts; :func:`coterie.cluster` explains each.

    A value that cannot be is refused by a :class:`UsageError`.

    Examples
    --------
    >>> ClusterOptions(levels=(5, 20)).wanted
    20
    >>> ClusterOptions(n_cluster=8)
    Traceback (most recent call last):
        ...
    coterie.errors.UsageError: cluster has no option 'n_cluster'. Did you mean 'n_clusters'?
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    n_clusters: Count | Literal["auto"] | None = Field(
        None, description="Number of clusters, or auto: estimated (default)."
    )
    method: str = Field("auto", description="See 'coterie methods'.")
    text_column: str | None = Field(None, description="Column with the texts. Default: detected.")
    id_column: str | None = Field(None, description="Column with row ids.")
    format: str = "auto"
    encoding: str = "utf-8"
    header: bool | None = None
    vectors: object = Field(
        None,
        description="Your own embeddings in place of an encoder: a column, or a file with a row "
        "for each row (.npy, .parquet).",
    )
    levels: Annotated[tuple[Count, ...], BeforeValidator(_listed)] = Field(
        (), description="Nested levels, coarse to fine, e.g. 5,20,80; the last is the clustering."
    )
    max_outliers: int | float | str | None = Field(
        None, description="Mark at most this share (5%) or number of rows as outliers."
    )
    themes: object = Field(
        None,
        description="YAML or JSON list of themes you know: names, optionally with description, "
        "keywords and examples.",
    )
    labels: object = Field(
        None, description="Column with the classes of some rows; empty cells are unlabelled."
    )
    only_known: bool = Field(False, description="No clusters beside those of themes and labels.")
    keep: Place | None = Field(
        None, description="Earlier run: matched clusters keep number and name."
    )
    folder: Place | None = Field(None, description="Folder to write. Default: FILE.clusters.")
    write: Annotated[
        tuple[Literal["csv", "jsonl", "parquet", "xlsx"], ...], BeforeValidator(_listed)
    ] = ()
    resume: bool = Field(
        False,
        description="Continue a stopped training from its checkpoint; the result is the same.",
    )
    overwrite: bool = Field(False, description="Replace an earlier run in the same folder.")
    include_encoder: bool = False
    encoder: object = Field(
        None,
        description="A model folder or name, multilingual, lexical, tfidf, ...; hub:NAME allows a "
        "download.",
    )
    preset: str | None = None
    effort: Literal["quick", "standard", "best"] | None = None
    views: object = None
    settings: dict[str, object] = {}
    seed: int = Field(0, description="Same seed, same clusters.")
    device: str = Field("auto", description="auto, cpu or cuda.")
    precision: Literal["auto", "float32"] = Field(
        "auto",
        description="Of the encoder: auto is 8 bits where nothing is trained on a CPU; float32 is "
        "exact.",
    )
    fit_sample: Annotated[int, Field(ge=0, le=LARGEST)] | None = None
    engine: Literal["local", "ray"] = Field(
        "local",
        description="local, or ray: distribute the rows of Parquet files over a Ray cluster; same "
        "result.",
    )
    workers: Count | None = Field(
        None, description="Processes of --engine ray. Default: one per GPU, or per 4 CPUs."
    )
    verbose: int = 0

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise usage_error(error, type(self).model_fields) from None

    @field_validator("n_clusters", mode="before")
    @classmethod
    def _typed(cls, value: object) -> object:
        return read_number(value) if isinstance(value, str) else value

    @field_validator("levels")
    @classmethod
    def _increase(cls, levels: tuple[int, ...]) -> tuple[int, ...]:
        if any(a >= b for a, b in pairwise(levels)):
            raise UsageError(
                f"`levels` {','.join(map(str, levels))}: the numbers do not increase; name the "
                "levels coarse to fine, such as 5,20,80."
            )
        return levels

    @field_validator("write")
    @classmethod
    def _can_write(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        if "xlsx" in formats:
            need("xlsxwriter", "excel")  # before the work begins
        return formats

    @field_validator("keep")
    @classmethod
    def _is_there(cls, run: Path | None) -> Path | None:
        if run is not None and not run.is_dir():
            raise UsageError(f"`keep`: there is no folder {run}; name that of a run.")
        return run

    @field_validator("max_outliers")
    @classmethod
    def _share(cls, limit: float | str | None) -> float | str | None:
        from coterie.arrays.outliers import allowed_rows

        if limit is not None:
            allowed_rows(limit, 0, "`max_outliers`")
        return limit

    @model_validator(mode="after")
    def _go_together(self) -> Self:
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
        return self

    @property
    def wanted(self) -> int | None:
        """The clusters to make: as asked for, else the finest level; None: to be found."""
        if self.n_clusters is None:
            return self.levels[-1] if self.levels else None
        return None if self.n_clusters == "auto" else self.n_clusters

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of :func:`coterie.read_corpus`."""
        return {name: getattr(self, name) for name in FILE_OPTIONS}

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


def usage_error(error: ValidationError, known: Iterable[str]) -> UsageError:
    """What pydantic refuses, as an error that names the argument; ``known`` are all there are."""
    first, *more = error.errors(include_url=False)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UsageError):
        return cause
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        hint = did_you_mean(name, known) or f" Known: {', '.join(known)}."
        return UsageError(f"cluster has no option {name!r}.{hint}")
    same = [one for one in (first, *more) if one["loc"][0] == name]
    parts = [_wanted(one["type"], one["msg"]) for one in same]
    choices = [word for part in parts for word in part.split("'")[1::2]]
    return wrong_kind(name, first["input"], " or ".join(dict.fromkeys(parts)), choices)


def _wanted(kind: str, message: str) -> str:
    """What should have been given, from the words of pydantic."""
    if kind in ("int_parsing", "int_parsing_size", "int_type"):
        return "an integer"
    return message.partition(", unable")[0].removeprefix("Input should be ")
