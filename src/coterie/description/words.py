"""Words that set a cluster apart: TF-IDF with clusters in the place of documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from coterie._types import Ints
from coterie.words import ENGLISH

LONGEST = 2_000  # characters read of each text
# A run of letters, digits and inner apostrophes; in scripts without blanks, one character.
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
NO_BLANKS = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f\U00020000-\U0002ffff]"
)


def tokens(text: str) -> list[str]:
    """Lower-case words; Chinese, Japanese and Thai as pairs of neighbouring characters.

    Examples
    --------
    >>> tokens("Where's my parcel?")
    ["where's", 'my', 'parcel']
    >>> tokens("退款申请")
    ['退款', '款申', '申请']
    """
    out: list[str] = []
    for word in TOKEN.findall(text[:LONGEST].lower().replace("’", "'")):
        if NO_BLANKS.search(word) and len(word) > 1:
            out += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            out.append(word)
    return out


def terms(text: str) -> set[str]:
    """Words and pairs of neighbouring words of a text that are worth showing."""
    words = tokens(text)
    single = {word for word in words if _telling(word)}
    pairs = {f"{a} {b}" for a, b in pairwise(words) if _telling(a) and _telling(b)}
    return single | pairs


def cluster_words(
    texts: Sequence[str], labels: Ints, n_clusters: int, n_words: int = 10
) -> list[list[tuple[str, float]]]:
    """The most telling terms of each cluster, best first.

    A term weighs its share of the cluster's texts times the log of how much larger that share is
    than in all texts. Inflected forms of a word and the parts of a chosen pair are shown once.
    """
    counts: list[Counter[str]] = [Counter() for _ in range(n_clusters)]
    for text, label in zip(texts, labels, strict=True):
        if label >= 0:
            counts[label].update(terms(text))
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    total = sum(counts, Counter())
    n = max(int(sizes.sum()), 1)
    least = 2 if n > 50 else 1  # a word of a single text says little about a cluster
    out = []
    for count, size in zip(counts, sizes, strict=True):
        weights = {
            term: (c / size) * float(np.log1p((c / size) / (total[term] / n)))
            for term, c in count.items()
            if total[term] >= least
        }
        ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        out.append(_distinct(ranked, n_words))
    return out


def _distinct(ranked: list[tuple[str, float]], n_words: int) -> list[tuple[str, float]]:
    """Drop terms that repeat a better one: other inflections, parts of pairs, pairs of parts."""
    chosen: list[tuple[str, float]] = []
    seen: set[str] = set()
    for term, weight in ranked:
        stems = {stem(word) for word in term.split()}
        if stems & seen:
            continue
        chosen.append((term, round(weight, 4)))
        seen |= stems
        if len(chosen) == n_words:
            break
    return chosen


def stem(word: str) -> str:
    """A crude stem, enough to see that "refunds" and "refunded" are one word.

    Examples
    --------
    >>> stem("refunds"), stem("refunded"), stem("refund"), stem("boxes"), stem("glass")
    ('refund', 'refund', 'refund', 'box', 'glass')
    """
    word = word.split("'")[0]
    for ending in ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def _telling(word: str) -> bool:
    return (
        word not in ENGLISH
        and (len(word) > 1 or bool(NO_BLANKS.match(word)))
        and (not word.isdigit())
    )
