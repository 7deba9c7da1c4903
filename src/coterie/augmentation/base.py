"""What all augmenters have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from coterie.augmentation.draws import Keys, bits

FORMAT = 1  # of what is kept on disk; another number makes all of it anew


class Augmenter(ABC):
    """Makes another wording of each text, from the text and its own random numbers alone."""

    kind: ClassVar[str]
    seeded: bool = True  # whether another seed gives another wording
    slow: bool = False  # whether wordings are worth a place on disk
    batch: int = 20_000  # texts of one call, for progress

    @abstractmethod
    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        """Another wording of each text; one that could not be changed comes back as it is.

        There is at least one text, none is empty, and words have single blanks between them.
        """

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """All that decides a wording, besides the text and the seed."""

    def close(self) -> None:
        """Let go of what runs outside this process."""
        return


class Chain(Augmenter):
    """Several augmenters, each applied to what the one before made."""

    kind: ClassVar[str] = "chain"

    def __init__(self, parts: Sequence[Augmenter]) -> None:
        self.parts = list(parts)
        self.seeded = any(part.seeded for part in parts)
        self.slow = any(part.slow for part in parts)
        self.batch = min(part.batch for part in parts)

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        out = list(texts)
        for number, part in enumerate(self.parts):
            out = part.apply(out, bits(keys, CHAIN, number))
        return out

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "parts": [part.settings() for part in self.parts]}

    def close(self) -> None:
        for part in self.parts:
            part.close()


# What random numbers are for: streams of :func:`coterie.augmentation.draws.bits`.
CHAIN, OPERATION, WORD, SYNONYM, SLOT, SOURCE, FIRST, SECOND, PAIR, TOKEN = range(10)
