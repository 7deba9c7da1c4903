"""What new texts change: texts that fit nowhere, clusters that grow or shrink, words that change.

Each cluster's share of the new texts is compared with its share of the old ones, and its words in
the new texts with those in the old ones. Differences that chance explains are not reported: by
Fisher's exact test, at 1% for all clusters together (Holm's correction), and at one in a thousand
for a word. Nor are those of a loose cluster that only texts of the fit are put into: the share must
also differ from that of old texts which a classifier has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from coterie._util.types import Floats, Ints
from coterie._util.validation import share_of
from coterie.describe.describe import differences
from coterie.describe.terms import Terms
from coterie.describe.words import ClusterTerms
from coterie.errors import UsageError

LEVEL = 0.01  # of the test of all shares together
WORD_LEVEL = 0.001  # of the test of a word
FACTOR = 1.25  # by which a share differs at least
LISTED = 5  # clusters that a sentence names


@dataclass(frozen=True)
class Shift:
    """A cluster in old and new texts.

    Attributes
    ----------
    id : int
    name : str
    rows : int
        New texts in it.
    before, now : float
        Its share of the old texts, and of the new ones.
    change : {"new", "grew", "shrank", ""}
    entered, left : list of str
        Words that are much more frequent in its new texts than in its old ones, and the reverse.
    """

    id: int
    name: str
    rows: int
    before: float
    now: float
    change: str
    entered: list[str]
    left: list[str]


@dataclass(frozen=True)
class Drift:
    """How new texts differ from the old ones.

    Attributes
    ----------
    texts : int
        New texts.
    strange : int
        Those that fit nowhere; see :mod:`coterie.arrays.novelty`.
    alarm : bool
        Whether there is a new theme: five different texts or more that fit nowhere are together in
        a new cluster.
    clusters : list of Shift
        The largest change first.
    loose : list of int
        Clusters whose share differs from that of the old texts, but not from that of unseen ones.
    """

    texts: int
    strange: int
    alarm: bool
    clusters: list[Shift]
    loose: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Share of the new texts that fit nowhere."""
        return self.strange / max(self.texts, 1)

    def sentences(self) -> list[str]:
        """What changed, in a few sentences."""
        out = [f"{self.strange:,} of {self.texts:,} texts ({100 * self.share:.1f}%) fit nowhere."]
        for change in ("new", "grew", "shrank"):
            found = [shift for shift in self.clusters if shift.change == change]
            if found:
                shown = [
                    f"{s.id} ({s.name}, {100 * s.before:.1f}% to {100 * s.now:.1f}%)"
                    for s in found[:LISTED]
                ]
                more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
                word = "New" if change == "new" else change.capitalize()
                out.append(f"{word}: {', '.join(shown)}{more}.")
        for shift in [s for s in self.clusters if s.change != "new"][:LISTED]:
            parts = [("more", shift.entered), ("less", shift.left)]
            said = " and ".join(f"{word} {', '.join(words)}" for word, words in parts if words)
            if said:
                out.append(f"Words of {shift.id} ({shift.name}): {said}.")
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "texts": self.texts,
            "fit_nowhere": self.strange,
            "share": round(self.share, 4),
            "alarm": self.alarm,
            "clusters": [asdict(shift) for shift in self.clusters],
        }


def find_drift(  # noqa: PLR0913 - two sides, and what was found of the second
    old_texts: Sequence[str],
    old_labels: Ints,
    new_texts: Sequence[str],
    new_labels: Ints,
    names: Mapping[int, str],
    strange: int,
    alarm: bool,
    unseen: Ints | None = None,
) -> Drift:
    """Compare new texts with old ones, cluster by cluster.

    Parameters
    ----------
    old_texts, new_texts : sequence of str
    old_labels, new_labels : ndarray of int
        Their clusters, -1 for none. A cluster without an old text is new.
    names : mapping of int to str
    strange : int
        New texts that fit nowhere.
    alarm : bool
        Whether there is a new theme.
    unseen : ndarray of int, optional
        Clusters of old texts by classifiers that have not seen them.

    Examples
    --------
    >>> fruit, cars = ["red apple", "green apple"] * 20, ["fast car", "old car"] * 20
    >>> labels = np.repeat([0, 1], 40)
    >>> names = {0: "Apple", 1: "Car"}
    >>> found = find_drift(fruit + cars, labels, fruit, labels[:40], names, 0, False)
    >>> [(shift.name, shift.change) for shift in found.clusters]
    [('Apple', 'grew'), ('Car', 'shrank')]
    """
    ids = sorted(names)
    counts = np.array([[(side == i).sum() for i in ids] for side in (old_labels, new_labels)])
    shares = counts / np.maximum(counts.sum(axis=1), 1)[:, None]
    changes = [change for change, _ in share_changes(*counts)]
    loose = []
    if unseen is not None:
        again = share_changes([(unseen == i).sum() for i in ids], counts[1])
        alike = {"grew": ("grew", "new"), "shrank": ("shrank",)}
        for i, change in enumerate(changes):
            if change in alike and again[i][0] not in alike[change]:
                changes[i] = ""
                loose.append(ids[i])
    words = _changed_words(old_texts, old_labels, new_texts, new_labels, ids)
    out = []
    for i, cluster in enumerate(ids):
        before, now = shares[:, i]
        sizes = int(counts[1, i]), round(float(before), 4), round(float(now), 4)
        out.append(Shift(cluster, names[cluster], *sizes, changes[i], *words[i]))
    out.sort(key=lambda shift: (shift.change != "new", -abs(shift.now - shift.before), shift.id))
    return Drift(int((new_labels >= 0).sum()), strange, alarm, out, loose)


