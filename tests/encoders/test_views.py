"""Views of one pass: each against a loop over tokens, and saved with the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from coterie.encoders import SentenceEncoder, ViewsEncoder, load_encoder, load_saved
from coterie.encoders.sentence import PooledEncoder, middle_layers
from coterie.encoders.views import token_weights


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


def test_all_views_of_a_pass(tiny_encoder: Path, topics) -> None:
    encoder = load_encoder(str(tiny_encoder), max_length=32)
    texts = topics[0][:5]
    items, rows = encoder.prepare(texts)
    weights = token_weights(items.flat, encoder.n_tokens)
    vectors = PooledEncoder(encoder, weights).encode(items)[rows]
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


def test_saving_and_loading_makes_the_same_vectors(tiny_encoder: Path, topics, tmp_path) -> None:
    encoder = ViewsEncoder(load_encoder(str(tiny_encoder)), weight=0.5)
    encoder.learn(topics[0])
    items, _ = encoder.prepare(topics[0])
    vectors = encoder.encode(items)
    for whole in (True, False):
        encoder.save(tmp_path / str(whole), whole=whole)
        assert (tmp_path / str(whole) / "meaning/model.safetensors").exists() == whole
        again = load_saved(tmp_path / str(whole))
        np.testing.assert_array_equal(again.encode(again.prepare(topics[0])[0]), vectors)
