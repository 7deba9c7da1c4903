"""Views of one pass: each against a loop over tokens, and saved with the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.said import raises

import coterie
from coterie import Auto, TwoStep, load
from coterie._random import derive_seed
from coterie.encoders import SentenceEncoder, ViewsEncoder, load_encoder
from coterie.encoders.load import split_names
from coterie.encoders.sentence import PooledEncoder, middle_layers
from coterie.encoders.views import token_weights
from coterie.errors import DataError, UsageError
from coterie.runs.update import update


def loop_over_layers(encoder: SentenceEncoder, text: str, weights) -> tuple[list[float], ...]:
    """The weighted mean of the last layer and of the middle layers of one text."""
    ids = encoder.tokenizer(text)["input_ids"]
    with torch.inference_mode():
        states = (
            encoder.model[0]
            .auto_model(torch.tensor([ids]), output_hidden_states=True)
            .hidden_states
        )
    first, last = middle_layers(len(states) - 1)
    weighted, middle = np.zeros(32), np.zeros(32)
    for place, token in enumerate(ids):
        weighted += weights[token] * states[-1][0, place].numpy()
        for layer in range(first, last + 1):
            middle += weights[token] * states[layer][0, place].numpy() / (last + 1 - first)
    total = sum(weights[token] for token in ids)
    return list(weighted / total), list(middle / total)


@pytest.mark.parametrize("libraries", [False, True])
def test_all_views_of_a_pass(tiny_encoder: Path, topics, libraries: bool) -> None:
    encoder = load_encoder(str(tiny_encoder), max_length=32)
    if libraries:
        encoder.complete()
    texts = topics[0][:5]
    items, rows = encoder.prepare(texts)
    weights = token_weights(items.flat, encoder.n_tokens)
    vectors = PooledEncoder(encoder, weights).encode(items)[rows]
    assert (encoder.light is None) == libraries
    np.testing.assert_allclose(vectors[:, :32], encoder.encode(items)[rows], atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        weighted, middle = loop_over_layers(encoder, text, weights)
        np.testing.assert_allclose(vector[32:64], weighted, atol=1e-5)
        np.testing.assert_allclose(vector[64:], middle, atol=1e-5)


def test_the_views_are_centred_and_have_their_lengths(tiny_encoder: Path, topics) -> None:
    texts = topics[0]
    encoder = ViewsEncoder(load_encoder(str(tiny_encoder)))
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    vectors = encoder.encode(items)
    assert vectors.shape == (len(items), encoder.dim)
    ngrams, lexical = encoder.lexical.parts["ngrams"].dim, encoder.lexical.dim
    meaning, grams, words, middle = np.split(vectors, [32, 32 + ngrams, 32 + lexical], axis=1)
    for part, length in ((meaning, 1.0), (grams, 0.5), (words, 0.25), (middle, 0.5)):
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), length, rtol=1e-4)
    pooled = PooledEncoder(encoder.inner, encoder.token_weights).encode(items.inner)
    plain, weighted = (part - part.mean(axis=0) for part in (pooled[:, :32], pooled[:, 32:64]))
    one = int(items.pairs[3, 0])
    both = plain[one] / np.linalg.norm(plain[one]) + weighted[one] / np.linalg.norm(weighted[one])
    np.testing.assert_allclose(meaning[3], both / np.linalg.norm(both), atol=1e-4)
    np.testing.assert_array_equal(items.embeddings, pooled[:, :32])
    some = np.array([5, 2])
    np.testing.assert_allclose(encoder.encode(items, some), vectors[some], atol=1e-6)
    # New texts are centred by the means of the corpus, not by their own.
    again, _ = encoder.prepare([texts[3]])
    np.testing.assert_allclose(encoder.encode(again)[0], vectors[rows[3]], atol=1e-5)


def test_a_pooling_of_the_first_token_is_left_as_it_is(tiny_encoder: Path, topics) -> None:
    encoder = ViewsEncoder(load_encoder(str(tiny_encoder), pooling="cls"))
    encoder.learn(topics[0])
    items, _ = encoder.prepare(topics[0])
    vectors = encoder.encode(items)
    plain = items.embeddings - items.embeddings.mean(axis=0)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors[:, :32], plain[items.pairs[:, 0]], atol=1e-4)


def test_damaged_arrays_are_refused(tiny_encoder: Path) -> None:
    encoder = ViewsEncoder(load_encoder(str(tiny_encoder)))
    weights, means = np.ones(encoder.inner.n_tokens), np.zeros(3 * 32)
    with raises(DataError, "is damaged: it should have", "encoder.safetensors.means", "96"):
        encoder.restore({"token_weights": weights, "means": means[:-1]})
    with raises(DataError, "is damaged", "encoder.safetensors.token_weights"):
        encoder.restore({"means": means})


@pytest.fixture(scope="module")
def other_encoder(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoder with other weights."""
    folder = shutil.copytree(tiny_encoder, tmp_path_factory.mktemp("other") / "sentence")
    weights = load_file(folder / "model.safetensors")
    mixed = {name: tensor.roll(1, dims=-1) for name, tensor in weights.items()}
    save_file(mixed, folder / "model.safetensors", {"format": "pt"})
    return folder


