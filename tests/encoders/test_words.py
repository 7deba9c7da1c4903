"""The encoder over words: what it counts, what it reads, its two faces, and its file."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie._errors import DataError
from coterie.encoders import OneWordEncoder, WordEncoder, load_saved
from coterie.encoders.load import saved_settings
from coterie.words import stem

TEXTS = ["Cars and trucks", "a car on the road", "ripe apples", "apple pie", "trucks, cars and"]


def learned(texts: list[str] = TEXTS, **settings) -> WordEncoder:
    encoder = WordEncoder(word_vectors="ppmi", **settings)
    encoder.learn(texts)
    torch.manual_seed(0)
    encoder.make_coder(6, 3)
    return encoder


def test_rows_are_tf_idf_of_stems_with_a_mean_square_of_one() -> None:
    encoder = learned()
    items, rows = encoder.prepare(TEXTS)
    found = items.batch(rows)["rows"].numpy()
    stems = [[stem(w) for w in t.lower().replace(",", "").split()] for t in TEXTS]
    vocabulary = encoder.stems.words
    assert set(vocabulary) == {"car", "truck", "road", "ripe", "appl", "pie"}
    for i, words in enumerate(stems):
        row = np.zeros(6)
        for j, word in enumerate(vocabulary):
            holders = sum(word in other for other in stems)
            row[j] = words.count(word) * (np.log(6 / (1 + holders)) + 1)
        row *= np.sqrt(6) / np.linalg.norm(row)
        np.testing.assert_allclose(found[i], row, rtol=1e-5)


def test_words_are_all_words_in_order_up_to_the_limit() -> None:
    encoder = learned(max_length=3)
    items, rows = encoder.prepare(TEXTS)
    ids = items.batch(rows)["words"]
    words = [[encoder.words.words[i - 1] for i in line.tolist() if i] for line in ids]
    assert words == [t.lower().replace(",", "").split()[:3] for t in TEXTS]
    assert ids[2].tolist()[2] == 0


def test_texts_with_equal_words_are_one_item_and_order_matters() -> None:
    items, rows = learned().prepare(["ripe apples", "RIPE apples!", "apples ripe"])
    assert rows.tolist() == [0, 0, 1] and len(items) == 2


def test_unknown_words_are_skipped_and_texts_without_known_ones_are_padding() -> None:
    encoder = learned()
    items, rows = encoder.prepare(["ripe zebra apples", "zebra"])
    features = items.batch(rows)
    assert (features["words"] > 0).sum(dim=1).tolist() == [2, 0]
    assert not features["rows"][1].any()
    encoder.make_trainable()
    items, rows = encoder.prepare(["zebra"])
    assert not encoder.encode(items).any()


def test_stop_words_count_where_there_is_nothing_else() -> None:
    assert learned(["the", "a"]).stems.words == ["a", "the"]
    with pytest.raises(DataError, match="no text has a word"):
        learned(["_", "__"])


def test_it_begins_as_a_code_and_turns_to_words() -> None:
    encoder = learned()
    items, _ = encoder.prepare(TEXTS)
    assert encoder.dim == 3 and encoder.encode(items).shape == (5, 3)
    vectors = encoder.vectors
    encoder.make_trainable()
    assert encoder.dim == 128 and encoder.encode(items).shape == (5, 128)
    assert encoder.coder is None and "rows" not in encoder.prepare(TEXTS)[0].batch(np.arange(2))
    np.testing.assert_array_equal(encoder.embedding.weight[1:].detach().numpy(), vectors)
    assert not encoder.embedding.weight[0].any()


def test_the_row_of_the_padding_never_moves() -> None:
    encoder = learned()
    encoder.make_trainable()
    items, rows = encoder.prepare(["ripe apples", "a car on the road"])
    encoder(items.batch(rows)).sum().backward()
    gradient = encoder.embedding.weight.grad
    assert not gradient[0].any() and gradient[1:].any()


def test_a_text_alone_gets_the_vector_it_gets_in_a_crowd() -> None:
    encoder = learned()
    encoder.make_trainable()
    items, _ = encoder.prepare(TEXTS)
    crowd = encoder.encode(items)
    for i in range(len(items)):
        np.testing.assert_allclose(encoder.encode(items, np.array([i]))[0], crowd[i], atol=1e-6)


@pytest.mark.parametrize("face", ["code", "words"])
@pytest.mark.parametrize("dense_input", [False, True])
def test_saved_and_loaded_it_gives_the_same_vectors(face, dense_input, tmp_path: Path) -> None:
    encoder = learned(dense_input=dense_input, max_length=4, normalize=dense_input)
    if face == "words":
        encoder.make_trainable()
        encoder.train()(encoder.prepare(TEXTS)[0].batch(np.arange(5)))  # moves the statistics
    encoder.save(tmp_path)
    again = load_saved(tmp_path, saved_settings(encoder, "auto"))
    assert (again.kind, again.face, again.dim) == ("words", face, encoder.dim)
    new = ["a ripe car", "zebra", *TEXTS]
    expected, found = (e.encode(*e.prepare(new)) for e in (encoder, again))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("face", ["code", "words"])
def test_rows_of_numbers_are_texts_of_one_word(face: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    encoder = OneWordEncoder()
    items, rows = encoder.prepare(np.concatenate([x, x[:2]]))
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    encoder.make_coder(5, 2)
    if face == "words":
        encoder.make_trainable()
        words, mask = encoder._sequence(items.batch(np.arange(6)))
        np.testing.assert_array_equal(words[:, 0].numpy(), x)
        assert mask.shape == (6, 1) and mask.all()
    encoder.save(tmp_path)
    again = load_saved(tmp_path, saved_settings(encoder, "auto"))
    assert again.kind == "precomputed"
    np.testing.assert_array_equal(again.encode(items), encoder.encode(items))


def test_items_have_content_and_move() -> None:
    encoder = learned()
    first, second = (encoder.prepare(texts)[0] for texts in (TEXTS, TEXTS[::-1]))
    assert first.content() != second.content()
    moved = first.to(torch.device("cpu"))
    assert torch.equal(moved.batch(np.arange(3))["words"], first.batch(np.arange(3))["words"])
