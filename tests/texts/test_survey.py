"""One look through: counts, notes and digest of the whole, and a fair, seeded sample."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import DataError, UsageError
from coterie.texts import TextStream, read, read_corpus, survey
from said import raises

LINES = [f"text number {i % 40} of many" for i in range(100)]
LINES += ["", "  ", "n/a", "n/a", "two\x01 halves", "x" * 10_001]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("\n".join(LINES) + "\n")
    return tmp_path / "a.txt"


@pytest.mark.parametrize("rows", [3, 1000])
def test_finds_what_the_whole_corpus_says(file: Path, rows: int, monkeypatch) -> None:
    whole = read_corpus(file)
    monkeypatch.setattr(read, "CHUNK_ROWS", rows)
    found = survey(TextStream(file), 1000)
    assert (found.rows, found.filled, found.distinct) == (106, 104, 43)
    assert found.sha256 == whole.sha256
    assert [note.message for note in found.notes] == [note.message for note in whole.notes]
    assert found.texts == list(dict.fromkeys(filter(None, whole.texts)))
    counts = Counter(whole.texts)
    assert found.counts.tolist() == [counts[text] for text in found.texts]
    assert [whole.texts[row] for row in found.first] == found.texts
    assert found.first.tolist() == [whole.texts.index(text) for text in found.texts]


def test_the_sample_hangs_on_the_seed_and_not_on_the_order(file: Path, tmp_path: Path) -> None:
    found = survey(TextStream(file), 10, seed=1)
    assert len(found.texts) == 10 and found.distinct == 43
    assert set(found.texts) != set(survey(TextStream(file), 10, seed=2).texts)
    (tmp_path / "b.txt").write_text("\n".join(reversed(LINES)) + "\n")
    turned = survey(TextStream(tmp_path / "b.txt"), 10, seed=1)
    assert set(turned.texts) == set(found.texts)


def test_repeats_give_no_text_a_better_chance(tmp_path: Path) -> None:
    """Text 0 fills half of the file; in 200 samples of 5 of 20 it is in a quarter of them."""
    lines = ["text 0"] * 20 + [f"text {i}" for i in range(1, 20)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    stream = TextStream(tmp_path / "a.txt")
    seen = Counter(text for seed in range(200) for text in survey(stream, 5, seed).texts)
    assert sum(seen.values()) == 1000
    deviation = (200 * 0.25 * 0.75) ** 0.5
    assert all(abs(seen[f"text {i}"] - 50) < 4 * deviation for i in range(20))


def test_thinning_keeps_proportions_and_the_limit() -> None:
    from coterie.texts import Survey

    counts = np.array([1000, 500, 1, 1])
    found = Survey(1502, 1502, 4, "", (), list("abcd"), counts, np.arange(4))
    thinned = Counter(found.repeated(150))
    assert sum(thinned.values()) <= 150 and min(thinned.values()) == 1
    assert thinned["a"] / thinned["b"] == pytest.approx(2, rel=0.05)


def test_nothing_to_cluster_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("...\n\n?\n")
    with raises(DataError, "are empty or have", "3"):
        survey(TextStream(tmp_path / "a.txt"), 5)
    with raises(UsageError, "should be an integer of", "n"):
        survey([], 0)
