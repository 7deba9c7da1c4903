"""From an answer to a name that can do no harm: one line, short, plain, unlike the others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

LONGEST = 60
READ = 20_000  # characters of an answer in which a name is looked for
LINE = 1_000  # of a line: putting accents into order takes the square of their number
RESERVED = frozenset({"(no text)", "no text", "(outlier)", "outlier", "outliers"})
THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.S | re.I)
ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|\x9b[0-?]*[ -/]*[@-~]"
)
LABEL = re.compile(
    r"^(?:(?:group|cluster|category|topic)\s+)?(?:name|title|label)\s*[:：]\s*", re.I
)
# Spreadsheets run cells that begin with = + - @; Markdown and quotes are not part of a name.
FRONT = " \t=+-@|%#*>`_~\"'“”„«»‘’.,:;!?·•–—/\\"
BACK = " \t*`_~\"'“”„«»‘’.,:;·•–—/\\"
MARKS = 3  # combining signs on one letter; more are a way to write over other lines


def clean_name(answer: str) -> str | None:
    r"""A name from an answer, or None where there is none in it.

    Examples
    --------
    >>> clean_name('**Late parcels.**')
    'Late parcels'
    >>> clean_name("<think>refunds?</think>Name: =Refunds that\tare late")
    'Refunds that are late'
    """
    text = ESCAPE.sub("", THOUGHT.sub("", answer)[:READ])
    for line in re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text):
        name = _line(line)
        if name is not None:
            return name
    return None


def _line(line: str) -> str | None:
    name = " ".join(_harmless(unicodedata.normalize("NFC", line[:LINE])).split())
    name = LABEL.sub("", name.lstrip(FRONT)).lstrip(FRONT)
    name = name.rstrip(BACK)
    if len(name) > LONGEST:
        cut = name[: LONGEST - 1]
        name = (cut.rsplit(" ", 1)[0] if " " in cut else cut).rstrip(BACK) + "…"
    if not any(sign.isalnum() for sign in name) or name.casefold() in RESERVED:
        return None
    return name


def _harmless(text: str) -> str:
    """Without control characters, direction marks, private signs and heaps of accents."""
    out: list[str] = []
    marks = 0
    for place, sign in enumerate(text):
        kind = unicodedata.category(sign)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind == "Cc":
            out.append(" ")
        elif kind[0] == "C":
            # Joiners are part of how Persian and Indic words are written.
            if sign in "\u200c\u200d" and out and text[place + 1 : place + 2].isalpha():
                out.append(sign)
        elif marks <= MARKS:
            out.append(" " if kind[0] == "Z" else sign)
    return "".join(out)


def fold(name: str) -> str:
    """Names with the same fold look the same to a reader."""
    return unicodedata.normalize("NFKC", name[:LINE]).casefold()


def make_unique(name: str, taken: Iterable[str], words: Sequence[str]) -> str:
    """The name, told apart from those taken by a word of the cluster, else by a number.

    Examples
    --------
    >>> make_unique("Refunds", ["refunds"], ["card"])
    'Refunds (card)'
    """
    name, folds = name[: LINE // 2], {fold(other) for other in taken}
    plain = [word for word in (clean_name(word) for word in words) if word]
    tried = [name, *(f"{name} ({word})" for word in plain if fold(word) not in fold(name))]
    for candidate in tried:
        if fold(candidate) not in folds and len(candidate) <= LONGEST + 20:
            return candidate
    number = 2
    while fold(f"{name} ({number})") in folds:
        number += 1
    return f"{name} ({number})"
