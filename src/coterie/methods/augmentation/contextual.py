"""Words replaced by what a masked language model expects in their place (Kobayashi, NAACL 2018)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._util.files import sha256_file
from coterie._util.types import Ints
from coterie._util.validation import check_device, need
from coterie.encoders.base import batches_by_length
from coterie.encoders.load import ASK, from_hub
from coterie.encoders.sentence import without_bars
from coterie.errors import MissingError, UsageError
from coterie.methods.augmentation.base import (
    TOKEN,
    Augmenter,
    Keys,
    Words,
    how_many,
    join,
    like,
    split_edges,
    uniform,
)
from coterie.texts.corpus import clean_text

LENGTH = 128  # tokens read of each text; words behind them stay
TOKENS = {"cpu": 2_048, "cuda": 65_536}  # of one batch
SCORES = 1 << 26  # most numbers that a model without a known head may give back at once


class Contextual(Augmenter):
    """Replace a share of the words, at least one, by words that fit the rest of the text.

    All chosen words of a text are masked together; each new word is drawn from the ``top_k`` most
    probable whole words other than the old one.

    Parameters
    ----------
    model : str
        Folder or hub name of a masked language model.
    rate : float, default=0.1
    device : str, default="auto"
    top_k : int, default=100
    """

    kind: ClassVar[str] = "contextual"

    def __init__(
        self, model: str | None, rate: float = 0.1, device: str = "auto", top_k: int = 100
    ) -> None:
        if model is None:
            raise MissingError(
                "contextual substitution needs a masked language model: 'contextual:FOLDER', "
                "'contextual:NAME', or 'contextual:hub:NAME' to download one."
            )
        super().__init__(rate)
        self.top_k, self.device, self.folder = top_k, device, find_model(model)

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "rate": self.rate, "top_k": self.top_k, "weights": self._weights}

    @cached_property
    def _weights(self) -> str:
        return weights_of(self.folder)

    @cached_property
    def _parts(self) -> tuple[Any, Any, Vocabulary]:
        """Model on its device, tokenizer, and the words that may be put in."""
        model, tokenizer = load_model(self.folder, self.device)
        if tokenizer.mask_token is None:
            raise UsageError(
                f"`model={str(self.folder)!r}` has no mask token; give a masked language model."
            )
        return model, tokenizer, Vocabulary(tokenizer, model.config.vocab_size)

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        _, tokenizer, vocabulary = self._parts
        words = Words.of(texts)
        taken = np.array([tokenizer.mask_token in text for text in texts], dtype=bool)
        able = np.array([any(map(str.isalpha, word)) for word in words.words])
        picked = words.pick(able & ~taken[words.rows], keys, how_many(words.counts, self.rate))
        out = list(words.words)
        if len(picked):
            cores = [split_edges(words.words[at]) for at in picked.tolist()]
            draws = uniform(keys[words.rows[picked]], TOKEN, words.places[picked])
            old = vocabulary.classes([core for _, core, _ in cores])
            new = self._fill(words, picked, draws, old)
            for at, (left, core, right), word in zip(picked.tolist(), cores, new, strict=True):
                if word is not None:
                    out[at] = f"{left}{like(word, core)}{right}"
        return [clean_text(text) for text in join(out, words.counts)]  # a model may write anything

    def _fill(self, words: Words, picked: Ints, draws: Any, old: Ints) -> list[str | None]:
        """A word for each place; None for places behind what the model reads."""
        model, tokenizer, vocabulary = self._parts
        masked = list(words.words)
        for at in picked.tolist():
            left, _, right = split_edges(masked[at])
            masked[at] = f"{left}{tokenizer.mask_token}{right}"
        used = np.unique(words.rows[picked])
        texts = join(masked, words.counts)
        ids = tokenizer([texts[i] for i in used], truncation=True, max_length=LENGTH)["input_ids"]
        first = np.searchsorted(words.rows[picked], used)  # of each text's chosen words
        new: list[str | None] = [None] * len(picked)
        lengths, tokens = np.array([len(row) for row in ids]), TOKENS.get(model.device.type)
        for part in batches_by_length(lengths, tokens or TOKENS["cpu"]):
            rows = [ids[i] for i in part]
            at = [first[i] + n for i in part for n in range(ids[i].count(tokenizer.mask_token_id))]
            best, values = top_words(model, tokenizer, rows, vocabulary, self.top_k)
            drawn = draw(best, values, old[at], draws[at], vocabulary)
            for place, word in zip(at, drawn, strict=True):
                new[place] = word
        return new


def find_model(name: str) -> Path:
    """Folder of a transformers model: a folder, a hub name in the local cache, or ``hub:NAME``."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise UsageError(f"`model={name!r}`: the folder has no config.json.")
        return folder
    return from_hub("model", name, [name.removeprefix(ASK)])


