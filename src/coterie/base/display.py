"""A fitted model as a person sees it: its clusters described, as a page, and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from coterie import __version__
from coterie._types import Ints
from coterie._validation import PositiveInt, check_kind, checked
from coterie.base.edited import EditedAssigner
from coterie.base.outliers import Assessed, OutlierMixin
from coterie.corpus import texts_from
from coterie.description import Cluster, describe, describe_numbered
from coterie.errors import UsageError, counted
from coterie.hierarchy import Hierarchy, build_hierarchy, build_themes
from coterie.overview import make_overview
from coterie.report import Outliers, ReportData, without_texts, write_report
from coterie.report.folder import make_map, make_points
from coterie.report.quality import figures, leads
from coterie.run_files import NONE_OF_THESE
from coterie.summary import about_guard, measure

if TYPE_CHECKING:
    from coterie.description.describe import DescribeOptions

NOTEBOOK_ROWS = 12  # clusters that a notebook shows


@dataclass(frozen=True)
class AssignedTexts(Assessed):
    """Texts with what :meth:`TextClusterer.assess` finds; ``shown`` are labels, -1 for outliers."""

    texts: list[str]
    shown: Ints

    def list_outliers(self, names: dict[int, str]) -> Outliers:
        """The outliers as the page shows them."""
        rows = np.flatnonzero(self.shown != self.labels)
        numbers = self.scores[rows].tolist(), self.labels[rows].tolist()
        odd = zip([self.texts[row] for row in rows], *numbers, strict=True)
        return Outliers.of(odd, names, int((self.labels >= 0).sum()))


class DisplayMixin(OutlierMixin):
    """Description, report and notebook table of a fitted model."""

    def describe(
        self, texts: Any, X: Any = None, **options: Unpack[DescribeOptions]
    ) -> list[Cluster]:
        """Describe the clusters by names, words and examples among ``texts``.

        Parameters
        ----------
        texts : list of str, Series, ...
            The texts of the training, or others: they are put into the clusters of the model.
        X : ndarray of shape (n, d), optional
            Their vectors, for a model with ``encoder="precomputed"``.
        **options
            Of :func:`coterie.describe`.

        Returns
        -------
        list of Cluster
        """
        return self._described(self._assigned(texts, X), **options)

    @checked
    def report(
        self,
        path: str | Path,
        texts: Any,
        X: Any = None,
        *,
        levels: Sequence[PositiveInt] | Literal["themes"] | None = None,
        show_texts: bool = True,
    ) -> Path:
        """Write the page that shows the clusters, with a map: one HTML file, no network.

        Parameters
        ----------
        path : str or Path
        texts, X : as for :meth:`describe`
            Texts above ``outlier_limit_``, if the model has one, are shown as outliers.
        levels : sequence of int or "themes", optional
            Coarser levels above the clusters, coarse to fine, such as (5, 20); or broad themes,
            see :func:`coterie.broad_themes`.
        show_texts : bool, default=True
            False writes words and counts only.

        Returns
        -------
        Path
            Of the page.
        """
        found = self._assigned(texts, X)
        clusters = self._described(found)
        hierarchy = Hierarchy([], [])
        if levels == "themes":
            hierarchy, clusters = build_themes(
                found.texts, found.shown, found.vectors, clusters, seed=self.seed_
            )
        elif levels:
            if max(levels) > len(clusters):
                raise UsageError(
                    f"levels: {max(levels)} asked for, but there are only {len(clusters)} "
                    "clusters; ask for fewer."
                )
            hierarchy, clusters = build_hierarchy(
                found.texts, found.shown, found.vectors, clusters, levels
            )
        data = self._page(found, clusters, hierarchy)
        write_report(path, data if show_texts else without_texts(data))
        return Path(path)

    def _assigned(self, texts: Any, X: Any) -> AssignedTexts:
        check_is_fitted(self, "assigner_")
        read = texts_from(texts)
        if self.encoder_.kind == "precomputed" and X is None:
            raise UsageError("X: this model takes vectors; pass those of the texts as X.")
        found = self.assess(read if X is None else X)
        if len(found.labels) != len(read):
            raise UsageError(
                f"X: {len(found.labels)} rows for {len(read)} texts; give one for each text."
            )
        labels, limit = found.labels, self.outlier_limit_
        shown = np.where(found.outliers(limit), -1, labels) if limit else labels
        return AssignedTexts(**vars(found), texts=read, shown=shown)

    def _described(self, found: AssignedTexts, **options: Any) -> list[Cluster]:
        topics = getattr(self, "topics_", None)  # only some methods find any
        settings = {"probabilities": found.probabilities, "topics": topics, **options}
        if isinstance(self.assigner_, EditedAssigner):
            settings["topics"] = {}
            if topics is not None:
                untouched = self.assigner_.untouched.items()
                settings["topics"] = {c: topics[i] for c, i in untouched}
            return describe_numbered(
                found.texts, found.shown, found.vectors, {}, **{**settings, **options}
            )
        return describe(found.texts, found.shown, found.vectors, **settings)

    def _page(
        self, found: AssignedTexts, clusters: Sequence[Cluster], hierarchy: Hierarchy
    ) -> ReportData:
        confidence, margin = leads(found.probabilities)
        saved = make_map(
            found.vectors, found.labels, self.seed_, found.shown != found.labels, found.texts
        )
        columns = {"text": found.texts, "cluster": found.shown, "confidence": confidence}
        names = {cluster.id: cluster.name for cluster in clusters}
        if hierarchy.levels:
            called = [names.get(int(label), NONE_OF_THESE) for label in found.shown]
            columns |= hierarchy.columns(found.shown, called)
        guard = self.guard_.to_dict() if self.guard_ is not None else None
        quality = figures(
            found.shown, confidence, margin, silhouette=saved["silhouette"], guard=guard
        )
        placed = int((found.shown >= 0).sum())
        number = counted(len(clusters), "cluster")
        facts = {
            "figures": measure(found.shown, confidence, margin),
            "guard": guard,
            "parameters": self.get_params(deep=False),
            "encoder": {"warnings": self.encoder_notes_},
            "outliers": {"marked": int((found.shown != found.labels).sum())},
        }
        return ReportData(
            title=f"{counted(len(found.texts), 'text')} in {number}",
            summary=[f"{placed:,} of {len(found.texts):,} texts are in {number}."],
            clusters=clusters,
            overview=make_overview(facts, clusters, hierarchy),
            made=[said for said in (*self.remarks(), about_guard(guard)) if said],
            settings={
                "method": self.name,
                "parameters": repr(self),
                "seed": self.seed_,
                "coterie": __version__,
            },
            quality=quality,
            points=make_points(saved, pa.table(columns).take(saved["rows"]), "text"),
            levels=hierarchy.levels,
            themes=hierarchy.themes,
            outliers=found.list_outliers(names) if self.outlier_limit_ else None,
        )

    # In a notebook: a small table of a fitted model, else what scikit-learn shows ---------------

    def _html_repr(self) -> str:
        if not hasattr(self, "assigner_"):
            return str(super()._html_repr())
        return summary_html(self)

    @property
    def _repr_html_(self) -> Callable[[], str]:  # older scikit-learns do not ask for _html_repr
        if not hasattr(self, "assigner_"):
            shown: Callable[[], str] = super()._repr_html_
            return shown
        return self._html_repr

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not hasattr(self, "assigner_"):
            return dict(super()._repr_mimebundle_(**kwargs))
        return {"text/plain": repr(self), "text/html": self._html_repr()}


@checked
def broad_themes(
    model: DisplayMixin, texts: Any, X: Any = None, *, n_themes: PositiveInt | None = None
) -> Hierarchy:
    """Group the clusters of a fitted model into a handful of broad themes, with names.

    Parameters
    ----------
    model : TextClusterer
    texts, X : as for :meth:`coterie.TextClusterer.describe`
    n_themes : int, optional
        Exactly so many. Default: 3 to 12, found without labels; none where there are ten clusters
        or fewer.

    Returns
    -------
    Hierarchy
        ``levels[0]`` are the themes, described as clusters are; ``above[0]`` has the theme of each
        cluster; ``columns(labels, names)`` are the columns ``theme`` and ``theme_name`` of a table.
        Both lists are empty where there are no themes.
    """
    check_kind("model", model, DisplayMixin, "a fitted method, such as TwoStep(9).fit(texts)")
    found = model._assigned(texts, X)
    clusters = model._described(found)
    used = sum(cluster.size > 0 for cluster in clusters)
    if n_themes is not None and n_themes >= used:
        raise UsageError(
            f"n_themes: {n_themes} asked for, but there are only {used} clusters to group; ask "
            "for fewer."
        )
    return build_themes(found.texts, found.shown, found.vectors, clusters, n_themes, model.seed_)[0]


def summary_html(model: DisplayMixin) -> str:
    """A fitted model in a few lines of HTML; everything in it is escaped."""
    title = f"{type(model).__name__}: {counted(model.n_clusters_, 'cluster')}"
    if not hasattr(model, "labels_"):
        return _frame(title, "", "Loaded from a folder: predict and transform take texts.")
    labels = model.labels_
    placed = labels >= 0
    found = model.probabilities_.max(axis=1)
    sizes = np.bincount(labels[placed])
    rows = []
    for i in np.argsort(-sizes, kind="stable")[:NOTEBOOK_ROWS]:
        if sizes[i]:
            share, mean = sizes[i] / placed.sum(), found[labels == i].mean()
            rows.append([str(i), f"{sizes[i]:,}", f"{100 * share:.1f}%", f"{mean:.2f}"])
    more = int((sizes > 0).sum()) - len(rows)
    hint = f"And {more} more. " if more > 0 else ""
    hint += "model.describe(texts) names them; model.report(path, texts) writes a page."
    return _frame(f"{title} of {int(placed.sum()):,} texts", _table(rows), hint, repr(model))


def _table(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("cluster", "texts", "share", "confidence"))
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _frame(title: str, table: str, hint: str, settings: str = "") -> str:
    more = ""
    if settings:
        more = f"<details><summary>Settings</summary><pre>{escape(settings)}</pre></details>"
    return f"<div><strong>{escape(title)}</strong>{table}<p>{escape(hint)}</p>{more}</div>"
