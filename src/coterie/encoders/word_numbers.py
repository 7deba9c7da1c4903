"""Which word each token belongs to, for methods that work on whole words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coterie._errors import UsageError

WORD = re.compile(r"\S+")
SPECIAL = -1
CHUNK = 8192


def word_numbers(tokenizer: Any, texts: Sequence[str], max_length: int) -> Iterator[list[int]]:
    """Number of the word of each token, -1 for tokens that stand for no part of the text.

    Words are what white space separates, so "don't" is one however many tokens it has. A text
    without white space is one word. Numbers have no gaps.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise UsageError(
            f"the encoder's tokenizer ({type(tokenizer).__name__}) does not tell where its tokens "
            "lie in the text; this method needs an encoder with a fast tokenizer."
        )
    for start in range(0, len(texts), CHUNK):
        part = texts[start : start + CHUNK]
        found = tokenizer(
            list(part),
            truncation=True,
            max_length=max_length,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        columns = found["offset_mapping"], found["special_tokens_mask"]
        for text, offsets, special in zip(part, *columns, strict=True):
            yield _numbers(text, [end for _, end in offsets], special)


def _numbers(text: str, ends: list[int], special: list[int]) -> list[int]:
    begins = np.array([match.start() for match in WORD.finditer(text)], dtype=np.int64)
    # A token may begin with the space before its word, so its last character decides.
    last = np.maximum(np.array(ends, dtype=np.int64) - 1, 0)
    words = np.maximum(np.searchsorted(begins, last, side="right") - 1, 0)
    words[np.array(special, dtype=bool)] = SPECIAL
    known = np.unique(words[words >= 0])  # words of which no token is left are passed over
    return np.where(words < 0, SPECIAL, np.searchsorted(known, words)).tolist()  # type: ignore[no-any-return]