def views_of(folder: Path, texts: list[str], seed: int) -> dict[str, np.ndarray]:
    """The parts of the vectors of one encoder."""
    encoder = ViewsEncoder(load_encoder(str(folder), max_length=64), seed)
    encoder.inner.encode_precision = "int8"
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    parts = np.split(encoder.encode(items)[rows], [32, 32 + encoder.lexical.dim], axis=1)
    return dict(zip(("meaning", "words", "middle"), parts, strict=True))


def test_two_encoders_side_by_side(
    tiny_encoder: Path, other_encoder: Path, topics, tmp_path: Path
) -> None:
    texts, both = sorted(set(topics[0])), f"{tiny_encoder}+{other_encoder}"
    model = Auto(3, encoder=both, max_length=64, random_state=0).fit(texts)
    first, second = (
        views_of(folder, texts, derive_seed(0, "encoder"))
        for folder in (tiny_encoder, other_encoder)
    )
    assert np.abs(first["meaning"] - second["meaning"]).max() > 0.1
    parts = [first["meaning"], *second.values(), first["middle"]]
    np.testing.assert_allclose(model.vectors_, np.hstack(parts), atol=1e-5)
    assert "several encoders" in " ".join(model.remarks())
    for include in (False, True):
        model.save(tmp_path / "model", include_encoder=include)
        kept = [tmp_path / "model/encoder" / place for place in ("meaning", "words/meaning")]
        assert [folder.exists() for folder in kept] == [include, include]
        again = load(tmp_path / "model")
        np.testing.assert_allclose(again.transform(texts[:5]), model.transform(texts[:5]))
        encoders = [m for m in again.encoder_.modules() if isinstance(m, SentenceEncoder)]
        assert [encoder.encode_precision for encoder in encoders] == ["int8", "int8"]


def test_a_run_remembers_both(
    tiny_encoder: Path, other_encoder: Path, topics, tmp_path: Path
) -> None:
    both = f"{tiny_encoder}+{other_encoder}"
    run = coterie.cluster(topics[0], 3, encoder=both, folder=tmp_path / "run", seed=0)
    assert run.predict(topics[0])["cluster"].to_pylist() == run.labels.tolist()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["parameters"]["encoder"] == both
    update(tmp_path / "run", topics[0][:6])


def test_what_cannot_stand_side_by_side(tiny_encoder: Path, topics, tmp_path: Path) -> None:
    both = f"{tiny_encoder}+{tiny_encoder}"
    for act in (
        lambda: TwoStep(3, encoder=both).fit(topics[0]),
        lambda: coterie.cluster(topics[0], 3, method="kmeans", encoder=both),
    ):
        with raises(UsageError, "encoder", "auto", "name one"):
            act()
    for wrong in ("tfidf", "", "precomputed"):
        with raises(UsageError, repr(wrong), "beside"):
            Auto(3, encoder=f"{tiny_encoder}+{wrong}").fit(topics[0])
    folder = shutil.copytree(tiny_encoder, tmp_path / "a+b")
    assert split_names(str(folder)) == [str(folder)]
    assert split_names(f"static:{folder}") == [f"static:{folder}"]
