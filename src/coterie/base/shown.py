"""A fitted model as a person sees it: described, as a page, and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import coterie

if TYPE_CHECKING:
    from coterie.base.clusterer import TextClusterer

ROWS = 12  # clusters that a notebook shows


class DisplayMixin:
    """Ways to look at a model; a part of the estimator.

    The work is done by the layers above, which are reached by the package's public names.
    """

    def describe(self, texts: Sequence[str], X: Any = None, **options: Any) -> list[Any]:
        """Describe the clusters by names, words and examples among ``texts``.

        Parameters
        ----------
        texts : sequence of str
            The texts of the training, or others: they are put into the clusters of the model.
        X : ndarray of shape (n, d), optional
            Their vectors, for a model with ``encoder="precomputed"``.
        **options
            Of :func:`coterie.describe`.

        Returns
        -------
        list of Cluster
        """
        found: list[Any] = coterie.describe_model(self, texts, X, **options)
        return found

    def report(
        self,
        path: str | Path,
        texts: Sequence[str],
        X: Any = None,
        *,
        levels: Sequence[int] | Literal["themes"] | None = None,
        show_texts: bool = True,
    ) -> Path:
        """Write the page that shows the clusters, with a map: one HTML file, no network.

        Parameters
        ----------
        path : str or Path
        texts : sequence of str
            The texts of the training, or others: they are put into the clusters of the model.
        X : ndarray of shape (n, d), optional
            Their vectors, for a model with ``encoder="precomputed"``.
        levels : sequence of int or "themes", optional
            Coarser levels above the clusters, such as (5, 20); or broad themes, see
            :func:`coterie.broad_themes`.
        show_texts : bool, default=True
            False writes words and counts only.

        Returns
        -------
        Path
            Of the page.
        """
        written: Path = coterie.report_model(
            self, path, texts, X, levels=levels, show_texts=show_texts
        )
        return written

    def _html_repr(self: Any) -> str:
        """What a notebook shows: a small table of a fitted model, else what scikit-learn shows."""
        if not hasattr(self, "assigner_"):
            return str(super()._html_repr())  # type: ignore[misc]
        return summary_html(self)

    @property
    def _repr_html_(self: Any) -> Any:  # older scikit-learns do not ask for _html_repr
        if not hasattr(self, "assigner_"):
            return super()._repr_html_  # type: ignore[misc]
        return self._html_repr

    def _repr_mimebundle_(self: Any, **kwargs: Any) -> dict[str, str]:
        if not hasattr(self, "assigner_"):
            return dict(super()._repr_mimebundle_(**kwargs))  # type: ignore[misc]
        return {"text/plain": repr(self), "text/html": self._html_repr()}


def summary_html(model: TextClusterer) -> str:
    """A fitted model in a few lines of HTML; everything in it is escaped."""
    title = f"{type(model).__name__}: {model.n_clusters_} clusters"
    labels = getattr(model, "labels_", None)
    if labels is None:
        hint = "Loaded from a folder: predict and transform take texts."
        return _frame(title, "", hint)
    placed = labels >= 0
    sure = model.probabilities_.max(axis=1)
    sizes = np.bincount(labels[placed])
    rows = []
    for i in np.argsort(-sizes, kind="stable")[:ROWS]:
        if sizes[i]:
            share, mean = sizes[i] / placed.sum(), sure[labels == i].mean()
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
