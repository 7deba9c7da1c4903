"""The bundled messages: too hard for counted words, not for meaning."""

from collections.abc import Iterator

import numpy as np
import pytest

from coterie import TwoStep, sample
from coterie.arrays.metrics import nmi


@pytest.fixture(scope="module")
def scores(kept_vectors) -> Iterator[dict[str, float]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_CACHE", str(kept_vectors))
        yield scored()


def scored() -> dict[str, float]:
    """Of every other message."""
    corpus = sample()
    themes = np.array(corpus.table.column("theme").to_pylist())[::2]
    themed = themes != "none"
    out = {}
    for encoder in ("tfidf", "bow", "all-MiniLM-L6-v2"):
        labels = TwoStep(17, encoder=encoder, random_state=0).fit(corpus.texts[::2]).labels_
        out[encoder] = nmi(themes[themed], labels[themed])
    return out


@pytest.mark.full
def test_counted_words_are_clearly_below_meaning(scores: dict[str, float]) -> None:
    assert max(scores["tfidf"], scores["bow"]) < 0.5 * scores["all-MiniLM-L6-v2"]


def test_meaning_finds_most_of_the_themes(scores: dict[str, float]) -> None:
    assert scores["all-MiniLM-L6-v2"] > 0.45


def test_messages_are_written_out_not_made_from_a_frame() -> None:
    texts = [text.lower() for text in set(sample().texts) if text]
    openings = [" ".join(text.split()[:4]) for text in texts if len(text.split()) > 4]
    assert len(set(openings)) > 0.97 * len(openings)
