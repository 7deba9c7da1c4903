"""A run in a few sentences, made from its facts when they are shown.

The manifest of a run holds numbers and names. ``Run.summary``, the page and the command show the
sentences of this module. The manifest has them as well, for people who open it; they are read back
only of a run of version 0.1 that nobody has changed, which has no figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coterie._types import Floats, Ints
from coterie.corpus.sentences import split_sentence
from coterie.description import Cluster
from coterie.errors import counted
from coterie.hierarchy import Hierarchy
from coterie.masking import masked_sentence

CLOSE = 0.1  # a margin below this is a close call
LOG = "edits.jsonl"


def measure(labels: Ints, confidence: Floats, margin: Floats) -> dict[str, float]:
    """Mean confidence and share of close calls, over the rows that have a cluster."""
    placed = labels >= 0
    if not placed.any():
        return {"confidence": 0.0, "close_calls": 0.0}
    return {
        "confidence": round(float(confidence[placed].mean()), 4),
        "close_calls": round(float((margin[placed] < CLOSE).mean()), 4),
    }


def summarise(
    facts: Mapping[str, Any], clusters: Sequence[Cluster], hierarchy: Hierarchy | None
) -> list[str]:
    """The run in a few sentences.

    Parameters
    ----------
    facts : mapping
        The manifest of a finished run.
    clusters : sequence of Cluster
    hierarchy : Hierarchy, optional
        The coarser levels, or broad themes.
    """
    if "figures" not in facts:  # of version 0.1, and not changed since
        return list(facts["summary"])
    placed, rows = sum(cluster.size for cluster in clusters), facts["data"]["rows"]
    out = [split_sentence(facts["split"]["rows"], rows)] if "split" in facts else []
    largest = max((cluster.share for cluster in clusters), default=0.0)
    out.append(
        f"{placed:,} of {rows:,} texts are in {counted(len(clusters), 'cluster')}; the largest "
        f"holds {100 * largest:.0f}%."
    )
    out.append(_about_confidence(facts["figures"], len(clusters)))
    if facts.get("outliers"):
        marked = facts["outliers"]["marked"]
        out.append(
            f"{marked:,} texts are outliers ({100 * marked / max(placed + marked, 1):.1f}%); the "
            "column nearest_cluster has the nearest cluster of each."
        )
    out += _about_fit(facts)
    if hierarchy is not None and hierarchy.themes and hierarchy.levels:
        k, n = len(hierarchy.above[0]), len(hierarchy.levels[0])
        column = hierarchy.column_names()[0]
        out.append(f"The {k} clusters form {n} broad themes (column {column}_name).")
    if "fit_sample" in facts and "different_texts" in facts["data"]:
        out.append(
            f"{facts['fit_sample']:,} of the {facts['data']['different_texts']:,} different texts "
            "were clustered, and all rows were assigned to these clusters. Counts are of all rows; "
            "names, words and examples come from the texts that were clustered."
        )
    if facts.get("number_of_clusters"):
        out.append(facts["number_of_clusters"]["reason"])
    return [*out, *_about_guidance(facts.get("guidance")), *_about_changes(facts)]


def data_notes(facts: Mapping[str, Any]) -> list[str]:
    """What was noticed about the data, and how much of it was masked."""
    data = facts["data"]
    if "masked" not in data:
        return list(data["notes"])
    said = masked_sentence(data["masked"]["found"])
    return [*(note for note in data["notes"] if note != said), said]  # 0.1 has it among the notes


def _about_confidence(figures: Mapping[str, float], n_clusters: int) -> str:
    mean = f"Mean confidence is {figures['confidence']:.2f}"
    if n_clusters == 1:
        return f"{mean}: there is only one cluster."
    close = f"{100 * figures['close_calls']:.0f}%"
    return f"{mean}; {close} of the texts are close calls between two clusters."


def _about_fit(facts: Mapping[str, Any]) -> list[str]:
    """What encoder, method and start guard want to be known."""
    out = [*facts.get("encoder", {}).get("warnings", ()), *facts.get("remarks", ())]
    guard = facts.get("guard")
    if guard and guard["fired"] and facts["parameters"].get("guard", True):
        out.append(
            f"The start guard rejected the training: {guard.get('reason')}. These are the clusters "
            "from before training."
        )
    return out


def _about_guidance(about: Mapping[str, Any] | None) -> list[str]:
    """What was given and what was found."""
    if about is None:
        return []
    out, found = [], about.get("found", 0)
    if count := len(about["given"]):
        what = ("theme", "themes") if about.get("themes") else ("class", "classes")
        were = f"{what[0]} was" if count == 1 else f"{what[1]} were"
        labelled = about.get("labelled", 0)
        by = f" by {labelled:,} labelled rows" if labelled else ""
        beside = "No other cluster was looked for."
        if found:
            beside = f"{counted(found, 'further cluster')} found beside."
        out.append(f"{count} {were} given{by}. {beside}")
    if about.get("empty"):
        out.append(f"Given, but no text fits: {', '.join(about['empty'])}.")
    links = [(about.get(f"{kind}_link"), f"{kind}-link") for kind in ("must", "cannot")]
    if said := " and ".join(f"{count:,} {kind}" for count, kind in links if count):
        out.append(f"Constraints kept: {said}.")
    return out


def _about_changes(facts: Mapping[str, Any]) -> list[str]:
    """What was kept from an earlier run, edited and added."""
    out, editing = [], facts.get("editing", {})
    if "kept" in editing:
        out += kept_sentences(editing["kept"])
    if editing.get("edits"):
        out.append(f"Edited by hand: {counted(editing['edits'], 'edit')}, listed in {LOG}.")
    if updates := facts.get("updates", ()):
        new = sum(len(update["new"]) for update in updates)
        times = "once" if len(updates) == 1 else f"{len(updates)} times"
        made = counted(new, "new cluster") if new else "no new cluster"
        rows, moved = (sum(u.get(key, 0) for u in updates) for key in ("rows", "moved"))
        out.append(f"Updated {times}: {rows:,} rows added, {made}. Old rows moved: {moved:,}.")
    return out


def kept_sentences(kept: Mapping[str, Any]) -> list[str]:
    """What a run took over from an earlier one."""
    out = [
        f"Numbers and names are kept from {kept['run']}: {kept['matched']} of {kept['clusters']} "
        f"clusters live on; new clusters: {kept['new']}. Matched by {kept['known']:,} texts in its "
        f"table and {kept['predicted']:,} placed by its model."
    ]
    out += [
        f"The locked cluster {cluster} is not in the new data: none of its texts is there, and no "
        "new cluster continues it."
        for cluster in kept["lost"]
    ]
    out += [
        f"The description of {cluster} is dropped: more than a tenth of its texts changed."
        for cluster in kept["undescribed"]
    ]
    now = kept["fitted"] - kept["emptied"] + kept["beside"]
    why = []
    if kept["emptied"]:
        why.append(f"all texts of {kept['emptied']} are in locked clusters or were moved by hand")
    if kept["beside"]:
        why.append(f"{kept['beside']} locked ones that none continues were kept beside them")
    if now != kept["fitted"]:
        said = ", and ".join(why)
        out.append(f"There are {now} clusters instead of {kept['fitted']}: {said}.")
    return out
