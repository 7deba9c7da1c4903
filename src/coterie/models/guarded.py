"""What the start guard of a training has seen: plain facts, saved with the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostics:
    """Label-free diagnostics of one clustering."""

    clusters_used: int
    size_entropy: float
    neighbor_agreement: float
    consensus_agreement: float | None = None


@dataclass(frozen=True)
class GuardResult:
    """What the guard saw and did.

    Attributes
    ----------
    fired : bool
        Whether the start solution was returned instead of the trained one.
    reason : str
        In plain words; empty if all is well.
    start, final : Diagnostics
    agreement : float
        NMI between the start labels and the trained ones.
    """

    fired: bool
    reason: str
    start: Diagnostics
    final: Diagnostics
    agreement: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for manifests and logs."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> GuardResult:
        """What :meth:`to_dict` gave."""
        start, final = (saved[key] and Diagnostics(**saved[key]) for key in ("start", "final"))
        return cls(**{**saved, "start": start, "final": final})
