"""Static encoders: the mean of looked-up vectors, against a loop; saved, found again, refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from coterie import SCCL, TwoStep, load
from coterie.encoders import load_encoder
from coterie.errors import DataError, UsageError
from encoded import encoded
from said import raises

WORDS = ["[UNK]", "red", "blue", "car", "bus", "song", "tune"]


def make(folder: Path, normalize: bool = False, **arrays: np.ndarray) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)  # as left by whoever saved it: must not count here
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
    save_file({"embeddings": table, **arrays}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "normalize": normalize}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def loop(text: str, table, weights=None, mapping=None) -> np.ndarray:
    """Mean over known words of weight times row, slow and obvious."""
    total, n = np.zeros(table.shape[1]), 0
    for word in text.split():
        if word in WORDS[1:]:
            i = WORDS.index(word)
            total += (1 if weights is None else weights[i]) * table[
                i if mapping is None else mapping[i]
            ]
            n += 1
    return total / max(n, 1)


TEXTS = ["red car", "blue bus song tune", "car", "red what car", "nothing known", "red red blue"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_equals_the_loop(tmp_path: Path, weighted: bool, mapped: bool) -> None:
    n = len(WORDS)
    weights = np.linspace(0.1, 2, n) if weighted else None
    mapping = np.array([0, 2, 2, 1, 6, 5, 3]) if mapped else None
    arrays = {"weights": weights} if weighted else {}
    arrays |= {"mapping": mapping} if mapped else {}
    encoder = load_encoder(make(tmp_path / "m", **arrays))
    table = np.random.default_rng(0).normal(size=(n, 4))
    expected = [loop(t, table, weights, mapping) for t in TEXTS]
    np.testing.assert_allclose(encoded(encoder, TEXTS), expected, atol=1e-6)


def test_hand_value_length_and_cut(tmp_path: Path) -> None:
    table = np.zeros((len(WORDS), 2), dtype=np.float32)
    table[1], table[2] = (3, 0), (0, 4)
    folder = make(tmp_path / "m", embeddings=table)
    assert encoded(load_encoder(folder), ["red blue"]).tolist() == [[1.5, 2.0]]
    said = make(tmp_path / "unit", True, embeddings=table)
    for encoder in (load_encoder(folder, normalize=True), load_encoder(said)):
        unit = encoded(encoder, ["red blue", "unknown"])
        np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0]], atol=1e-6)
    short = load_encoder(folder, max_length=3)
    np.testing.assert_allclose(encoded(short, ["red red red blue blue"]), [[3, 0]])


@pytest.mark.parametrize("include", [False, True])
def test_a_saved_model_predicts_the_same(tmp_path: Path, include: bool) -> None:
    folder = make(tmp_path / "m", True)
    texts = [a + " " + b for a in ("red", "blue") for b in ("car", "bus", "song", "tune")]
    model = TwoStep(2, encoder=folder, random_state=0).fit(texts)
    model.save(tmp_path / "saved", include_encoder=include)
    if include:
        (folder / "model.safetensors").unlink()  # it is not needed any more
    np.testing.assert_array_equal(load(tmp_path / "saved").predict(texts), model.labels_)


def test_training_is_refused_with_the_remedy(tmp_path: Path) -> None:
    texts = [f"{a} {b}" for a in WORDS[1:] for b in WORDS[1:]]
    with raises(UsageError, "encoder: a static"):
        SCCL(2, encoder=make(tmp_path / "m"), steps=1, random_state=0).fit(texts)


def test_folders_that_are_none_are_refused(tmp_path: Path) -> None:
    folder = make(tmp_path / "m")
    save_file({"other": np.ones((2, 2), dtype=np.float32)}, folder / "model.safetensors")
    with raises(DataError, "cannot be read"):
        load_encoder(folder)
    (folder / "model.safetensors").write_bytes(b"\x05")
    with raises(DataError, "cannot be read"):
        load_encoder(folder)
    with raises(UsageError, "a static encoder has"):
        load_encoder(make(tmp_path / "n"), pooling="cls")
