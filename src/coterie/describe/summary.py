"""What a run says: what its texts are about, what grows, what needs attention, how it was made.

The command, the page, a notebook and ``Run.summary`` show the same facts, made here from the
clusters, their tree and the manifest. The manifest has the sentences as well, for people
who open it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from coterie._util.types import Floats, Ints
from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.drift import LEVEL, share_changes
from coterie.describe.tree import Nodes, level_clusters
from coterie.errors import counted
from coterie.texts.corpus import is_placeholder

CLOSE = 0.1  # a margin below this is a close call
LOG = "manifest.json"


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


THEMES = 5  # shown
FEWEST = 4  # themes; where a level has fewer, the next finer one says more
READABLE = 120  # characters of an example
NAMED = 5  # changes, or clusters of a remark
LARGE = 0.4  # share of a cluster that more clusters may split
MANY = 0.2  # share of close calls that calls for another try
WEAK = 1 / 3  # share of close calls in a cluster that is not clear
TINY = 2  # texts
ODDS = 1_000_000, 100_000, 10_000, 1_000, 100
CHANGES = {"new": "new", "grew": "growing", "shrank": "shrinking"}


class Named(NamedTuple):
    """A cluster in a sentence."""

    id: int
    name: str


Said = tuple[str | Named, ...]  # a sentence; pages link its clusters


@dataclass(frozen=True)
class Theme:
    """One of the largest themes.

    Attributes
    ----------
    id : int
        Of the cluster, on its level.
    name : str
    size : int
    share : float
    example : str
        A central text that is short enough to read; empty where no text is shown.
    over_time : list of (str, int)
        Texts in each period; empty without dates.
    """

    id: int
    name: str
    size: int
    share: float
    example: str
    over_time: list[tuple[str, int]]

    @property
    def percent(self) -> str:
        """Its share of the texts."""
        return _percent(self.share)


@dataclass(frozen=True)
class Overview:
    """A run at a glance.

    Attributes
    ----------
    themes : list of Theme
        The largest, at most five.
    about : str
        What they are, such as "The 5 largest of 7 broad themes".
    changes : list of Said
        What is new, grows or shrinks, with how sure that is.
    basis : str
        What was compared for that; or what would have to be there.
    attention : list of Said
        What a person should look at.
    """

    themes: list[Theme]
    about: str
    changes: list[Said]
    basis: str
    attention: list[Said]

    def without_texts(self) -> Overview:
        """The same without examples."""
        return replace(self, themes=[replace(theme, example="") for theme in self.themes])

    def sentences(self) -> list[str]:
        """All of it, for people who read no page."""
        named = "; ".join(f"“{theme.name}” ({theme.percent})" for theme in self.themes)
        about = [f"{self.about}: {named}."] if self.themes else []
        return [*about, self.basis, *map(plain, self.changes), *map(plain, self.attention)]


def plain(said: Said) -> str:
    """A sentence as text.

    Examples
    --------
    >>> plain((Named(3, "Late parcels"), " is new."))
    '“Late parcels” is new.'
    """
    return "".join(part if isinstance(part, str) else f"“{part.name}”" for part in said)


def make_overview(
    facts: Mapping[str, Any], clusters: Sequence[Cluster], tree: Tree, nodes: Nodes
) -> Overview:
    """The run at a glance.

    Parameters
    ----------
    facts : mapping
        The manifest of a run.
    clusters : sequence of Cluster
    tree : Tree
        Of which the clusters are a cut.
    nodes : mapping of int to Cluster
        All its clusters.
    """
    # The coarsest level that tells several themes apart
    level = next((name for name in tree.coarser if tree.levels[name] >= FEWEST), None)
    themes = clusters if level is None else level_clusters(tree, nodes, level)
    themes = [theme for theme in themes if theme.size]
    shown, above = tree.cut(), tree.cut(level)
    place = {shown[leaf]: above[leaf] for leaf in tree.leaves}
    inside: dict[int, list[Cluster]] = {}
    for cluster in clusters:
        inside.setdefault(place[cluster.id], []).append(cluster)
    noun = "cluster" if level is None else "broad theme" if level == "broad" else "theme"
    changes, basis = _changes(facts, clusters)
    largest = sorted(themes, key=lambda c: (-c.size, c.id))[:THEMES]
    total = counted(len(themes), noun)
    return Overview(
        [
            Theme(c.id, c.name, c.size, c.share, _example(c), texts_by_period(inside.get(c.id, [])))
            for c in largest
        ],
        total if len(largest) == len(themes) else f"The {len(largest)} largest of {total}",
        changes,
        basis,
        _attention(facts, clusters),
    )


def texts_by_period(clusters: Sequence[Cluster]) -> list[tuple[str, int]]:
    """Texts of all clusters per period, in the order of time."""
    total: dict[str, int] = {}
    for cluster in clusters:
        for period, count in cluster.over_time:
            total[period] = total.get(period, 0) + count
    return sorted(total.items())


def _example(cluster: Cluster) -> str:
    """The most central text that is readable at a glance, else the shortest."""
    told = [text for text in cluster.examples if not is_placeholder(text)] or cluster.examples
    short = (text for text in told if len(text) <= READABLE)
    return next(short, min(told, key=len, default=""))


def _changes(facts: Mapping[str, Any], clusters: Sequence[Cluster]) -> tuple[list[Said], str]:
    """What changed, and what was compared: old rows with those of the last update, or dates."""
    added, loose = facts.get("figures", {}).get("added"), ()
    if added is not None:
        loose = (facts.get("updates") or [{}])[-1].get("loose", ())
        new = [added.get(str(c.id), 0) for c in clusters]
        old = [c.size - count for c, count in zip(clusters, new, strict=True)]
        basis, since = "The rows of the last update, compared with those before.", "with the update"
    else:
        periods = [period for period, _ in texts_by_period(clusters)]
        if len(periods) < 2:
            return [], (
                "What grows is known when the table has a column of dates, or after coterie update."
            )
        half = len(periods) // 2
        new = [sum(count for p, count in c.over_time if p >= periods[half]) for c in clusters]
        old = [sum(count for p, count in c.over_time if p < periods[half]) for c in clusters]
        since = "in the second half"
        basis = (
            f"The second half, {periods[half]} to {periods[-1]}, compared with the first, "
            f"{periods[0]} to {periods[half - 1]}."
        )
    share = sum(new) / max(sum(new) + sum(old), 1)
    found: list[tuple[tuple[int, float, int], Said]] = []
    rows = zip(clusters, share_changes(old, new), old, new, strict=True)
    for c, (change, chance), before, now in rows:
        if change == "new" and added is not None:
            chance = 1.0  # it was made of these rows
        elif not change or chance > LEVEL or c.id in loose:
            continue
        number = "all" if not before else f"{now:,} of"
        counts = f"{number} its {counted(now + before, 'text')} came {since}"
        sure = _how_sure(chance, share)
        order = list(CHANGES).index(change), chance, -now
        found.append((order, (Named(c.id, c.name), f" is {CHANGES[change]}: {counts}{sure}.")))
    found.sort(key=lambda pair: pair[0])
    said = [sentence for _, sentence in found[:NAMED]]
    if len(found) > NAMED:
        said.append((f"{counted(len(found) - NAMED, 'other cluster')} changed as well.",))
    if not found:
        basis += " No cluster grew or shrank more than chance explains."
    return said, basis


def _how_sure(chance: float, share: float) -> str:
    """How seldom chance alone makes such a change; empty where that says little."""
    odds = next((odds for odds in ODDS if chance < 1 / odds), None)
    if odds is None:
        return ""
    return (
        f", as did {_percent(share)} of all texts; chance alone would do this less than once in "
        f"{odds:,}"
    )


def _attention(facts: Mapping[str, Any], clusters: Sequence[Cluster]) -> list[Said]:
    """What a person should look at, the gravest first."""
    out: list[Said] = [(warning,) for warning in facts.get("encoder", {}).get("warnings", ())]
    guard = facts.get("guard")
    if guard and guard["fired"] and facts.get("parameters", {}).get("guard", True):
        out.append(
            (
                f"The start guard rejected the training: {guard.get('reason')}. These are the "
                "clusters from before training.",
            )
        )
    if empty := facts.get("guidance", {}).get("empty"):
        out.append((f"Given, but no text fits: {', '.join(empty)}.",))
    if len(clusters) == 1:
        return [*out, ("All texts are in one cluster: ask for more (--clusters) to see themes.",)]
    placed = sum(cluster.size for cluster in clusters)
    for cluster in clusters:
        if cluster.size > LARGE * placed:
            share = _percent(cluster.share)
            more = f" holds {share} of the texts: more clusters (--clusters) may split it."
            out.append((Named(cluster.id, cluster.name), more))
    out += _unsure(facts, clusters, placed)
    if marked := facts.get("outliers", {}).get("marked"):
        share, verb = _percent(marked / max(placed + marked, 1)), "fits" if marked == 1 else "fit"
        near = "the column nearest_cluster has the nearest one"
        out.append((f"{counted(marked, 'text')} ({share}) {verb} no cluster; {near}.",))
    if tiny := [cluster for cluster in clusters if 0 < cluster.size <= TINY]:
        out.append((f"{counted(len(tiny), 'cluster')} of one or two texts: ", *_listed(tiny)))
    pairs = [(near.similarity, c, near) for c in clusters for near in c.near]
    if pairs:
        _, one, other = max(pairs, key=lambda pair: pair[0])
        pair = Named(one.id, one.name), " and ", Named(other.id, other.name)
        out.append((*pair, " are the most similar clusters; they may be one theme."))
    return out


def _unsure(facts: Mapping[str, Any], clusters: Sequence[Cluster], placed: int) -> list[Said]:
    """Close calls of all texts, and the clusters in which they are many."""
    figures = facts.get("figures", {})
    out: list[Said] = []
    if share := figures.get("close_calls"):
        remedy = ""
        if share >= MANY:
            remedy = "; fewer clusters, or another method, may separate them better"
        number = counted(round(share * placed), "text")
        verb = "is a close call" if number == "1 text" else "are close calls"
        out.append((f"{number} ({_percent(share)}) {verb} between two clusters{remedy}.",))
    unsure = figures.get("unsure", {})
    weak = [c for c in clusters if unsure.get(str(c.id), 0) > max(WEAK * c.size, TINY)]
    weak.sort(key=lambda c: -unsure[str(c.id)] / c.size)
    if weak:
        out.append(("More than a third are close calls in ", *_listed(weak)))
    return out


def _listed(clusters: Sequence[Cluster]) -> Said:
    """Some clusters, and how many there are besides; the end of a sentence."""
    out: list[str | Named] = []
    for cluster in clusters[:NAMED]:
        out += [", "] if out else []
        out.append(Named(cluster.id, cluster.name))
    more = len(clusters) - NAMED
    return (*out, f" and {more} more." if more > 0 else ".")


def _percent(share: float) -> str:
    """A share for people.

    Examples
    --------
    >>> _percent(0.224), _percent(0.004)
    ('22%', '0.4%')
    """
    return f"{100 * share:.0f}%" if share >= 0.0095 or not share else f"{100 * share:.1g}%"


def summarise(
    facts: Mapping[str, Any], clusters: Sequence[Cluster], tree: Tree, nodes: Nodes
) -> list[str]:
    """The run in a few sentences: how large it is, what it shows at a glance, how it was made.

    Parameters
    ----------
    facts : mapping
        The manifest of a finished run.
    clusters : sequence of Cluster
    tree : Tree
        Of which the clusters are a cut.
    nodes : mapping of int to Cluster
        All its clusters.
    """
    glance = make_overview(facts, clusters, tree, nodes).sentences()
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

    Where it rejected the training, that needs attention: see :func:`make_overview`.
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
