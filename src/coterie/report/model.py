"""The page of a fitted model, without a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import coterie
from coterie._errors import UsageError
from coterie._types import Bools, Floats, Ints
from coterie.base.edited import EditedAssigner
from coterie.corpus import texts_from
from coterie.description import Cluster, describe, describe_numbered
from coterie.hierarchy import Hierarchy, build_hierarchy, build_themes
from coterie.report.folder import SHOWN, make_map, make_points
from coterie.report.html import Outlier, Outliers, ReportData, without_texts, write_report
from coterie.report.points import NONE_OF_THESE
from coterie.report.quality import figures, guard_sentence, next_steps

if TYPE_CHECKING:
    from coterie.base import TextClusterer


@dataclass(frozen=True)
class Seen:
    """Texts as a model sees them; ``labels`` are -1 for outliers, too."""

    texts: list[str]
    vectors: Floats
    probabilities: Floats
    nearest: Ints
    labels: Ints
    scores: Floats

    @property
    def outliers(self) -> Bools:
        """Which texts are outliers."""
        return np.asarray((self.nearest >= 0) & (self.labels < 0))


def describe_model(
    model: TextClusterer, texts: Any, X: Any = None, **options: Any
) -> list[Cluster]:
    """Describe the clusters of a fitted model by names, words and examples among texts.

    Parameters
    ----------
    model : TextClusterer
    texts : list of str, Series, ...
        Those of the training, or others: they are put into the clusters of the model.
    X : ndarray of shape (n, d), optional
        Their vectors, for a model with ``encoder="precomputed"``.
    **options
        Of :func:`coterie.describe`.
    """
    return _describe(model, _look(model, texts, X), **options)


def report_model(
    model: TextClusterer,
    path: str | Path,
    texts: Any,
    X: Any = None,
    *,
    levels: Sequence[int] | Literal["themes"] | None = None,
    show_texts: bool = True,
) -> Path:
    """Write the page of a fitted model.

    Parameters
    ----------
    model : TextClusterer
        If it has an ``outlier_limit_``, texts above it are shown as outliers.
    path : str or Path
    texts, X : as for :func:`describe_model`
    levels : sequence of int or "themes", optional
        Coarser levels above the clusters, coarse to fine; or broad themes, see
        :func:`broad_themes`.
    show_texts : bool, default=True
        False writes words and counts only.
    """
    seen = _look(model, texts, X)
    clusters = _describe(model, seen)
    hierarchy = Hierarchy([], [])
    if levels == "themes":
        hierarchy, clusters = build_themes(
            seen.texts, seen.labels, seen.vectors, clusters, seed=model.seed_
        )
    elif isinstance(levels, str):
        raise UsageError("report.bad_levels", levels=levels)
    elif levels:
        if max(levels) > len(clusters):
            raise UsageError("report.too_many_levels", asked=max(levels), clusters=len(clusters))
        hierarchy, clusters = build_hierarchy(
            seen.texts, seen.labels, seen.vectors, clusters, levels
        )
    data = _page(model, seen, clusters, hierarchy)
    write_report(path, data if show_texts else without_texts(data))
    return Path(path)


def broad_themes(
    model: TextClusterer, texts: Any, X: Any = None, *, n_themes: int | None = None
) -> Hierarchy:
    """Group the clusters of a fitted model into a handful of broad themes, with names.

    Parameters
    ----------
    model : TextClusterer
    texts, X : as for :func:`describe_model`
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
    seen = _look(model, texts, X)
    clusters = _describe(model, seen)
    used = sum(cluster.size > 0 for cluster in clusters)
    if n_themes is not None and n_themes >= used:
        raise UsageError("report.too_many_themes", n_themes=n_themes, clusters=used)
    return build_themes(seen.texts, seen.labels, seen.vectors, clusters, n_themes, model.seed_)[0]


def _look(model: TextClusterer, texts: Any, X: Any) -> Seen:
    read = texts_from(texts)
    given: Any = read if X is None else X
    if model.encoder_.kind == "precomputed" and X is None:
        raise UsageError("report.needs_vectors")
    found = model.assess(given)
    if len(found.labels) != len(read):
        raise UsageError("report.one_per_text", rows=len(found.labels), texts=len(read))
    nearest, limit = found.labels, model.outlier_limit_
    labels = np.where(found.outliers(limit), -1, nearest) if limit else nearest
    return Seen(read, found.vectors, found.probabilities, nearest, labels, found.scores)


def _describe(model: TextClusterer, seen: Seen, **options: Any) -> list[Cluster]:
    topics = getattr(model, "topics_", None)  # only some methods find any
    assigner = model.assigner_
    if isinstance(assigner, EditedAssigner):
        own = {} if topics is None else {c: topics[i] for c, i in assigner.untouched.items()}
        facts = {"probabilities": seen.probabilities, "topics": own, **options}
        return describe_numbered(seen.texts, seen.labels, seen.vectors, {}, **facts)
    return describe(
        seen.texts,
        seen.labels,
        seen.vectors,
        **{"probabilities": seen.probabilities, "topics": topics, **options},
    )


def _page(
    model: TextClusterer, seen: Seen, clusters: Sequence[Cluster], hierarchy: Hierarchy
) -> ReportData:
    ranked = -np.sort(-seen.probabilities, axis=1)
    confidence = ranked[:, 0]
    margin = confidence - (ranked[:, 1] if ranked.shape[1] > 1 else 0.0)
    saved = make_map(seen.vectors, seen.nearest, model.seed_, seen.outliers)
    columns = {
        "text": seen.texts,
        "cluster": [str(label) for label in seen.labels],
        "confidence": [str(value) for value in confidence],
    }
    if hierarchy.levels:
        names = {cluster.id: cluster.name for cluster in clusters}
        called = [names.get(int(label), NONE_OF_THESE) for label in seen.labels]
        above = hierarchy.columns(seen.labels, called)
        columns |= {name: [str(value) for value in values] for name, values in above.items()}
    guard = model.guard_.to_dict() if model.guard_ is not None else None
    quality = figures(seen.labels, confidence, margin, silhouette=saved["silhouette"], guard=guard)
    placed = int((seen.labels >= 0).sum())
    sentence = guard_sentence(guard)
    return ReportData(
        title=f"{len(seen.texts):,} texts in {len(clusters)} clusters",
        summary=[
            f"{placed:,} of {len(seen.texts):,} texts are in {len(clusters)} clusters.",
            *model.remarks(),
            *([sentence] if sentence else []),
        ],
        clusters=clusters,
        settings={"method": model.name, "parameters": repr(model), "seed": model.seed_,
                  "coterie": coterie.__version__},
        quality=quality,
        next_steps=next_steps(clusters, quality),
        points=make_points(saved, columns, "text"),
        levels=hierarchy.levels,
        themes=hierarchy.themes,
        outliers=_outliers(seen, clusters) if model.outlier_limit_ else None,
    )  # fmt: skip


def _outliers(seen: Seen, clusters: Sequence[Cluster]) -> Outliers:
    names = {cluster.id: cluster.name for cluster in clusters}
    rows = np.flatnonzero(seen.outliers)
    found: dict[str, Outlier] = {}
    for row in rows[np.argsort(-seen.scores[rows], kind="stable")]:
        nearest = int(seen.nearest[row])
        one = Outlier(seen.texts[row], float(seen.scores[row]), nearest, names[nearest])
        found.setdefault(one.text, one)
    share = len(rows) / max(int((seen.nearest >= 0).sum()), 1)
    return Outliers(len(rows), share, list(found.values())[:SHOWN])
