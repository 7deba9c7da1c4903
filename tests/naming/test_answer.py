"""An answer is untrusted text; a name is one short plain line unlike the others."""

import unicodedata
from dataclasses import replace

import pytest

from coterie.naming.namer import (
    LONGEST_NAME,
    Answer,
    check_backed,
    clean_name,
    fold,
    make_unique,
    read_answer,
)

CASES = [
    ("Late parcels", "Late parcels"),
    ("  \n\n Late parcels \n and an explanation", "Late parcels"),
    ('"Late parcels."', "Late parcels"),
    ("**Late parcels**", "Late parcels"),
    ("Name: Late parcels", "Late parcels"),
    ("Group name: „Späte Pakete“", "Späte Pakete"),
    ("<think>late?\nparcels?</think>\nLate parcels", "Late parcels"),
    ("=HYPERLINK(1)", "HYPERLINK(1)"),
    ("+cmd|' /C calc'!A0", "cmd|' /C calc'!A0"),
    ("-1+1", "1+1"),
    ("@SUM(A1)", "SUM(A1)"),
    ("\x1b[31mRed\x1b[0m alert", "Red alert"),
    ("\x1b]0;title\x07Late", "Late"),
    ("a\x00b\x08c\x7fd", "a b c d"),
    ("late\u202eslecrap", "lateslecrap"),
    ("late\u2028second line", "late"),
    ("l\u200bate", "late"),
    ("می\u200cخواهم", "می\u200cخواهم"),
    ("Cafe\u0301", "Café"),
    ("z" + "\u0301" * 50 + "algo", "ź" + "\u0301" * 3 + "algo"),
    ("Paiement refusé (carte)", "Paiement refusé (carte)"),
    ("配送が遅い", "配送が遅い"),
    ("C++ and C#", "C++ and C#"),
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # the page escapes it
]


@pytest.mark.parametrize(("answer", "name"), CASES)
def test_names(answer: str, name: str) -> None:
    assert read_answer(answer) == Answer(name)


@pytest.mark.parametrize("answer", ["", " \n", "***", "...", "\x1b[31m", "(no text)", "Outliers",
                                    "<think>I wonder</think>", "\u202e\u200b"])  # fmt: skip
def test_no_name(answer: str) -> None:
    assert read_answer(answer) is None


@pytest.mark.parametrize("long", ["word " * 100, "x" * 1500, "ß" * 500, "a\u0301" * 500])
def test_a_long_line_is_no_name_but_one_behind_it_may_be(long: str) -> None:
    assert read_answer(long) is None
    assert read_answer(f"{long}\nLate parcels") == Answer("Late parcels")
    assert read_answer("n" * LONGEST_NAME) == Answer("n" * LONGEST_NAME)


def test_any_text_gives_one_harmless_line_or_none() -> None:
    for code in [*range(0x3000), 0xD800, 0xE000, 0xFEFF, 0xFFFF, 0xE0001, 0x1F600, 0x10FFFF]:
        name = clean_name(f"a{chr(code)}b")
        assert name is not None and len(name.splitlines()) == 1
        joiners = {"\u200c", "\u200d"}
        assert all(unicodedata.category(s)[0] != "C" for s in set(name) - joiners), hex(code)


def test_names_that_look_alike_are_told_apart() -> None:
    taken: list[str] = []
    for answer, words in [
        ("Refunds", ["card"]), ("refunds", ["card"]), ("ＲＥＦＵＮＤＳ", ["card"]),
        ("Refunds", ["=cmd"]), ("Refunds", []), ("Refunds", ["refund"]),
    ]:  # fmt: skip
        taken.append(make_unique(answer, taken, words))
    assert taken[:2] == ["Refunds", "refunds (card)"]
    assert taken[3:] == ["Refunds (cmd)", "Refunds (3)", "Refunds (4)"]
    assert len({fold(name) for name in taken}) == len(taken)


FORMS = [
    "Name: Late parcels\nDescription: They come late.\nQuote: where is it\nQuote: it is late",
    "Here you are:\n**Name:** Late parcels\n**Description:** They come late.\n"
    '**Quotes:**\n- "where is it"\n- "it is late"',
    '{"name": "Late parcels", "description": "They come late.", '
    '"quotes": ["where is it", "it is late"]}',
    '```json\n{\n "name": "Late parcels",\n "description": "They come late.",\n "quotes": [\n'
    '  "where is it",\n  "it is late"\n ]\n}\n```',
]


@pytest.mark.parametrize("answer", FORMS)
def test_lines_lists_and_json_are_read(answer: str) -> None:
    quotes = ("where is it", "it is late")
    assert read_answer(answer) == Answer("Late parcels", "They come late.", quotes)


@pytest.mark.parametrize(
    ("text", "quote", "backs"),
    [
        ("A parcel that never arrived", "a", False),
        ("A parcel that never arrived", "parcel", False),
        ("A parcel that never arrived", "parcel that", False),
        ("A parcel that never arrived", "PARCEL  that never.", True),
        ("A parcel that never arrived", "el that n", False),  # words, not letters
        ("A parcel. That never arrived", "parcel that never", False),  # not as it is written
        ("It isn’t my parcel", "it isn't my", True),
        ("Donaudampfschifffahrt heute", "Donaudampfschifffahrt", True),
        ("Blue mug", "blue mug", True),  # all that the text says
        ("我的包裹还没有送到", "包裹", False),
        ("我的包裹还没有送到", "包裹还没有送", True),
        ("พัสดุยังไม่มาถึง", "มา", False),
        ("พัสดุยังไม่มาถึง", "ยังไม่มาถึง", True),
    ],
)
def test_two_quotes_back_a_name_if_both_are_in_the_texts(
    text: str, quote: str, backs: bool
) -> None:
    shown = {"words": ["xyz"], "texts": [text, "another text of some words"]}
    answer = Answer("Zzz", quotes=(quote, "another text of some words"))
    assert check_backed(answer, shown) == (answer if backs else None)
    assert check_backed(replace(answer, quotes=(quote, quote)), shown) is None  # of one text


TEXTS = [
    "my parcel is late",
    "parcels that never came",
    "a lost parcel",
    "where is it",
    "no van",
    "?",
]


@pytest.mark.parametrize(
    ("name", "backed"),
    [
        ("Late parcels", True),
        ("Parcel delivery", True),  # half of the words
        ("Tax law on parcels", False),  # a third
        ("Where is the van", False),  # no characteristic word
        ("The lost van", False),
        ("Parcel", True),
        ("Late", False),  # one text of six
    ],
)
def test_words_back_a_name_if_they_are_of_the_cluster(name: str, backed: bool) -> None:
    shown = {"words": ["parcel", "late"], "texts": TEXTS}
    assert (check_backed(Answer(name, quotes=("made up by it",)), shown) == Answer(name)) == backed


def test_one_text_needs_one_quote_and_words_alone_need_words() -> None:
    only = {"words": ["xyz"], "texts": ["my parcel is late"]}
    answer = Answer("Zzz", quotes=("my parcel is late",))
    assert check_backed(answer, only) == answer
    assert check_backed(Answer("Late parcels"), {"words": ["parcel"]}) == Answer("Late parcels")
    assert check_backed(Answer("Zzz"), {"words": ["parcel"]}) is None
