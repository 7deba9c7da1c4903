"""Fits that are interrupted in each of their stages, and taken up again."""

from __future__ import annotations

from typing import Any

import pytest

from coterie.base import TextClusterer
from coterie.engine import Checkpoint


def fit_with_interrupts(model: TextClusterer, texts: list[str], **options: Any) -> set[int]:
    """Fit, interrupted once in each stage after its first checkpoint; which stages there were."""
    save, stages = Checkpoint.save, set()

    def interrupt(self: Checkpoint, state: Any, device: Any) -> None:
        save(self, state, device)
        if state.stage not in stages:
            stages.add(state.stage)
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", interrupt)
        while True:
            try:
                model.fit(texts, **options)
                return stages
            except KeyboardInterrupt:
                continue