def share_changes(old: Sequence[int] | Ints, new: Sequence[int] | Ints) -> list[tuple[str, float]]:
    """Whether each cluster is "new", "grew" or "shrank" ("" otherwise), and how sure that is.

    Shares of the old and of the new texts are compared by Fisher's exact test. The probability is
    that of so large a difference by chance, with Holm's correction: that any cluster is named
    where none has changed happens in at most 1% of cases.

    Parameters
    ----------
    old, new : sequence of int
        Texts of each cluster.

    Examples
    --------
    >>> [(change, round(chance, 3)) for change, chance in share_changes([40, 40], [40, 0])]
    [('grew', 0.0), ('shrank', 0.0)]
    """
    from scipy.stats import hypergeom

    counts = np.array([old, new], dtype=np.int64)
    totals = counts.sum(axis=1)
    before, now = counts / np.maximum(totals, 1)[:, None]
    both, n = counts.sum(axis=0), totals.sum()
    more = hypergeom.sf(counts[1] - 1, n, both, totals[1])
    less = hypergeom.cdf(counts[1], n, both, totals[1])
    grew, shrank = np.split(_holm(np.append(more, less)), 2)
    out = []
    for i in range(counts.shape[1]):
        change, chance = "", min(grew[i], shrank[i])
        if counts[0, i] == 0 and counts[1, i]:
            change, chance = "new", grew[i]
        elif grew[i] <= LEVEL and now[i] >= FACTOR * before[i]:
            change = "grew"
        elif shrank[i] <= LEVEL and before[i] >= FACTOR * now[i]:
            change = "shrank"
        out.append((change, float(chance)))
    return out


def _holm(chances: Floats) -> Floats:
    """Probabilities of tests, adjusted for how many there are (Holm, 1979)."""
    order = np.argsort(chances, kind="stable")
    factors = np.arange(len(order), 0, -1)
    out = np.empty(len(order))
    out[order] = np.minimum(np.maximum.accumulate(factors * chances[order]), 1.0)
    return out


def read_share(fail_above: float | str) -> float:
    """A share such as 0.1 or "10%".

    Examples
    --------
    >>> read_share("10%"), read_share(0.1)
    (0.1, 0.1)
    """
    share = share_of(fail_above)
    if not 0 <= share <= 1:
        raise UsageError(f"`fail_above={fail_above!r}`: give a share from 0 to 100%, such as 10%.")
    return share


def _changed_words(
    old_texts: Sequence[str],
    old_labels: Ints,
    new_texts: Sequence[str],
    new_labels: Ints,
    ids: Sequence[int],
) -> list[tuple[list[str], list[str]]]:
    """For each cluster, the words that enter it with the new texts, and those that leave it."""
    texts = [*old_texts, *new_texts]
    labels = np.concatenate([old_labels, new_labels])
    known = np.isin(labels, ids)
    codes = np.where(known, 2 * np.searchsorted(ids, np.where(known, labels, ids[0])), -1)
    codes[len(old_texts) :] += codes[len(old_texts) :] >= 0  # odd numbers are the new texts
    terms = ClusterTerms(Terms(texts), codes, 2 * len(ids))
    pairs = [(terms[2 * i + 1], terms[2 * i]) for i in range(len(ids))]
    return [
        differences(new, old, WORD_LEVEL) if len(new.rows) and len(old.rows) else ([], [])
        for new, old in pairs
    ]
