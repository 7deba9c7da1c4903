"""EDA's operations against loops written from their description."""

from pathlib import Path

import numpy as np
import pytest

from coterie.methods.augmentation.base import (
    FIRST,
    OPERATION,
    SECOND,
    SLOT,
    SOURCE,
    SYNONYM,
    WORD,
    Keys,
    bits,
    text_keys,
    uniform,
)
from coterie.methods.augmentation.eda import DELETE, EDA, INSERT, REPLACE, SWAP

WORDS = ["box", "parcel", "error", "stop", "the", "is", "zzz", "big", "quickly", "Baby,"]


@pytest.fixture
def texts() -> list[str]:
    rng = np.random.default_rng(0)
    made = [" ".join(rng.choice(WORDS, rng.integers(1, 14))) for _ in range(300)]
    return [*made, "zzz", "zzz the", "box", "yyy zzz xxx"]


def slow_eda(text: str, key: Keys, eda: EDA) -> tuple[int, str]:
    """One operation on one text, word by word."""

    def draw(stream: int, position: int = 0) -> float:
        return float(uniform(key, stream, position)[0])

    words = text.split()
    n = max(1, int(eda.rate * len(words) + 1e-9))
    synonyms = {i: eda._find(word) for i, word in enumerate(words) if eda._find(word)}
    able = list(synonyms)
    operation = int(4 * draw(OPERATION))
    if operation in (REPLACE, INSERT) and not able:
        operation = SWAP
    if operation == REPLACE:
        for i in sorted(able, key=lambda i: int(bits(key, WORD, i)[0]))[:n]:
            words[i] = synonyms[i][int(draw(SYNONYM, i) * len(synonyms[i]))]
    elif operation == INSERT:
        sources = [able[int(draw(SOURCE, j) * len(able))] for j in range(n)]
        new = [synonyms[i][int(draw(SYNONYM, j) * len(synonyms[i]))] for j, i in enumerate(sources)]
        slots = sorted(range(len(words) + n), key=lambda i: int(bits(key, SLOT, i)[0]))[:n]
        old = iter(words)
        fresh = iter(new)
        words = [next(fresh) if i in slots else next(old) for i in range(len(words) + n)]
    elif operation == SWAP and len(words) > 1:
        for j in range(n):
            a = int(draw(FIRST, j) * len(words))
            b = (a + 1 + int(draw(SECOND, j) * (len(words) - 1))) % len(words)
            words[a], words[b] = words[b], words[a]
    elif operation == DELETE:
        kept = [word for i, word in enumerate(words) if draw(WORD, i) >= eda.rate]
        words = kept or [words[int(draw(FIRST) * len(words))]]
    return operation, " ".join(words)


@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_eda_is_its_definition(small_wordnet: Path, texts: list[str], rate: float) -> None:
    eda = EDA(rate)
    keys = text_keys(texts, {"rate": rate})
    made = eda.apply(texts, keys)
    seen = set()
    for row, text in enumerate(texts):
        operation, wanted = slow_eda(text, keys[row : row + 1], eda)
        assert made[row] == wanted, (operation, text)
        seen.add(operation)
    assert seen == {REPLACE, INSERT, SWAP, DELETE}
