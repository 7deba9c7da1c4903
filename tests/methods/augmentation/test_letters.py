"""Swapped letters and deleted words against plain loops."""

import pytest

from coterie.methods.augmentation.base import PAIR, WORD, bits, text_keys
from coterie.methods.augmentation.letters import LETTER_RATE, CharSwap, Deletion

TEXTS = [
    "How do I fill a DataSet or a DataTable from a LINQ query resultset?",
    "aa bb",
    "x",
    "Hello",
    "- not this -",
    "Grüße aus München, 東京 und 😀 Привет",
    "😀 𝒜𝒷𝒸 - one",
    "an unbelievably interdisciplinary counterrevolutionary characterization",
]


def draw(text: str, stream: int, position: int) -> int:
    return int(bits(text_keys([text], {}), stream, position)[0])


def slow_charswap(text: str, rate: float) -> str:
    """The definition, a letter at a time."""
    words = text.split(" ")
    starts = [sum(len(word) + 1 for word in words[:n]) for n in range(len(words))]

    def pairs(word: str) -> list[int]:
        return [
            i
            for i in range(len(word) - 1)
            if word[i].isalpha()
            and word[i + 1].isalpha()
            and ord(word[i]) < 65_536 > ord(word[i + 1])
            and word[i].lower() != word[i + 1].lower()
        ]

    able = [n for n, word in enumerate(words) if pairs(word)]
    able.sort(key=lambda n: draw(text, WORD, starts[n]))
    for n in able[: max(1, int(rate * len(words) + 1e-9))]:
        word, start = words[n], starts[n]
        ranked = sorted(pairs(word), key=lambda i: draw(text, PAIR, start + i))
        taken = ranked[: max(1, int(LETTER_RATE * len(word) + 1e-9))]
        score = {i: draw(text, PAIR, start + i) for i in taken}
        letters = list(word)
        for i in taken:
            if all(score[i] < score[j] for j in (i - 1, i + 1) if j in score):
                a, b = letters[i], letters[i + 1]
                letters[i] = b.upper() if a.isupper() else b.lower()
                letters[i + 1] = a.upper() if b.isupper() else a.lower()
        words[n] = "".join(letters)
    return " ".join(words)


def slow_deletion(text: str, rate: float) -> str:
    words = text.split()
    speaks = [n for n, word in enumerate(words) if any(map(str.isalnum, word))]
    count = min(max(1, int(rate * len(speaks) + 1e-9)), len(speaks) - 1)
    places = [sum(len(word) + 1 for word in words[:n]) for n in range(len(words))]
    gone = sorted(speaks, key=lambda n: draw(text, WORD, places[n]))[:count]
    return " ".join(word for n, word in enumerate(words) if n not in gone)


@pytest.mark.parametrize("rate", [0.2, 0.5, 1.0])
def test_charswap_is_its_definition(rate: float) -> None:
    found = CharSwap(rate).apply(TEXTS, text_keys(TEXTS, {}))
    assert found == [slow_charswap(text, rate) for text in TEXTS]


@pytest.mark.parametrize("rate", [0.2, 0.5, 1.0])
def test_deletion_is_its_definition(rate: float) -> None:
    found = Deletion(rate).apply(TEXTS, text_keys(TEXTS, {}))
    assert found == [slow_deletion(text, rate) for text in TEXTS]
