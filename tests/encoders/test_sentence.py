"""Sentence encoders: the real default one, and a tiny random one for what must be trained."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from coterie.encoders import AUTO, DEFAULT, SentenceEncoder, load_encoder, load_saved
from coterie.encoders.base import _followed
from coterie.encoders.load import locate
from coterie.encoders.sentence import word_numbers
from coterie.errors import DataError, MissingError, UsageError
from encoded import encoded
from said import raises

TEXTS = ["My parcel is late", "The lamp arrived broken", "my parcel is late", "Wo ist mein Paket?"]
TEXT = "I don't like  unhappiness, at-all!\u200b\n(ok)"
WORDS = TEXT.split()


@pytest.fixture(scope="module")
def default() -> SentenceEncoder:
    return load_encoder(DEFAULT)


def test_default_encoder_is_there_and_knows_meaning(default: SentenceEncoder) -> None:
    texts = ["where is my parcel", "my order has not arrived yet", "how do I bake bread"]
    items, _ = default.prepare(texts)
    parcel, order, bread = default.encode(items)
    assert default.dim == 384
    assert parcel @ order > parcel @ bread + 0.2


def test_vectors_equal_those_of_sentence_transformers(default: SentenceEncoder) -> None:
    reference = SentenceTransformer(str(locate(DEFAULT)), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(encoded(default, TEXTS), reference, atol=1e-5)


def test_texts_with_equal_tokens_are_one_item(default: SentenceEncoder) -> None:
    items, rows = default.prepare(TEXTS)
    assert len(items) == 3  # the default encoder does not see case
    assert rows.tolist() == [0, 1, 0, 2]


def test_order_and_company_do_not_change_a_vector(default: SentenceEncoder) -> None:
    together = encoded(default, TEXTS)
    for i, text in enumerate(TEXTS):
        np.testing.assert_allclose(encoded(default, [text])[0], together[i], atol=1e-6)


def test_a_huge_text_is_read_at_its_beginning_only(default: SentenceEncoder) -> None:
    items, _ = default.prepare(["parcel " * 1_500_000, "parcel " * 200])
    assert len(items) == 1
    assert items.lengths.tolist() == [default.max_length]


def test_unit_length_is_a_switch() -> None:
    raw = load_encoder(DEFAULT, normalize=False)
    items, _ = raw.prepare(TEXTS)
    vectors = raw.encode(items)
    assert np.linalg.norm(vectors, axis=1).min() > 2
    raw.normalize = True
    unit = raw.encode(items)
    np.testing.assert_allclose(
        unit, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-6
    )


def test_pooling_is_a_choice(tiny_encoder: Path) -> None:
    text = ["apple car song"]
    vectors = {}
    for pooling in ("auto", "mean", "cls"):
        encoder = load_encoder(tiny_encoder, pooling=pooling)
        items, _ = encoder.prepare(text)
        vectors[pooling] = encoder.encode(items)
        assert not encoder.training
        assert encoder.pooling == {"auto": "mean"}.get(pooling, pooling)
        hidden = encoder.model[0].auto_model(**items.batch(np.array([0]))).last_hidden_state
        expected = hidden[0, 0] if pooling == "cls" else hidden[0].mean(dim=0)
        np.testing.assert_allclose(vectors[pooling][0], expected.detach(), atol=1e-5)
    np.testing.assert_array_equal(vectors["auto"], vectors["mean"])


def test_a_folder_called_auto_does_not_take_the_place_of_the_default_encoder(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_encoder, tmp_path / AUTO)
    monkeypatch.chdir(tmp_path)
    assert locate(AUTO) == locate(DEFAULT)
    assert locate(f"./{AUTO}") == Path(AUTO)


def test_plain_transformers_folder_gets_mean_pooling(tiny_encoder: Path) -> None:
    plain = load_encoder(tiny_encoder.parent / "plain")
    items, _ = plain.prepare(["apple pear"])
    sentence = load_encoder(tiny_encoder)
    np.testing.assert_allclose(plain.encode(items), sentence.encode(items), atol=1e-6)


def test_dropout_is_on_in_training_and_off_in_encode(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder).train()
    items, _ = encoder.prepare(["apple pear plum"])
    features = items.batch(np.array([0, 0]))
    a, b = encoder(features)
    assert not torch.allclose(a, b)
    np.testing.assert_array_equal(encoder.encode(items), encoder.encode(items))
    assert encoder.training


def test_half_precision_is_inside_only(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder)
    items, _ = encoder.prepare(["apple pear plum"])
    plain = encoder(items.batch(np.array([0])))
    encoder.compute_dtype = torch.bfloat16
    half = encoder(items.batch(np.array([0])))
    assert half.dtype == torch.float32
    assert not torch.equal(plain, half)
    torch.testing.assert_close(plain, half, atol=0.05, rtol=0.05)
    assert encoder.encode(items).dtype == np.float32
    assert encoder.compute_dtype == torch.bfloat16  # encode works in float32 and puts it back


def test_objects_are_copied(tiny_encoder: Path) -> None:
    model = SentenceTransformer(str(tiny_encoder), device="cpu")
    encoder = load_encoder(model)
    weights = next(encoder.parameters())
    weights.data += 1
    assert not torch.equal(weights, next(model.parameters()))


@pytest.mark.parametrize("trained", [False, True])
def test_saving_and_loading_gives_the_same_vectors(
    tiny_encoder: Path, tmp_path: Path, trained: bool
) -> None:
    encoder = load_encoder(tiny_encoder, normalize=True, max_length=9, pooling="cls")
    if trained:
        encoder.make_trainable()
        for parameter in encoder.parameters():
            parameter.data += 0.1
    encoder.save(tmp_path / "encoder", whole=False)
    items, _ = encoder.prepare(["apple pear plum", "car"])
    again = load_saved(tmp_path / "encoder")
    np.testing.assert_allclose(again.encode(items), encoder.encode(items), atol=1e-6)
    assert again.max_length == 9 and again.pooling == "cls"
    assert (again.pointer() is None) == trained


def test_other_weights_under_the_same_name_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    load_encoder(tiny_encoder).save(tmp_path, whole=False)
    config = json.loads((tmp_path / "encoder.json").read_text("utf-8"))
    config["pointer"]["weights_sha256"] = "0" * 64
    (tmp_path / "encoder.json").write_text(json.dumps(config), "utf-8")
    with raises(DataError, "on this machine has"):
        load_saved(tmp_path)


def test_unknown_encoders_say_what_to_do(tmp_path: Path) -> None:
    with raises(MissingError, "or give the folder", "`encoder='some/model'`", ""):
        load_encoder("some/model")
    with raises(MissingError, "or give the folder", " Did you mean 'tfidf'?"):
        load_encoder("tfdif")
    with raises(UsageError, "the folder has neither"):
        load_encoder(str(tmp_path))
    with raises(UsageError, "is neither a folder nor a hub name"):
        load_encoder("no such / name!")
    with raises(UsageError, "encoder should be", "7"):
        load_encoder(7)


def test_without_a_network_a_download_fails_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with raises(MissingError, "could not be downloaded"):
        load_encoder("hub:some/model-that-is-not-here")


@pytest.mark.gpu
def test_gpu_gives_the_same_vectors(tiny_encoder: Path) -> None:
    texts = ["apple pear plum", "car", "song guitar drum chorus singer"]
    encoder = load_encoder(tiny_encoder)
    items, _ = encoder.prepare(texts)
    cpu = encoder.encode(items)
    gpu = encoder.cuda().encode(items.to(torch.device("cuda")))
    np.testing.assert_allclose(gpu, cpu, atol=1e-4)


@pytest.mark.gpu
def test_what_encoded_on_a_gpu_can_be_trained_there(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder).to("cuda")
    items, _ = encoder.prepare(["apple pear plum", "car"])
    encoder.encode(items.to(torch.device("cuda")))
    encoder.make_trainable()
    assert all(
        p.is_cuda and not p.is_inference() for p in encoder.requires_grad_(True).parameters()
    )


def test_no_more_tokens_are_read_than_the_model_has_places_for(tiny_encoder: Path) -> None:
    encoder = load_encoder(str(tiny_encoder), max_length=10_000)
    places = encoder.model[0].auto_model.config.max_position_embeddings
    items, rows = encoder.prepare(["apple " * 5_000, "car"])
    assert items.lengths.max() == places
    assert np.isfinite(encoder.encode(items)[rows]).all()


def bpe():
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    plain = ByteLevelBPETokenizer(add_prefix_space=False)
    plain.train_from_iterator([TEXT, "apple pear plum"], vocab_size=300, show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=plain._tokenizer, unk_token=None)


def test_touching_tokens_are_one_word_in_the_default_encoder() -> None:
    tokenizer = load_encoder(DEFAULT).tokenizer
    (numbers,) = word_numbers(tokenizer, [TEXT], 64)
    ids = tokenizer(TEXT)["input_ids"]
    assert len(numbers) == len(ids)
    assert numbers[0] == numbers[-1] == -1 and -1 not in numbers[1:-1]
    assert sorted(set(numbers[1:-1])) == list(range(len(WORDS)))
    for number, word in enumerate(WORDS):
        mine = [i for i, n in zip(ids, numbers, strict=True) if n == number]
        assert mine == tokenizer(word, add_special_tokens=False)["input_ids"]


def test_bytes_with_their_spaces_are_numbered_by_word() -> None:
    tokenizer = bpe()
    (numbers,) = word_numbers(tokenizer, [TEXT], 64)
    assert sorted(set(numbers)) == list(range(len(WORDS)))
    assert numbers == sorted(numbers)
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(TEXT)["input_ids"])
    for number in (1, 2, 4):
        text = "".join(p for p, n in zip(pieces, numbers, strict=True) if n == number)
        assert text.strip("ĠĊ") == WORDS[number].replace("\u200b", "âĢĭ")


def test_words_without_a_token_leave_no_gap() -> None:
    (numbers,) = word_numbers(load_encoder(DEFAULT).tokenizer, ["one \u200b two"], 16)
    assert numbers == [-1, 0, 1, -1]


def test_cut_and_empty_texts() -> None:
    tokenizer = load_encoder(DEFAULT).tokenizer
    cut, empty = word_numbers(tokenizer, ["one two three four five", ""], 5)
    assert cut == [-1, 0, 1, 2, -1] and empty == [-1, -1]


def test_batches_hold_the_words_only_when_asked(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder)
    assert isinstance(encoder, SentenceEncoder)
    texts = ["apple car", "song", "apple car"]
    assert "word_ids" not in encoder.prepare(texts)[0].batch(np.array([0]))
    plain = encoder.encode(encoder.prepare(texts)[0])
    encoder.keep_words = True
    items, rows = encoder.prepare(texts)
    assert rows.tolist() == [0, 1, 0]
    features = items.to(torch.device("cpu")).batch(np.array([0, 1]))
    assert features["word_ids"].tolist() == [[-1, 0, 1, -1], [-1, 0, -1, -1]]
    wide = items.batch(np.array([0, 1]), 8)
    assert wide["input_ids"].shape == (2, 32)  # places of the first row, then of the second
    followed = wide["followed"].tolist()
    assert followed[:5] == [0, 1, 2, 32, 33] and set(followed[5:]) == {31}
    assert len(followed) == 16  # a quarter of the places: a small batch stays small
    np.testing.assert_array_equal(encoder.encode(items), plain)  # the model never sees them


@pytest.mark.parametrize("n", [8, 64, 400])
def test_few_shapes_of_a_batch_occur(n: int) -> None:
    """A graph is recorded for each shape; texts of two to 32 tokens, all places but the last."""
    rng = np.random.default_rng(0)
    seen = set()
    for low, high in ((2, 5), (5, 15), (2, 33), (32, 33)):
        lengths = rng.integers(low, high, n)
        places = _followed(lengths, 32)
        assert len(np.unique(places[: lengths.sum() - n])) == lengths.sum() - n
        seen.add(len(places))
    assert len(seen) <= 4 and max(seen) < n * 32 + 1024
    assert min(seen) == min(n * 32 // 4, 1024)


DAMAGE = {
    "no pooling": {"1_Pooling/config.json": None},
    "no weights": {"model.safetensors": None},
    "weights cut off": {"model.safetensors": 2000},
    # The libraries would make one of five special tokens, and all texts would look alike.
    "no tokenizer": dict.fromkeys(["tokenizer.json", "tokenizer_config.json", "vocab.txt"]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_named(tiny_encoder: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_encoder, folder)
    for file, length in DAMAGE[damage].items():
        if length:
            os.truncate(folder / file, length)
        else:
            (folder / file).unlink(missing_ok=True)
    with raises(DataError, "Download or copy", str(folder)):
        load_encoder(str(folder)).complete()
