"""Describing clusters that keep their numbers and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coterie._types import Floats, Ints
from coterie.description.cluster import Cluster
from coterie.description.describe import describe


def describe_numbered(
    texts: Sequence[str],
    labels: Ints,
    vectors: Floats | None,
    names: Mapping[int, str | None],
    *,
    probabilities: Floats,
    **options: Any,
) -> list[Cluster]:
    """As :func:`coterie.describe`, for clusters of any numbers, some of which have names.

    Parameters
    ----------
    texts, labels, vectors, probabilities
        As for ``describe``; numbers may have gaps, and probabilities a column for each number.
    names : mapping of int to str or None
        Names to keep; clusters that are missing here, or None, are named by their words.
    **options
        Of ``describe``; ``topics`` is a mapping of numbers to topics.
    """
    ids = [int(i) for i in np.unique(labels) if i >= 0]
    compact = np.where(labels >= 0, np.searchsorted(ids, labels), -1)
    topics = options.pop("topics", None)
    if topics is not None:
        options["topics"] = [list(topics.get(i, [])) for i in ids]
    found = describe(texts, compact, vectors, probabilities=probabilities[:, ids], **options)
    final = final_names({i: c.name for i, c in zip(ids, found, strict=True)}, names)
    return [renumbered(c, ids, final) for c in found]


def final_names(made: Mapping[int, str], given: Mapping[int, str | None]) -> dict[int, str]:
    """Given names as they are; made names changed where they would be the same as another.

    Examples
    --------
    >>> final_names({0: "Refund", 1: "Parcel", 4: "Refund"}, {4: "Refund", 1: None})
    {0: 'Refund (2)', 1: 'Parcel', 4: 'Refund'}
    """
    out = {i: name for i in made if (name := given.get(i)) is not None}
    taken = {name.casefold() for name in out.values()}
    for i, name in made.items():
        if i in out:
            continue
        free, number = name, 2
        while free.casefold() in taken:
            free, number = f"{name} ({number})", number + 1
        out[i] = free
        taken.add(free.casefold())
    return {i: out[i] for i in made}


def renumbered(cluster: Cluster, ids: Sequence[int], names: Mapping[int, str]) -> Cluster:
    """A cluster of place ``i`` under its number ``ids[i]``, and so are its neighbours."""
    own = ids[cluster.id]
    near = [replace(n, id=ids[n.id], name=names[ids[n.id]]) for n in cluster.near]
    return replace(cluster, id=own, name=names[own], near=near)


def rename_clusters(clusters: Sequence[Cluster], names: Mapping[int, str | None]) -> list[Cluster]:
    """The same clusters with other names, also where they are named as neighbours."""
    final = {c.id: names.get(c.id) or c.name for c in clusters}
    return [
        replace(
            c,
            name=final[c.id],
            near=[replace(n, name=final.get(n.id, n.name)) for n in c.near],
        )
        for c in clusters
    ]


def names_by_number(clusters: Sequence[Cluster], width: int = 0) -> list[str | None]:
    """Names in a list where place ``i`` is cluster ``i``; None for numbers no cluster has.

    Examples
    --------
    >>> names_by_number([Cluster(2, "Late", 1, 1.0, [], [])], width=4)
    [None, None, 'Late', None]
    """
    out: list[str | None] = [None] * max([width, *(c.id + 1 for c in clusters)])
    for cluster in clusters:
        out[cluster.id] = cluster.name
    return out
