"""A network over a frozen encoder: what it sees, when, and what is kept."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from coterie.encoders import BagOfWords, load_encoder, load_saved
from coterie.methods.code import CodeEncoder, make_code_encoder

TEXTS = ["red apple pie", "green apple", "fast red car", "slow car", "green apple", "old car"]


def ready(encoder: CodeEncoder, texts=TEXTS, layers=(7, 3), **more) -> tuple:
    torch.manual_seed(0)
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    encoder.make_coder(layers, **more)
    return items, rows


def test_codes_are_those_of_the_network_over_the_vectors_below() -> None:
    encoder = make_code_encoder(load_encoder("tfidf"), "rms")
    items, rows = ready(encoder)
    found = encoder.encode(items)[rows]
    below = BagOfWords()
    below.learn(TEXTS)
    inner, numbers = below.prepare(TEXTS)
    vectors = below.encode(inner)
    factor = 1 / np.sqrt(np.square(vectors).mean())
    with torch.no_grad():
        wanted = encoder.coder(torch.from_numpy(vectors[numbers] * factor))
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-5)
    assert found.shape == (6, 3) and len(items) == 5


def test_the_encoder_below_is_asked_once(tiny_encoder: Path) -> None:
    asked = []
    below = load_encoder(str(tiny_encoder))
    encode = below.encode
    below.encode = lambda *a, **k: (asked.append(1), encode(*a, **k))[1]
    encoder = make_code_encoder(below, "rms")
    items, _ = ready(encoder, ["apple pear", "song drum", "car road"])
    assert not asked  # preparing costs nothing
    moved = items.to(torch.device("cpu"))
    encoder.encode(moved)
    moved.batch(np.array([1, 0]))
    items.batch(np.array([2]))
    assert asked == [1]


@pytest.mark.parametrize("sparse", [False, True])
def test_scales_equal_their_loops(sparse: bool) -> None:
    x = np.array([[0.0, 2.0, 1.0], [4.0, -2.0, 1.0]], dtype=np.float32)
    given = csr_matrix(x) if sparse else x
    for scaling in ("rms", "minmax", "none"):
        encoder = make_code_encoder(load_encoder("precomputed"), scaling)
        encoder.prepare(x)
        encoder.make_coder([2])
        encoder.see(given)
        rows = encoder.rows({"vectors": torch.from_numpy(x)}).numpy()
        if scaling == "rms":
            assert np.square(rows).mean() == pytest.approx(1)
            np.testing.assert_allclose(rows, x / np.sqrt(26 / 6), rtol=1e-5)
        elif scaling == "minmax":
            np.testing.assert_allclose(rows, [[0, 1, 0], [1, 0, 0]])  # a constant stays finite
        else:
            np.testing.assert_array_equal(rows, x)
        encoder.see(1000 * given)  # only the first rows count
        np.testing.assert_array_equal(encoder.rows({"vectors": torch.from_numpy(x)}), rows)


def test_save_and_load_make_the_same_codes(tmp_path: Path) -> None:
    encoder = make_code_encoder(load_encoder("tfidf"), "minmax")
    items, _ = ready(encoder, activation="leaky-relu", bounded=True)
    wanted = encoder.encode(items)
    assert np.abs(wanted).max() <= 1
    encoder.save(tmp_path)
    again = load_saved(tmp_path)
    np.testing.assert_array_equal(again.encode(again.prepare(TEXTS)[0]), wanted)
