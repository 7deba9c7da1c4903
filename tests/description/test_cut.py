"""Cutting texts into words, in many scripts."""

import pytest

from coterie.words.cutting import BREAK, fold, join, pieces, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't use C# or C++!", ["don't", "use", "c#", "or", "c++"]),
        ("Wi-Fi - again", ["wi-fi", "again"]),
        ("L'accès à l’application", ["accès", "à", "application"]),
        ("dell'ordine", ["ordine"]),
        ("हिन्दी में शिकायत", ["हिन्दी", "में", "शिकायत"]),
        ("أين طلبي؟", ["أين", "طلبي"]),
        ("מתי ההזמנה שלי תגיע?", ["מתי", "ההזמנה", "שלי", "תגיע"]),
        ("کتاب‌ها", ["کتاب‌ها"]),
        ("我要退款", ["我要", "要退", "退款"]),
        ("iPhone手机", ["iphone", "手机"]),
        ("İade", ["iade"]),
        ("e\u0301te\u0301", ["été"]),  # accents written as marks of their own
        ("see https://a.example/b?c=d or mail me@b.example now", ["see", "or", "mail", "now"]),
        ("a_b", ["a", "b"]),
        ("?!", []),
        ("", []),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_a_phrase_ends_at_punctuation_and_where_the_script_changes() -> None:
    assert pieces("Late, again") == ["Late", BREAK, "again"]
    assert pieces("node.js works.") == ["node", "js", "works", BREAK]
    assert pieces("新iPhone") == [BREAK, "新", BREAK, "iPhone"]


def test_case_and_apostrophes_fold() -> None:
    assert fold("DON’T") == "don't"


def test_pairs_of_characters_grow_together_and_words_do_not() -> None:
    assert join(["退款", "款申", "申请"]) == "退款申请"
    assert join(["log", "in"]) == "log in"


def test_only_the_beginning_of_a_huge_text_is_read() -> None:
    assert len(tokens("word " * 1_000_000)) < 1000
