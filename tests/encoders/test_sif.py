"""SIF as an encoder, from a file of word vectors and from the texts."""

from pathlib import Path

import numpy as np
import pytest

from coterie import TwoStep
from coterie._errors import DataError, UsageError
from coterie.encoders import SIFEncoder, load_encoder, load_saved
from coterie.encoders.load import saved_settings

TEXTS = ["red apple", "green apple apple", "fast car", "the red car", "the the"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = sorted({word for text in TEXTS for word in text.split()})
    lines = [" ".join([word, *map(str, rng.normal(size=4).round(3))]) for word in words]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def loop(file: Path, a: float) -> np.ndarray:
    """Word by word from the file and the texts."""
    known = {line.split()[0]: np.array(line.split()[1:], float) for line in file.open()}
    size = np.sqrt(np.mean([np.square(v).sum() for v in known.values()]))  # as all vectors here
    every = [word for text in TEXTS for word in text.split()]
    rows = []
    for text in TEXTS:
        words = text.split()
        weights = [a / (a + every.count(word) / len(every)) for word in words]
        parts = [w * known[word] / size for w, word in zip(weights, words, strict=True)]
        rows.append(np.sum(parts, axis=0) / len(words))
    x = np.array(rows)
    u = np.linalg.svd(x)[2][0]
    return x - np.outer(x @ u, u)


@pytest.mark.parametrize("a", [1e-3, 0.1])
def test_vectors_equal_the_loop(file: Path, a: float) -> None:
    encoder = SIFEncoder(file, a=a)
    encoder.learn(TEXTS)
    items, rows = encoder.prepare(TEXTS)
    np.testing.assert_allclose(encoder.encode(items)[rows], loop(file, a), atol=1e-5)


def test_new_texts_are_treated_alike_and_unknown_words_passed_over(file: Path) -> None:
    encoder = load_encoder(f"sif:{file}")
    encoder.learn(TEXTS)
    items, rows = encoder.prepare(["red apple", "red zebra apple", "zebra"])
    assert rows[0] == rows[1] and not encoder.encode(items)[rows[2]].any()


def test_saved_and_loaded(file: Path, tmp_path: Path) -> None:
    encoder = load_encoder(f"sif:{file}")
    encoder.learn(TEXTS)
    wanted = encoder.encode(encoder.prepare(TEXTS)[0])
    encoder.save(tmp_path / "e")
    again = load_saved(tmp_path / "e", saved_settings(encoder, "auto"))
    np.testing.assert_array_equal(again.encode(again.prepare(TEXTS)[0]), wanted)
    assert again.dim == 4


def test_wrong_files_and_empty_texts_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no-such\.txt"):
        TwoStep(2, encoder="sif:no-such.txt").fit(TEXTS)
    with pytest.raises(DataError, match="no text has a word"):
        load_encoder("sif").learn(["+", "="])
