"""What a comparison found, as plain frozen values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from coterie.errors import counted


@dataclass(frozen=True)
class Change:
    """What became of a cluster of A, or where a cluster of B comes from.

    Attributes
    ----------
    id : int
    name : str
    size : int
        Rows in it, in its own clustering.
    share : float
        Of all rows with a cluster in its own clustering.
    status : {"matched", "split", "merged", "died", "born"}
    partner : int or None
        The cluster on the other side that carries its number on.
    linked : tuple of int
        Clusters on the other side that it shares more than half of the smaller one with, the
        largest overlap first.
    seen : int
        Rows that the comparison could follow.
    stayed : int
        Those of them that are in the partner on the other side.
    only : int
        Rows that the other clustering does not hold.
    """

    id: int
    name: str
    size: int
    share: float
    status: str
    partner: int | None
    linked: tuple[int, ...]
    seen: int
    stayed: int
    only: int


@dataclass(frozen=True)
class Flow:
    """Rows that are in one cluster of A and one of B; None stands for no cluster.

    Attributes
    ----------
    a, b : int or None
    count : int
    kept : bool
        Whether ``b`` is the partner of ``a``; rows of other flows have moved.
    examples : tuple of str
        Texts, of moved rows alone.
    """

    a: int | None
    b: int | None
    count: int
    kept: bool
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Two clusterings side by side.

    Attributes
    ----------
    a, b : str
        What the two are called.
    evidence : {"ids", "texts", "model"}
        What clusters were matched by.
    reason : str
        The same in a sentence.
    rows_a, rows_b : int
        Rows of both.
    seen : int
        Rows that could be followed: the shared ones, or with "model" all that were predicted.
    only_a, only_b : int
        Rows that the other one does not hold.
    clusters_a, clusters_b : tuple of Change
    flows : tuple of Flow
        The largest first.
    moved : int
        Rows that are not in the partner of their cluster.
    unchanged : float or None
        Share of the rows seen that are.
    nmi, ari : float or None
        Agreement over rows with a cluster on both sides; needs no matching.
    notes : tuple of str
        What was taken from tables, and what was left out, in sentences.
    """

    a: str
    b: str
    evidence: str
    reason: str
    rows_a: int
    rows_b: int
    seen: int
    only_a: int
    only_b: int
    clusters_a: tuple[Change, ...]
    clusters_b: tuple[Change, ...]
    flows: tuple[Flow, ...]
    moved: int
    unchanged: float | None
    nmi: float | None
    ari: float | None
    notes: tuple[str, ...] = ()

    def without_texts(self) -> Comparison:
        """The same with names and counts only."""
        return replace(self, flows=tuple(replace(flow, examples=()) for flow in self.flows))

    def count(self, status: str) -> int:
        """How many clusters have a status; those that were split are counted in A, the rest in B.

        Examples
        --------
        A cluster that was split in three counts once as "split", not three times.
        """
        side = self.clusters_a if status in ("split", "died") else self.clusters_b
        many = status in ("split", "merged")
        return sum(c.status == status and (not many or len(c.linked) > 1) for c in side)

    @property
    def partners(self) -> dict[int, int]:
        """Clusters of A that live on, and what they are called in B."""
        return {c.id: c.partner for c in self.clusters_a if c.partner is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """The result in a few plain sentences."""
        k_a, k_b = len(self.clusters_a), len(self.clusters_b)
        words = {
            "matched": "matched one to one",
            "split": "split",
            "merged": "merged from several",
            "died": "died",
            "born": "born",
        }
        found = [f"{n} {word}" for key, word in words.items() if (n := self.count(key))]
        both = f"{counted(k_a, 'cluster')} before, {k_b} after"
        out = [f"{both}: {', '.join(found) or 'nothing to compare'}."]
        if self.unchanged is not None:
            out.append(_moved(self))
        if self.nmi is not None and self.ari is not None:
            out.append(f"Agreement: NMI {self.nmi:.3f}, ARI {self.ari:.3f}.")
        return [*out, self.reason]


def _moved(found: Comparison) -> str:
    share = f"{100 * (found.unchanged or 0):.1f}%"
    if found.evidence == "model":
        return (
            f"The two models agree on {share} of {found.seen:,} texts; they place {found.moved:,} "
            "differently."
        )
    gone = f" {found.only_a:,} rows are gone and {found.only_b:,} are new."
    new = gone if found.only_a or found.only_b else ""
    return f"Of {found.seen:,} rows in both, {share} stayed and {found.moved:,} moved.{new}"
