"""Cutting texts into words, in many scripts."""

import pytest

from coterie.words.cutting import BREAK, join, pieces, segmenter, tokens


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
        ("DON’T", ["don't"]),
        ("e\u0301te\u0301", ["été"]),  # accents written as marks of their own
        ("see https://a.example/b?c=d or mail me@b.example now", ["see", "or", "mail", "now"]),
        ("a_b", ["a", "b"]),
        ("?!", []),
        ("", []),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert tokens(text, segmented=False) == expected


def test_a_phrase_ends_at_punctuation_and_where_the_script_changes() -> None:
    assert pieces("Late, again") == ["Late", BREAK, "again"]
    assert pieces("node.js works.") == ["node", "js", "works", BREAK]
    assert pieces("新iPhone") == [BREAK, "新", BREAK, "iPhone"]


def test_pairs_of_characters_grow_together_and_words_do_not() -> None:
    assert join(["退款", "款申", "申请"]) == "退款申请"
    assert join(["手机", "屏幕"]) == "手机屏幕"  # words of a segmenter
    assert join(["log", "in"]) == "log in"


def test_only_the_beginning_of_a_huge_text_is_read() -> None:
    assert len(tokens("word " * 1_000_000)) < 1000


@pytest.mark.parametrize(
    ("package", "text", "word"),
    [
        ("jieba", "我想退款因为手机屏幕坏了", "屏幕"),
        ("fugashi", "注文した商品がまだ届きません", "商品"),
        ("pythainlp", "สินค้ายังไม่ถึง", "สินค้า"),
    ],
)
def test_a_segmenter_cuts_where_there_are_no_blanks(package: str, text: str, word: str) -> None:
    assert segmenter("en") is None
    pytest.importorskip(package)
    assert word in tokens(text) and "".join(tokens(text)) == text
    assert tokens(text, segmented=False) == [text[i : i + 2] for i in range(len(text) - 1)]
