"""Which word a token is of: by white space, for WordPiece and for byte-level BPE."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie._errors import UsageError
from coterie.encoders import DEFAULT, RaggedTokens, SentenceEncoder, load_encoder
from coterie.encoders.word_numbers import word_numbers

TEXT = "I don't like  unhappiness, at-all!\u200b\n(ok)"
WORDS = TEXT.split()


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
    np.testing.assert_array_equal(encoder.encode(items), plain)  # the model never sees them


def test_words_are_part_of_the_content() -> None:
    tokens = [[1, 2, 3]]
    contents = {
        RaggedTokens.build(tokens, 0, words).content()
        for words in (None, [[-1, 0, 0]], [[-1, 0, 1]])
    }
    assert len(contents) == 3


def test_slow_tokenizers_are_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(UsageError, match="fast tokenizer"):
        list(word_numbers(Slow(), ["a"], 8))
