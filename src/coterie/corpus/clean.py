"""From any value of a table to the text that is worked on; the original value is kept beside it."""

from __future__ import annotations

import json
import numbers
import re
from typing import Any

from coterie._emoji import EMOJI

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, as broken JSON escapes leave behind


def clean_text(text: str) -> str:
    r"""Replace control characters by blanks, fold white space, drop it at both ends.

    Case, punctuation, direction marks and all scripts stay as they are.

    Examples
    --------
    >>> clean_text("  two\x00 lines\r\n here ")
    'two lines here'
    """
    return " ".join(SURROGATE.sub("\ufffd", CONTROL.sub(" ", text)).split())


def has_words(text: str) -> bool:
    """Whether there is a letter, a digit or an emoji in it, in any script.

    Examples
    --------
    >>> has_words("n/a"), has_words("- ...?"), has_words("你好"), has_words("👍")
    (True, False, True, True)
    """
    return any(character.isalnum() for character in text) or EMOJI.search(text) is not None


def value_to_text(value: Any) -> str:
    """Text of a table cell: missing values become the empty text, nested ones JSON."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, numbers.Number) and value != value):  # not a number
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    return "" if text in {"<NA>", "NaT"} else text  # what pandas calls missing
