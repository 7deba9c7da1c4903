"""Fits that are interrupted in each of their stages, and taken up again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from coterie.methods.train import Checkpoint
from coterie.models.clusterer import TextClusterer


def fit_with_interrupts(model: TextClusterer, texts: list[str], **options: Any) -> set[int]:
    """Fit, interrupted after the first and the fourth checkpoint of each stage: the stages."""
    save, saved = Checkpoint.save, Counter[int]()

    def interrupt(self: Checkpoint, state: Any, device: Any) -> None:
        save(self, state, device)
        saved[state.stage] += 1
        if saved[state.stage] in (1, 4):
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", interrupt)
        while True:
            try:
                model.fit(texts, **options)
                return set(saved)
            except KeyboardInterrupt:
                continue