def load_model(folder: Path, device: str) -> tuple[Any, Any]:
    """A masked language model, from safetensors alone, and its tokenizer.

    It works in float32: half precision would make a word depend on the texts it was batched with.
    """
    library = need("transformers", "train")
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        with without_bars():
            model = library.AutoModelForMaskedLM.from_pretrained(
                folder, dtype="float32", use_safetensors=True, **safe
            )
    except (OSError, ValueError) as error:
        raise UsageError(f"`model={str(folder)!r}` cannot be loaded: {error}") from error
    tokenizer = library.AutoTokenizer.from_pretrained(folder, **safe)
    return model.to(check_device(device)).eval(), tokenizer


def weights_of(folder: Path) -> str:
    """Digest of all weights in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(sha256_file(path).encode())
    return digest.hexdigest()


class Vocabulary:
    """Tokens of a model that are whole words.

    Attributes
    ----------
    words : list of str
        By token; empty where the token is no word.
    same : ndarray of int
        Equal numbers mark tokens that are the same word but for their case.
    """

    def __init__(self, tokenizer: Any, size: int) -> None:
        tokens = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
        special = set(tokenizer.all_special_ids)
        self.words = [
            "" if i in special else word for i, word in enumerate(_whole(tokens, tokenizer))
        ]
        self.words += [""] * (size - len(self.words))
        self._numbers: dict[str, int] = {}
        self.same = np.array(
            [self._numbers.setdefault(word.casefold(), len(self._numbers)) for word in self.words]
        )
        self.allowed = np.array([word != "" for word in self.words])
        if not self.allowed.any():
            raise UsageError("`model`: its vocabulary has no whole words to put into a text.")

    def classes(self, words: Sequence[str]) -> Ints:
        """Numbers as in ``same`` of words; -1 for those that are no token."""
        return np.array([self._numbers.get(w.casefold(), -1) for w in words], dtype=np.int64)


def _whole(tokens: list[str], tokenizer: Any) -> list[str]:
    """The word of each token that begins one and could be all of it; else nothing."""
    begin = next((mark for mark in "Ġ▁" if any(t.startswith(mark) for t in tokens)), "")
    words = []
    for token in tokens:
        word = token if token.startswith(begin) and not token.startswith("##") else ""
        if begin and word:
            word = str(tokenizer.convert_tokens_to_string([token])).strip()
        words.append(word if len(word) > 1 and word.isalpha() else "")
    return words


def top_words(
    model: Any, tokenizer: Any, rows: list[list[int]], vocabulary: Vocabulary, top_k: int
) -> tuple[Ints, Any]:
    """The ``top_k + 1`` best words for each mask of some texts, and their scores."""
    import torch

    device = model.device
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), tokenizer.pad_token_id or 0)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    at = (ids == tokenizer.mask_token_id) & (mask == 1)
    with torch.inference_mode():
        scores = _scores(model, ids.to(device), mask.to(device), at.to(device))
        allowed = torch.from_numpy(vocabulary.allowed).to(device)
        scores = scores.masked_fill(~allowed, float("-inf"))
        values, best = scores.topk(min(top_k + 1, int(allowed.sum())), dim=1)
    return best.cpu().numpy(), values.cpu().numpy().astype(np.float64)


def _scores(model: Any, ids: Any, mask: Any, at: Any) -> Any:
    """Scores of all words at the masks, shape (masks, vocabulary).

    Where the head is known it sees the masks alone; all places would be the largest tensor by far.
    """
    import torch

    head = getattr(model, "cls", None) or getattr(model, "lm_head", None)
    if head is not None:
        hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
        return head(hidden[at])
    step = max(1, SCORES // (ids.shape[1] * model.config.vocab_size))
    parts = [
        model(input_ids=ids[i : i + step], attention_mask=mask[i : i + step]).logits[
            at[i : i + step]
        ]
        for i in range(0, len(ids), step)
    ]
    return torch.cat(parts)


def draw(
    best: Ints, values: Any, old: Ints, draws: Any, vocabulary: Vocabulary
) -> list[str | None]:
    """One word for each row, as probable as the model says, but never the old one."""
    weight = np.exp(values - values[:, :1])
    weight[vocabulary.same[best] == old[:, None]] = 0.0
    total = np.cumsum(weight, axis=1)
    place = (total <= draws[:, None] * total[:, -1:]).sum(axis=1)
    found = best[np.arange(len(best)), np.minimum(place, best.shape[1] - 1)]
    none = total[:, -1] <= 0  # the old word is the only one
    return [None if n else vocabulary.words[i] for i, n in zip(found, none, strict=True)]
