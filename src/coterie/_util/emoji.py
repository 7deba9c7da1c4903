"""Emoji and pictograms, which are words where they stand alone."""

from __future__ import annotations

import re

# Symbols, dingbats and pictograms. Left out: arrows, box drawing, © and ™, marks of skin tone.
EMOJI_PATTERN = (
    "(?:[\U0001f1e6-\U0001f1ff]{2}|[\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u2767"
    "\u2794-\u27bf\u2b1b\u2b1c\u2b50\u2b55\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa"
    "\U0001f400-\U0001faff])"
)
EMOJI = re.compile(EMOJI_PATTERN)
