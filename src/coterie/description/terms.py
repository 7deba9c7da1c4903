"""Words and phrases of a corpus: tokens, stop words by language, greetings, and their counts.

They are counted once for everything that is said about clusters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from coterie._emoji import EMOJI
from coterie._types import Bools, Ints
from coterie.masking import MARK
from coterie.words import stem as plain_stem
from coterie.words.cutting import BREAK, NO_BLANKS, fold, join, pieces
from coterie.words.languages import ONE_LANGUAGE, check_language, substantial, vote
from coterie.words.stopwords import STOP_WORDS

# Greetings, thanks and closings by language.
_GREETINGS = {
    "ar": "تحياتي تحية شكرا مرحبا السلام",
    "cs": "ahoj děkuji díky dobrý pozdravem zdravím",
    "da": "hej hilsen kære mvh tak venlig venlige",
    "de": """danke dankeschön geehrte geehrter geehrtes gruss gruß grüsse grüssen grüße grüßen hallo
    hochachtungsvoll lg mfg moin servus tschüss vg viele vielen""",
    "el": "γεια ευχαριστώ καλημέρα καλησπέρα χαιρετισμούς",
    "en": """cheers dear farewell goodbye greetings hello hey hi hiya regards respectfully rgds
    sincerely thank thanks thankyou thx tks ty""",
    "es": """atentamente buenas buenos estimada estimadas estimado estimados gracias hola
    saludos""",
    "fi": "hei kiitos moi terveisin ystävällisin",
    "fr": """amicalement bonjour bonsoir cdt cordialement coucou merci remerciements salut
    salutations""",
    "hu": "köszönöm szia sziasztok tisztelettel üdvözlettel",
    "id": "halo hai terima kasih salam",
    "it": "buonasera buongiorno ciao cordiali distinti grazie salve saluti spettabile",
    "nl": "bedankt dank geachte groet groeten groetjes hallo hoi mvg vriendelijke",
    "no": "hei hilsen kjære mvh takk vennlig",
    "pl": "cześć dzięki dziękuję hej pozdrawiam pozdrowienia szanowni witam",
    "pt": """abraços atenciosamente cumprimentos oi olá obrigada obrigado prezada prezado
    prezados""",
    "ro": "bună mulțumesc mulţumesc salut salutări stimate",
    "ru": "добрый здравствуйте привет спасибо уважаемые уважением",
    "sv": "hej hälsningar mvh tack tja vänlig vänliga",
    "tr": "merhaba merhabalar saygılar saygılarımla selam selamlar sayın teşekkür teşekkürler",
    "uk": "вітаю дякую привіт повагою",
}
GREETINGS = {code: frozenset(words.split()) for code, words in _GREETINGS.items()}
# Characters of Chinese and Japanese come in pairs.
PAIRS = frozenset("你好 您好 谢谢 感谢 此致 敬礼 多谢 拜启 敬具".split())
# Beside a greeting these belong to it: "Kind regards", "Thanks in advance", "Viele liebe Grüße".
BESIDE = frozenset(
    """
    a advance again all beaucoup best beste besten bien cordial cordiales everybody everyone
    faithfully folks for freundliche freundlichen friendly gentlemen guys herr herzliche herzlichen
    in kind kindest kindly ladies liebe lieben lieber lot lots madam madame many met mille miss
    mister mit monsieur mr mrs ms much muchas mucho muchos muito schöne schönen sehr señor señora
    sir sirs so tante team there très tutti very viel viele vielen warm warmest wishes with yours
    """.split()
)
WISHED = frozenset("boa boas bom bonne buenas buenos god goede good gute guten".split())
TIMES = frozenset(
    """
    afternoon abend avond day dag dia dias días evening journée middag morgen morning night noches
    noite soirée tag tarde tardes
    """.split()
)
CLOSINGS = frozenset("best faithfully love truly warmly wishes yours".split())  # before a name
NAME = 3  # words of a name, at most
# Stop words that hold a noun phrase together: "freedom of expression", "perte de bagages".
LINKS = frozenset(
    """
    a al an and at by da das de dei del della den der des di die do dos du e ein eine el en et for
    from för für i im in la las le les los med mit my na of och og on or para per pour sur the til
    to und van voor von w with y your z à über за и на по с
    """.split()
)
# Before the subject of an answer or a forwarded mail: "Re: Fwd: Invoice".
REPLIES = frozenset("antw antwort aw fw fwd re ref rif rv sv tr vs wg ynt отв 回复 转发".split())
DEVICES = frozenset("android blackberry galaxy ipad iphone mobile outlook phone samsung".split())


def greeting_words(languages: Iterable[str]) -> frozenset[str]:
    """Greetings, thanks and closings of some languages, and of English."""
    return PAIRS.union(*(GREETINGS.get(code, frozenset()) for code in {"en", *languages}))


def mark_greetings(pieces: Sequence[str], known: frozenset[str]) -> list[int]:
    """Places of the words that belong to the greeting or the signature of a text.

    That is the greeting at the beginning with whom it addresses, the closing at the end with the
    name behind it, "Sent from my iPhone", and "Re:" before a subject.

    Parameters
    ----------
    pieces : sequence of str
        As :func:`coterie.description.terms.pieces` gives them.
    known : frozenset of str
        From :func:`greeting_words`.

    Examples
    --------
    >>> known = greeting_words(["en"])
    >>> text = ["Dear", "Support", "Team", "", "card", "lost", "", "Kind", "regards", "", "Ann"]
    >>> [text[i] for i in mark_greetings(text, known)]
    ['Dear', 'Support', 'Team', 'Kind', 'regards', 'Ann']
    """
    words = [fold(piece) for piece in pieces]
    end = _before_device(words)
    marked = set(range(end, len(words)))
    greeted = {i for i, word in enumerate(words[:end]) if word in known}
    for i, (good, time) in enumerate(pairwise(words[:end])):
        if good in WISHED and time in TIMES:  # "Good morning"
            greeted |= {i, i + 1}
    for i in greeted:  # "Kind regards"
        for step in (-1, 1):
            j = i + step
            while 0 <= j < end and words[j] in BESIDE:
                marked.add(j)
                j += step
    marked |= greeted
    marked |= _addressed(pieces, words, marked)
    marked |= _signed(pieces[:end], words, marked) | _replied(words)
    return [i for i in sorted(marked) if words[i] != BREAK]


def _before_device(words: Sequence[str]) -> int:
    """Where "Sent from my iPhone" begins; the end, if it is not there."""
    end = len(words)
    while end and words[end - 1] == BREAK:
        end -= 1
    for start in range(max(0, end - 6), end - 2):
        if words[start : start + 2] == ["sent", "from"] and words[end - 1] in DEVICES:
            return start
    return len(words)


def _replied(words: Sequence[str]) -> set[int]:
    """Where "Re:" and the like stand before a subject, also as "(was Re: ...)"."""
    return {
        i
        for i, (word, mark) in enumerate(pairwise(words))
        if word in REPLIES and mark == BREAK and (not i or words[i - 1] in (BREAK, "was"))
    }


def _addressed(pieces: Sequence[str], words: Sequence[str], marked: set[int]) -> set[int]:
    """Who is greeted at the beginning: a few words before punctuation, or a name."""
    start = 0
    while start in marked:
        start += 1
    if not start:
        return set()
    for end in range(start, min(start + NAME + 1, len(words))):
        if words[end] == BREAK:
            return set(range(start, end))
    if start + 1 >= len(words) or not pieces[start].istitle():
        return set()
    small = words[start + 1] in ("i", "i'm", "i've") or not pieces[start + 1].istitle()
    return {start} if small else set()  # else all words may begin with a capital


def _signed(pieces: Sequence[str], words: Sequence[str], marked: set[int]) -> set[int]:
    """The name at the end, behind a closing; and the closing, if only its place tells."""
    end = len(pieces)
    while end and words[end - 1] == BREAK:
        end -= 1
    start = end
    while start and end - start < NAME and pieces[start - 1].istitle():
        if start - 1 in marked or words[start - 1] in CLOSINGS:
            break
        start -= 1
    last = start - 1  # of the closing
    while last >= 0 and words[last] == BREAK:
        last -= 1
    first = last
    while first >= 0 and (first in marked or words[first] in CLOSINGS | BESIDE):
        first -= 1
    if first == last or start == end or (first < 0 and last not in marked):
        return set()
    apart = last < start - 1 or (first >= 0 and words[first] == BREAK)
    if apart or (first >= 0 and last in marked and not pieces[first].istitle()):
        return set(range(first + 1, end))
    return set()


LONGEST_PHRASE = 3
ACRONYM, SHOUTED = 4, 0.75  # letters; least share of capitals of longer words that keep them
# Particles and pronouns: a pair of characters that holds one is no word. Hiragana are endings.
EMPTY = re.compile(
    "[\u3041-\u309f的了吗呢吧啊呀是在和与及或也都就还很太我你您他她它们这那哪个把被让给对从到不没有要会能想请什么怎为]"
)

NOT_LATIN = {"ar", "bg", "el", "fa", "he", "hi", "ru", "uk", *ONE_LANGUAGE.values()}
NOISE = frozenset("amp com gt html http https lt nbsp quot rt www".split())  # left by web pages


@dataclass(frozen=True)
class Group:
    """Terms of one length: which texts hold them, and how they are written.

    Attributes
    ----------
    presence : scipy.sparse.csr_matrix of shape (n, terms)
        1 where a text holds a term.
    parts : ndarray of shape (terms, length)
        Stems of the words of each term.
    forms : ndarray of shape (terms, length)
        Words of its most frequent form.
    """

    presence: Any
    parts: Ints
    forms: Ints


class Terms:
    """Words, pairs and triples of neighbouring words of all texts.

    Inflected forms count as one term, shown in its most frequent form. Pairs are of telling words;
    triples begin and end with one. Greetings, signatures and emoji are counted aside.

    Parameters
    ----------
    texts : sequence of str
    language : str, sequence of str or None, default="auto"
        Whose stop words to leave out: codes or English names, "auto" to detect them, None for no.
    """

    def __init__(self, texts: Sequence[str], language: str | Sequence[str] | None = "auto") -> None:
        self.texts, self.n = texts, len(texts)
        self.least = 2 if self.n > 50 else 1  # a word of a single text says little
        forms: dict[str, int] = {}
        # What stands for masked personal data is no word: a name breaks off there.
        plain = (MARK.sub(" ; ", text) if "[" in text else text for text in texts)
        rows = [[forms.setdefault(p, len(forms)) for p in pieces(text)] for text in plain]
        sizes = np.fromiter(map(len, rows), np.int64, self.n)
        flat = np.fromiter(chain.from_iterable(rows), np.int64, int(sizes.sum()))
        row = np.repeat(np.arange(self.n), sizes)
        folded = [fold(form) for form in forms]
        # Numbers in the order of the alphabet: ties then never depend on the order of the texts.
        self.words = sorted(set(folded))
        place = {word: i for i, word in enumerate(self.words)}
        self._fold = np.array([place[word] for word in folded], dtype=np.int64)
        self._forms, self._form_counts = list(forms), np.bincount(flat, minlength=len(forms))
        self.word, self.row = self._fold[flat], row
        self._count(language, rows)

    def _count(self, language: str | Sequence[str] | None, rows: list[list[int]]) -> None:
        """Find the languages, the telling words and the stems, then count."""
        given = check_language(language)
        codes, votes = vote(self.words, self.word, self.row, self.n)
        self.languages = substantial(codes, votes) if given is None else given
        place = {code: i for i, code in enumerate(self.languages)}
        self.language_of = np.array([place.get(code, -1) for code in [*codes, ""]])[votes]
        counts = self._counts_by_language()
        stop = np.stack(
            [
                self._are(STOP_WORDS.get(code, frozenset()).__contains__)
                for code in self.languages or [""]
            ],
            axis=1,
        )
        # A stop word of one language may be a theme of another: the one that has it more often.
        often = counts / np.maximum(counts.sum(axis=0), 1)
        often[:, 0] += 1e-9  # in texts whose language is not known
        kept, dropped = (np.where(which, often, 0).max(axis=1) for which in (~stop, stop))
        emoji = self._are(lambda word: EMOJI.match(word) is not None)
        self.telling = self._are(is_telling) & ~emoji & (kept >= dropped)
        told = self.language_of[self.row]
        tells = self.telling[self.word] & ~((told >= 0) & stop[self.word, told])
        greetings = greeting_words(self.languages) if self.languages else frozenset()
        aside = emoji | self._are(greetings.__contains__)
        # Half of all words occur once and are never shown: no need to know their stems.
        shown = np.bincount(self.word, minlength=len(self.words)) >= self.least
        shown &= self.telling | aside
        spoken = counts.argmax(axis=1)
        stems = [
            stem(word, self._stemmed_in(word, spoken[i])) if shown[i] else word
            for i, word in enumerate(self.words)
        ]
        pairs = zip(self.words, stems, strict=True)
        self._bare = np.array([word == name and is_korean(word) for word, name in pairs])
        names = {name: i for i, name in enumerate(sorted(set(stems)))}
        self.stem = np.array([names[name] for name in stems], dtype=np.int64)
        greeted = self._in_greetings(rows, greetings)
        tells &= ~greeted
        self.single = self._group([self.word], self.row, tells)
        self.aside = self._group([self.word], self.row, aside[self.word])
        frequent = np.bincount(
            self.single.parts[:, 0], self.single.presence.sum(axis=0).A1, len(names)
        )
        # Of each word in its place: whether it is telling, and no greeting or signature.
        self.use = tells & (frequent[self.stem[self.word]] >= self.least)
        solid = ~(emoji | self._are(BREAK.__eq__))[self.word]
        links = self._are(LINKS.__contains__)
        self.solid = solid & ~greeted & (self.telling | links)[self.word]  # may be in a phrase
        self.pairs = self._phrases(2, solid)
        self.triples = self._phrases(LONGEST_PHRASE, solid)

    def _are(self, holds: Callable[[str], bool]) -> Bools:
        """For each word, whether something holds for it."""
        return np.fromiter(map(holds, self.words), bool, len(self.words))

    def _counts_by_language(self) -> Ints:
        """How often each word occurs in the texts of each language."""
        counts = np.zeros((len(self.words), max(len(self.languages), 1)), dtype=np.int64)
        told = self.language_of[self.row]
        np.add.at(counts, (self.word[told >= 0], told[told >= 0]), 1)
        return counts

    def _stemmed_in(self, word: str, language: int) -> str:
        code = self.languages[language] if self.languages else "en"
        return "en" if word.isascii() and code in NOT_LATIN else code

    def _in_greetings(self, rows: list[list[int]], greetings: frozenset[str]) -> Bools:
        """Which of the words, one after another, belong to a greeting or a signature."""
        out = np.zeros(len(self.word), dtype=bool)
        if not greetings:
            return out
        start = 0
        hints = greetings | CLOSINGS | DEVICES | TIMES | REPLIES
        hint = [fold(form) in hints for form in self._forms]
        for row in rows:
            if any(hint[form] for form in row):
                marked = mark_greetings([self._forms[form] for form in row], greetings)
                out[[start + i for i in marked]] = True
            start += len(row)
        return out

    def _phrases(self, length: int, solid: Bools) -> Group:
        """Runs of ``length`` words in one text, whose ends are telling and common."""
        t = max(len(self.word) - length + 1, 0)
        ends = slice(length - 1, length - 1 + t)
        use = self.use[:t] & self.use[ends] & (self.row[:t] == self.row[ends])
        if length > 2:
            use &= solid[1 : t + 1]
        return self._group([self.word[i : i + t] for i in range(length)], self.row[:t], use)

    def _group(self, words: list[Ints], row: Ints, use: Bools) -> Group:
        """Count the runs of words marked by ``use``; runs of the same stems are one term."""
        from scipy.sparse import csr_matrix

        run = np.stack([word[use] for word in words], axis=1)
        if not len(run):
            empty = np.zeros((0, len(words)), dtype=np.int64)
            return Group(csr_matrix((self.n, 0)), empty, empty)
        shapes, shape_of, often = unique_rows(run, len(self.words))
        parts, term_of = unique_rows(self.stem[shapes], len(self.words))[:2]
        # Of each term the most frequent form, and among equals the first in the alphabet; of Korean
        # words the one without a particle, where it occurs.
        often = often + len(run) * self._bare[shapes].all(axis=1)
        order = np.lexsort((*shapes.T[::-1], -often, term_of))
        first = order[np.unique(term_of[order], return_index=True)[1]]
        ones = np.ones(len(run), dtype=np.float32)
        where = (row[use], term_of[shape_of])
        presence = csr_matrix((ones, where), shape=(self.n, len(parts)))
        presence.data[:] = 1  # repeats within a text were summed up
        return Group(presence, parts, shapes[first])

    @cached_property
    def written(self) -> list[str]:
        """Each word as most texts write it where that has inner capitals ("PIN"), else lower.

        A long word in capitals ("URGENT") is an acronym or a brand only if most texts shout it.
        """
        shouted = sum(
            int(count)
            for form, count in zip(self._forms, self._form_counts, strict=True)
            if len(form) > 1 and form.isupper()
        )
        quiet = shouted <= 0.2 * max(int(self._form_counts.sum()), 1)
        best: dict[int, tuple[int, str]] = {}
        for form, count, word in zip(self._forms, self._form_counts, self._fold, strict=True):
            best[int(word)] = max(best.get(int(word), (0, "")), (int(count), form))
        totals = np.bincount(self._fold, self._form_counts, len(self.words))
        out = []
        for i, word in enumerate(self.words):
            often, form = best[i]
            keep = quiet and form[1:] != form[1:].lower()
            if form.isupper() and len(form) > ACRONYM:
                keep = keep and often >= SHOUTED * totals[i]
            out.append(form if keep else word)
        return out

    def text(self, form: Iterable[int]) -> str:
        """A term as it is shown, in lower case."""
        return join([self.words[word] for word in form])


def stem(word: str, language: str = "en") -> str:
    """Snowball's stem of a word without an ending behind an apostrophe.

    Examples
    --------
    >>> stem("refunds"), stem("refunded"), stem("driver's"), stem("boxes"), stem("glass")
    ('refund', 'refund', 'driver', 'box', 'glass')
    >>> stem("häuser", "de"), stem("학교에서", "ko")
    ('haus', '학교')
    """
    return plain_stem(word.split("'")[0], language)


def is_korean(word: str) -> bool:
    """Whether a word is written in Hangul."""
    return "가" <= word[:1] <= "힣"


def is_telling(word: str) -> bool:
    """Whether a word may say what a text is about, if it is no stop word."""
    if NO_BLANKS.match(word):
        if not EMPTY.search(word):
            return len(word) > 1
        return len(word) > 2 and EMPTY.sub("", word) != ""  # a word that a segmenter found
    plain = word.replace("-", "")
    return len(word) > 1 and word not in NOISE and not plain.isdigit()


def weigh(matrix: Any, often: Any, n: int) -> Any:
    """Sparse rows of unit length in which words that few of ``n`` texts hold count more."""
    from scipy.sparse import diags

    rarity = np.log1p(n / np.maximum(np.asarray(often).ravel(), 1))
    weighed = (matrix @ diags(rarity)).tocsr()
    norms = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return (diags(1 / np.where(norms > 0, norms, 1)) @ weighed).tocsr()


def unique_rows(rows: Ints, base: int) -> tuple[Ints, Ints, Ints]:
    """Distinct rows in order, the place of each row among them, and how often each occurs."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        if key.max(initial=0) >= 2**62 // (base + 1):  # number anew before the keys run over
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * (base + 1) + column
    _, first, place, often = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    return rows[first], place.astype(np.int64), often
