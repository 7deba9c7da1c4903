"""A run in a few sentences, made from its facts when they are shown.

The manifest of a run holds numbers and names. ``Run.summary``, the page and the command show the
sentences of this module and of :mod:`coterie.overview`. The manifest has them as well, for people
who open it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie._types import Floats, Ints
from coterie.description import Cluster
from coterie.errors import counted
from coterie.hierarchy import Hierarchy
from coterie.overview import make_overview

CLOSE = 0.1  # a margin below this is a close call
LOG = "edits.jsonl"


def measure(labels: Ints, confidence: Floats, margin: Floats) -> dict[str, Any]:
    """Mean confidence and close calls, over the rows that have a cluster.

    ``close_calls`` is their share; ``unsure`` has their number in each cluster that has some.
    """
    placed = labels >= 0
    if not placed.any():
        return {"confidence": 0.0, "close_calls": 0.0}
    return {
        "confidence": round(float(confidence[placed].mean()), 4),
        "close_calls": round(float((margin[placed] < CLOSE).mean()), 4),
        "unsure": count_clusters(labels[margin < CLOSE]),
    }


def count_clusters(labels: Ints) -> dict[str, int]:
    """Rows of each cluster that has some, for a manifest."""
    numbers, counts = np.unique(labels[labels >= 0], return_counts=True)
    return {str(i): count for i, count in zip(numbers.tolist(), counts.tolist(), strict=True)}


def summarise(
    facts: Mapping[str, Any], clusters: Sequence[Cluster], hierarchy: Hierarchy | None
) -> list[str]:
    """The run in a few sentences: how large it is, what it shows at a glance, how it was made.

    Parameters
    ----------
    facts : mapping
        The manifest of a finished run.
    clusters : sequence of Cluster
    hierarchy : Hierarchy, optional
        The coarser levels, or broad themes.
    """
    glance = make_overview(facts, clusters, hierarchy).sentences()
    return [*about_size(facts, clusters), *glance, *about_making(facts, clusters)]


def about_size(facts: Mapping[str, Any], clusters: Sequence[Cluster]) -> list[str]:
    """How many texts are in how many clusters."""
    placed, rows = sum(cluster.size for cluster in clusters), facts["data"]["rows"]
    largest = max((cluster.share for cluster in clusters), default=0.0)
    return [
        f"{placed:,} of {rows:,} texts are in {counted(len(clusters), 'cluster')}; the largest "
        f"holds {100 * largest:.0f}%."
    ]


def about_making(facts: Mapping[str, Any], clusters: Sequence[Cluster]) -> list[str]:
    """How the clusters were made, and what was done to them since."""
    out = [*facts.get("remarks", ()), about_guard(facts.get("guard"))]
    out.append(f"Mean confidence is {facts['figures']['confidence']:.2f}.")
    if beside := {name: n for name, n in facts.get("levels", {}).items() if n != len(clusters)}:
        numbers = " and ".join(f"{n} {name}" for name, n in beside.items())
        columns = " and ".join(f"{name}_name" for name in beside)
        out.append(f"The same texts also make {numbers} clusters; see {columns} in the table.")
    if facts.get("outliers", {}).get("marked") == 0:  # others are what needs attention
        out.append("No text is so far from its neighbours that it is an outlier.")
    if "fit_sample" in facts and "different_texts" in facts["data"]:
        out.append(
            f"{facts['fit_sample']:,} of the {facts['data']['different_texts']:,} different texts "
            "were clustered, and all rows were assigned to these clusters. Counts are of all rows; "
            "names, words and examples come from the texts that were clustered."
        )
    if facts.get("number_of_clusters"):
        out.append(_about_number(facts, len(clusters)))
    out += [*_about_guidance(facts.get("guidance")), *_about_changes(facts)]
    return [sentence for sentence in out if sentence]


def _about_number(facts: Mapping[str, Any], shown: int) -> str:
    """The number that was suggested, and why there may be another one."""
    choice = facts["number_of_clusters"]
    k = choice["n_clusters"]
    if shown == k:
        return str(choice["reason"])
    given = len(facts.get("guidance", {}).get("given", ()))
    why = f", since {given} were given" if given > k else ""
    span = f"({choice['low']} to {choice['high']} would be plausible)"
    return f"There are {shown} clusters{why}; about {k} were suggested {span}."


def about_guard(guard: Mapping[str, Any] | None) -> str:
    """What the start guard found, for readers who do not know it; empty where it had no work.

    Where it rejected the training, that needs attention: see :mod:`coterie.overview`.
    """
    if not guard or guard["fired"]:
        return ""
    return "The start guard compared the clusters before and after training: training did no harm."


def _about_guidance(about: Mapping[str, Any] | None) -> list[str]:
    """What was given and what was found."""
    if about is None:
        return []
    count, found, kept = len(about["given"]), about.get("found", 0), about["kept"]
    if not count:
        return []
    what = ("theme", "themes") if kept["themes"] else ("class", "classes")
    were = f"{what[0]} was" if count == 1 else f"{what[1]} were"
    by = f" by {len(kept['labels']):,} labelled rows" if kept["labels"] else ""
    beside = f"{counted(found, 'further cluster')} found beside."
    return [f"{count} {were} given{by}. {beside if found else 'There is no other cluster.'}"]


def _about_changes(facts: Mapping[str, Any]) -> list[str]:
    """What was kept from an earlier run, edited and added."""
    out, editing = [], facts.get("editing", {})
    if "kept" in editing:
        out.append(kept_sentence(editing["kept"]))
    if editing.get("edits"):
        out.append(f"Edited by hand: {counted(editing['edits'], 'edit')}, listed in {LOG}.")
    if updates := facts.get("updates", ()):
        new = sum(len(update["new"]) for update in updates)
        times = "once" if len(updates) == 1 else f"{len(updates)} times"
        made = counted(new, "new cluster") if new else "no new cluster"
        rows = sum(update["rows"] for update in updates)
        out.append(f"Updated {times}: {rows:,} rows added, {made}.")
    return out


def kept_sentence(kept: Mapping[str, Any]) -> str:
    """What a run took over from an earlier one."""
    return (
        f"Numbers and names are kept from {kept['run']}: {kept['matched']} of {kept['clusters']} "
        f"clusters live on; new clusters: {kept['new']}. Matched by {kept['known']:,} texts in its "
        f"table and {kept['predicted']:,} placed by its model."
    )
