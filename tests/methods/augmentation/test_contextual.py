"""Words that a masked language model puts in."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.errors import MissingError, UsageError
from coterie.methods.augmentation import augment
from coterie.methods.augmentation.base import (
    TOKEN,
    WORD,
    bits,
    like,
    split_edges,
    text_keys,
    uniform,
)
from coterie.methods.augmentation.contextual import Contextual, Vocabulary, draw
from said import raises

rng = np.random.default_rng(0)
PLAIN = "parcel box refund late money back please where is my the lost order".split()
TEXTS = [" ".join(rng.choice(PLAIN, rng.integers(2, 25))) for _ in range(60)]
TEXTS += ["Where is my PARCEL?", "99 99", "[MASK] is my box", "Box", "unheard wordings everywhere"]


def slow(text: str, model: Contextual, key: np.ndarray) -> str:
    """One text alone, through the whole model, its masks drawn one by one."""
    network, tokenizer, vocabulary = model._parts
    words = text.split()
    able = [i for i, word in enumerate(words) if any(map(str.isalpha, split_edges(word)[1]))]
    if not able or tokenizer.mask_token in text:
        return text
    able.sort(key=lambda i: int(bits(key, WORD, i)[0]))
    picked = sorted(able[: max(1, int(model.rate * len(words) + 1e-9))])
    shown = list(words)
    for i in picked:
        left, _, right = split_edges(words[i])
        shown[i] = f"{left}[MASK]{right}"
    inputs = tokenizer(" ".join(shown), return_tensors="pt")
    with torch.inference_mode():
        logits = network(**inputs).logits[0]
    places = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    for i, place in zip(picked, places, strict=True):
        left, core, right = split_edges(words[i])
        fit = [t for t, word in enumerate(vocabulary.words) if word]
        best = sorted(fit, key=lambda t: -float(logits[place, t]))[: model.top_k + 1]
        left_over = [t for t in best if vocabulary.words[t].casefold() != core.casefold()]
        weights = np.exp([float(logits[place, t]) for t in left_over])
        edges = np.cumsum(weights) / weights.sum()
        token = left_over[int(np.searchsorted(edges, uniform(key, TOKEN, i)[0], side="right"))]
        words[i] = left + like(vocabulary.words[token], core) + right
    return " ".join(words)


@pytest.mark.parametrize(("rate", "top_k"), [(0.1, 100), (0.3, 5)])
def test_it_is_its_definition(tiny_masked: Path, rate: float, top_k: int) -> None:
    model = Contextual(str(tiny_masked), rate, "cpu", top_k)
    keys = text_keys(TEXTS, {})
    made = model.apply(TEXTS, keys)
    assert made == [slow(text, model, keys[i : i + 1]) for i, text in enumerate(TEXTS)]
    for old, new in zip(TEXTS, made, strict=True):
        pairs = list(zip(old.split(), new.split(), strict=True))
        able = sum(any(map(str.isalpha, word)) for word, _ in pairs) * ("[MASK]" not in old)
        expected = min(able, max(1, int(rate * len(pairs) + 1e-9)))
        assert sum(a != b for a, b in pairs) == expected  # never the old word again


def test_only_whole_words_are_put_in(tiny_masked: Path) -> None:
    _, tokenizer, vocabulary = Contextual(str(tiny_masked))._parts
    kept = {word for word in vocabulary.words if word}
    assert {"parcel", "is"} <= kept
    assert not kept & {"##s", "?", "x", "99", "[MASK]", "[PAD]", "a"}
    bigger = Vocabulary(tokenizer, len(tokenizer) + 8)  # padded embeddings
    assert bigger.words[-8:] == [""] * 8


def test_a_draw_follows_the_probabilities(tiny_masked: Path) -> None:
    vocabulary = Contextual(str(tiny_masked))._parts[2]
    a, b, c = (vocabulary.words.index(word) for word in ("parcel", "box", "refund"))
    best = np.array([[a, b, c]])
    values = np.log([[0.5, 0.3, 0.2]])
    old = vocabulary.classes(["Parcel"])  # 0.6 and 0.4 are left
    for u, wanted in ((0.0, "box"), (0.59, "box"), (0.61, "refund"), (0.999, "refund")):
        assert draw(best, values, old, np.array([u]), vocabulary) == [wanted]
    none = draw(best[:, :1], values[:, :1], old, np.array([0.5]), vocabulary)
    assert none == [None]


def test_long_texts_keep_the_words_that_are_not_read(tiny_masked: Path) -> None:
    text = " ".join(["parcel"] * 200)
    (made,) = augment([text], f"contextual@1.0:{tiny_masked}", device="cpu")
    pairs = list(zip(text.split(), made.split(), strict=True))
    assert [a == b for a, b in pairs] == [i >= 126 for i in range(200)]  # 128 less [CLS] and [SEP]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with raises(MissingError, "contextual substitution"):
        augment(["a text"], "contextual")
    with raises(MissingError, "is not on this machine", "hub:bert-base-uncased"):
        augment(["a text"], "contextual:bert-base-uncased")
    with raises(UsageError, "the folder has no config.json"):
        augment(["a text"], f"contextual:{tmp_path}")


def test_a_model_with_another_head_takes_the_long_way(tiny_masked: Path) -> None:
    from coterie.methods.augmentation import contextual

    model, tokenizer, _ = Contextual(str(tiny_masked))._parts
    ids = torch.tensor([tokenizer("where is [MASK] box")["input_ids"]] * 3)
    mask, at = torch.ones_like(ids), ids == tokenizer.mask_token_id

    class Other(torch.nn.Module):  # a model whose head has no known name
        config = model.config

        def forward(self, input_ids, attention_mask):
            return model(input_ids=input_ids, attention_mask=attention_mask)

    with torch.inference_mode():
        short = contextual._scores(model, ids, mask, at)
        long = contextual._scores(Other(), ids, mask, at)
    assert torch.allclose(short, long, atol=1e-6)
