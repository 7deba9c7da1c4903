"""An answer is untrusted text; a name is one short plain line unlike the others."""

import unicodedata

import pytest

from coterie.naming.namer import (
    LONGEST_NAME,
    Answer,
    check_backed,
    clean_name,
    fold,
    make_unique,
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
    assert clean_name(answer) == name


@pytest.mark.parametrize("answer", ["", " \n", "***", "...", "\x1b[31m", "(no text)", "Outliers",
                                    "<think>I wonder</think>", "\u202e\u200b"])  # fmt: skip
def test_no_name(answer: str) -> None:
    assert clean_name(answer) is None


@pytest.mark.parametrize("answer", ["word " * 100, "x" * 5000, "ß" * 500, "a\u0301" * 500])
def test_long_answers_are_cut(answer: str) -> None:
    name = clean_name(answer)
    assert name is not None and 40 <= len(name) <= LONGEST_NAME and name.endswith("…")


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


@pytest.mark.parametrize(
    ("text", "quote", "backs"),
    [
        ("A parcel that never arrived", "a", False),
        ("A parcel that never arrived", "parcel", False),
        ("A parcel that never arrived", "parcel that", False),
        ("A parcel that never arrived", "parcel that never", True),
        ("A parcel that never arrived", "el that n", False),  # words, not letters
        ("Donaudampfschifffahrt heute", "Donaudampfschifffahrt", True),
        ("Blue mug", "blue mug", True),  # all that the text says
        ("我的包裹还没有送到", "包裹", False),
        ("我的包裹还没有送到", "包裹还没有送", True),
        ("พัสดุยังไม่มาถึง", "มา", False),
        ("พัสดุยังไม่มาถึง", "ยังไม่มาถึง", True),
    ],
)
def test_a_quote_backs_a_name_if_it_is_more_than_a_word(text: str, quote: str, backs: bool) -> None:
    answer = Answer("Zzz", quotes=(quote,))
    found = check_backed(answer, {"words": [], "texts": [text, "another text of some words"]})
    assert found == (answer if backs else None)
