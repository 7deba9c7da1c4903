"""What a clustering run is asked for, checked before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie._validation import check_choice, check_device, check_integer, did_you_mean
from coterie.errors import DataError, UsageError, param

if TYPE_CHECKING:
    from coterie.base import TextClusterer
    from coterie.encoders import Encoder

SPARE = 2  # different texts per cluster that are certainly enough, whatever the encoder ignores
LISTS = {"levels": "(5, 20)", "write": "['xlsx']"}  # options that take several values


@dataclass(frozen=True)
class Reading:
    """How a file of texts is read."""

    # Default: the obvious column, and none
    text_column: str | None = None
    id_column: str | None = None
    # One of coterie.corpus.FORMATS; "auto": from content and extension
    format: str = "auto"
    encoding: str = "utf-8"
    header: bool | None = None  # whether the first row names the columns; None: guessed


@dataclass(frozen=True, kw_only=True)
class Options(Reading):
    """All that decides a run besides the texts; see :func:`coterie.cluster` for what each means.

    Examples
    --------
    >>> Options(levels=(5, 20)).wanted, Options(n_clusters="auto", levels=(5, 20)).wanted
    (20, None)
    >>> Options.make({"n_cluster": 8})
    Traceback (most recent call last):
        ...
    coterie.errors.UsageError: cluster has no option 'n_cluster'. Did you mean 'n_clusters'?
    """

    n_clusters: int | Literal["auto"] | None = None
    method: str = "auto"
    encoder: str | Path | Encoder | None = None
    preset: str | None = None
    effort: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    views: str | Path | Sequence[Sequence[str]] | None = None
    vectors: Any = None
    levels: Sequence[int] = ()
    max_outliers: float | str | None = None
    write: Sequence[str] = ()
    fit_sample: int | None = None
    keep: str | Path | None = None
    split: str | None = None
    themes: str | Path | Sequence[Any] | None = None
    labels: str | Sequence[Any] | None = None
    only_known: bool = False
    must_link: Sequence[Sequence[int]] | None = None
    cannot_link: Sequence[Sequence[int]] | None = None
    constraints: str | Path | None = None
    mask: bool = False
    mask_names: str | Path | Sequence[str] | None = None
    include_encoder: bool = False
    seed: int = 0
    device: str = "auto"
    verbose: int = 0

    @classmethod
    def make(cls, given: Mapping[str, Any]) -> Options:
        """Options by their names, checked; an unknown name is rejected with the nearest one."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or f" Known: {', '.join(known)}."
                raise UsageError("cluster.unknown_option", name=name, hint=hint)
        lists = {name: _as_list(name, given[name]) for name in LISTS if name in given}
        options = cls(**{**given, **lists})
        options.check()
        return options

    @property
    def wanted(self) -> int | None:
        """The clusters to make: as asked for, else the finest level; None: to be found."""
        if self.n_clusters is None:
            return self.levels[-1] if self.levels else None
        return None if self.n_clusters == "auto" else self.n_clusters

    @property
    def masks(self) -> bool:
        """Whether personal data is masked; a list of names asks for it, too."""
        return self.mask or self.mask_names is not None

    @property
    def guided(self) -> bool:
        """Whether themes, labels or constraints are given."""
        given = (self.themes, self.labels, self.must_link, self.cannot_link, self.constraints)
        return any(value is not None for value in given)

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of :func:`coterie.read_corpus`."""
        return {f.name: getattr(self, f.name) for f in fields(Reading)}

    def check(self) -> None:
        """Reject what cannot be, whatever the texts are."""
        if self.n_clusters not in (None, "auto"):
            check_integer("n_clusters", self.n_clusters)
        for level in self.levels:
            check_integer("levels", level)
        if any(a >= b for a, b in pairwise(self.levels)):
            raise UsageError("cluster.levels_not_increasing", levels=_listed(self.levels))
        if self.write:
            from coterie.corpus.write import FORMATS, check_excel

            if "xlsx" in [check_choice("write", name, FORMATS) for name in self.write]:
                check_excel()
        if self.max_outliers is not None:
            from coterie.outliers import allowed_rows

            allowed_rows(self.max_outliers, 0, param("max_outliers"))
        self._check_known()
        if self.fit_sample is not None:
            check_integer("fit_sample", self.fit_sample, 0)
        if self.keep is not None and not isinstance(self.keep, (str, Path)):
            raise _wrong_kind("keep", "the folder of a run", self.keep)

    def _check_known(self) -> None:
        if self.split is not None:
            check_choice("split", self.split, ("sentences",))
            rows = [name for name in self.steered if name not in ("themes", "only_known")]
            rows += [] if self.vectors is None else ["vectors"]
            if rows:
                raise UsageError("cluster.split_and_rows", name=param(rows[0]))
        if self.vectors is not None and self.encoder is not None:
            raise UsageError("vectors.and_encoder")
        if self.vectors is not None and self.themes is not None:
            raise UsageError("vectors.no_themes")
        if self.only_known and (self.n_clusters is not None or self.levels):
            raise UsageError("guidance.only_known_number")

    def make_model(self, n_clusters: int) -> TextClusterer:
        """The estimator; what was not asked for stays as the method has it."""
        from coterie.methods import METHODS

        recipe = METHODS[check_choice("method", self.method, METHODS)]
        if self.effort is not None and not hasattr(recipe.cls, "effort"):
            raise UsageError("cluster.effort_is_for_auto", method=self.method)
        if self.views is not None and not hasattr(recipe.cls, "views"):
            raise UsageError("cluster.takes_no_views", method=self.method)
        given: dict[str, Any] = {"encoder": self.encoder, "views": self.views}
        given["effort"] = self.effort
        given = {name: value for name, value in given.items() if value is not None}
        given |= {"random_state": self.seed, "device": self.device, "verbose": self.verbose}
        return recipe.make(n_clusters, self.preset, **{**given, **self.settings})

    @property
    def steered(self) -> list[str]:
        """The options that say what is known."""
        names = ("themes", "labels", "only_known", "must_link", "cannot_link", "constraints")
        return [name for name in names if getattr(self, name) not in (None, False)]

    def make_checked_model(self) -> TextClusterer:
        """The estimator with parameters that can work, before the texts are read."""
        from coterie.encoders import check_encoder

        model = self.make_model(2)
        model._check_parameters()
        for name in () if model._uses_guidance() else self.steered:
            raise UsageError("guidance.method", name=param(name), method=self.method)
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
        from coterie.outliers import allowed_rows

        placed = sum(text != "" for text in texts)
        if self.max_outliers is not None:
            allowed_rows(self.max_outliers, placed, param("max_outliers"))
        finest = max(self.levels, default=0)
        distinct, read = len(set(texts) - {""}), ""
        if distinct < SPARE * max(n_clusters, finest):
            told_apart = count_distinct()
            read = " as the encoder reads them" if told_apart < distinct else ""
            distinct = told_apart
        levels = _listed(self.levels)
        if finest > distinct:
            raise UsageError(
                "cluster.levels_few_texts",
                levels=levels,
                finest=finest,
                distinct=distinct,
                read=read,
            )
        if n_clusters > distinct:
            raise DataError(
                "cluster.few_texts", n_clusters=n_clusters, distinct=distinct, read=read
            )
        if finest > n_clusters:
            raise UsageError(
                "cluster.levels_above_clusters", levels=levels, finest=finest, n_clusters=n_clusters
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
        raise _wrong_kind(name, f"a list, such as {LISTS[name]}", given)
    return list(given)


def _wrong_kind(name: str, wanted: str, given: object) -> UsageError:
    return UsageError("cluster.wrong_kind", name=param(name), wanted=wanted, given=f"{given!r:.80}")


def _listed(levels: Sequence[int]) -> str:
    return ",".join(map(str, levels))
