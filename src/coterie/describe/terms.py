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

from coterie._util.emoji import EMOJI
from coterie._util.types import Bools, Floats, Ints
from coterie.texts.corpus import is_placeholder
from coterie.texts.masking import MARK
from coterie.texts.words import stem as plain_stem
from coterie.texts.words.cutting import (
    ASIDE,
    BREAK,
    NO_BLANKS,
    fold,
    is_cut,
    join,
    pieces,
    without_segmenter,
)
from coterie.texts.words.languages import NAMES, ONE_LANGUAGE, check_language, substantial, vote
from coterie.texts.words.stopwords import ENGLISH, STOP_WORDS

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
    "ko": "감사 감사합니다 고맙습니다 안녕 안녕하세요",
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
    about after against al and around as at before between by da das de dei del della den der des
    di die dos down du during e ein eine el en et for from för für i im in into la las le les los
    med mit na of off och og on or out over para per pour sur than through til to under und up van
    via voor von w with y z à über за и на по с
    """.split()
)
PARTICLES = frozenset("away back down in off on out up".split())  # of a verb: "log in"
# Left out inside a phrase of an English text: "my card was stolen" is "card stolen".
DROPPED = frozenset(
    """
    a am an any are be been being had has have her his i'm is it its i've my our some that the their
    these this those was we're were your
    """.split()
)
# Say how, not what: no word of a name or a list. Sentiment is not among them: it may be the theme.
FILLERS = frozenset(
    """
    absolutely anyways apparently asap basically bloody completely crap crappy currently damn damned
    definitely effing especially exactly extremely freaking frickin fuck fucked fucking goddamn
    honestly immediately kindly leider literally lol malheureusement obviously omg plz probably
    recently seriously shit shitty simply somehow suck sucked sucks suddenly super totally truly
    ugh unfortunately whatsoever wow wtf
    """.split()
)
# Negations of the languages that have stop words; they stay in a phrase, whatever their form.
NEGATIONS = frozenset(
    """
    ain't arent aren't cannot cant can't couldnt couldn't didnt didn't doesnt doesn't dont don't
    hadnt hadn't hasnt hasn't havent haven't isnt isn't never no not shouldn't wasnt wasn't
    werent weren't without wont won't wouldn't
    bez ei geen ikke inte kein keine keinen nem nicht nie niet não pas sans sem senza sin
    không değil δεν без не ні לא нет नहीं لا لم ليس
    """.split()
)
# "is not" and "isn't" are "not" in a phrase that leaves "is" out; "does not work" stays as it is.
PLAIN_NOT = frozenset(
    f"{verb}{negation}"
    for verb in "is are was were has have had".split()
    for negation in (" not", "nt", "n't")
)
VERBS_NOT = frozenset(
    "are can could did do does had has have is should was were will would".split()
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
        As :func:`coterie.describe.terms.pieces` gives them.
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


ACRONYM, SHOUTED = 4, 0.75  # letters; least share of capitals of longer words that keep them
HIRAGANA = re.compile("[\u3041-\u309f]")  # endings
# Particles and pronouns: a pair of characters that holds one is no word.
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

    Inflected forms count as one term, shown in its most frequent form. Pairs are of telling
    words. Greetings and emoji count in
    texts that have no other words, signatures nowhere.

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
        self.placeholder = np.fromiter(map(is_placeholder, texts), bool, self.n)  # without words
        # What stands for masked personal data is no word: a name breaks off there.
        plain = (
            "" if empty else MARK.sub(" ; ", text) if "[" in text else text
            for text, empty in zip(texts, self.placeholder, strict=True)
        )
        cut = (pieces(text, marked=True) for text in plain)
        rows = [[forms.setdefault(piece, len(forms)) for piece in found] for found in cut]
        self.cut = all(map(is_cut, texts))
        sizes = np.fromiter(map(len, rows), np.int64, self.n)
        flat = np.fromiter(chain.from_iterable(rows), np.int64, int(sizes.sum()))
        flat, self.row = join_compounds(forms, flat, np.repeat(np.arange(self.n), sizes))
        counts = np.bincount(flat, minlength=len(forms))
        folded = one_spelling([fold(form) for form in forms], counts)
        # Numbers in the order of the alphabet: ties then never depend on the order of the texts.
        self.words = sorted(set(folded))
        place = {word: i for i, word in enumerate(self.words)}
        self._fold = np.array([place[word] for word in folded], dtype=np.int64)
        self._forms, self._flat = list(forms), flat
        self.word = self._fold[flat]
        self._count(language)

    def _count(self, language: str | Sequence[str] | None) -> None:  # noqa: PLR0915 - one thing
        """Find the languages, the telling words and the stems, then count."""
        given = check_language(language)
        codes, votes = vote(self.words, self.word, self.row, self.n)
        self.languages = substantial(codes, votes) if given is None else given
        place = {code: i for i, code in enumerate(self.languages)}
        self.language_of = np.array([place.get(code, -1) for code in [*codes, ""]])[votes]
        counts = self._counts_by_language()
        stop = np.stack(
            [
                self._are((STOP_WORDS.get(code, frozenset()) | FILLERS).__contains__)
                for code in self.languages or [""]
            ],
            axis=1,
        )
        # A stop word of one language may be a theme of another: the one that has it more often.
        often = counts / np.maximum(counts.sum(axis=0), 1)
        often[:, 0] += 1e-9  # in texts whose language is not known
        kept, dropped = (np.where(which, often, 0).max(axis=1) for which in (~stop, stop))
        emoji = self._are(lambda word: EMOJI.match(word) is not None)
        self.negation = self._are(lambda word: word.endswith(" not"))
        self.negation |= self._are(NEGATIONS.__contains__) & stop.any(axis=1)
        self.telling = self._are(lambda word: is_telling(word, self.cut)) & ~emoji & ~self.negation
        self.telling &= kept >= dropped
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
        stems = ["not" if self.negation[i] else name for i, name in enumerate(stems)]
        pairs = zip(self.words, stems, strict=True)
        self._bare = np.array([word == name and is_korean(word) for word, name in pairs])
        names = {name: i for i, name in enumerate(sorted(set(stems)))}
        self.stem = np.array([names[name] for name in stems], dtype=np.int64)
        greeted = self._in_greetings(greetings)
        tells &= ~greeted
        # Greetings, thanks and emoji are words of a text that has no other.
        plain = np.bincount(self.row[tells], minlength=self.n) == 0
        tells |= aside[self.word] & plain[self.row]
        self.single = self._group([self.word], self.row, tells)
        frequent = np.bincount(
            self.single.parts[:, 0], self.single.presence.sum(axis=0).A1, len(names)
        )
        # Of each word in its place: whether it is telling, and no greeting or signature.
        self.use = tells & (frequent[self.stem[self.word]] >= self.least)
        links = self._are(LINKS.__contains__) | self.negation
        self.solid = ~greeted & (self.telling | links)[self.word]  # may be in a phrase
        self.particle = self._are(PARTICLES.__contains__)
        english = ~np.isin(told, [i for i, code in enumerate(self.languages) if code != "en"])
        dropped = self._are(DROPPED.__contains__)[self.word] & english
        self.passed = ~greeted & (dropped | self._are(FILLERS.__contains__)[self.word])
        self.pairs = self._pairs()

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

    def _in_greetings(self, greetings: frozenset[str]) -> Bools:
        """Which of the words, one after another, belong to a greeting or a signature."""
        out = np.zeros(len(self.word), dtype=bool)
        if not greetings:
            return out
        hints = greetings | CLOSINGS | DEVICES | TIMES | REPLIES
        hint = np.fromiter((fold(form) in hints for form in self._forms), bool, len(self._forms))
        ends = np.searchsorted(self.row, np.arange(self.n + 1))
        for row in np.unique(self.row[hint[self._flat]]).tolist():
            forms = [self._forms[form] for form in self._flat[ends[row] : ends[row + 1]]]
            out[[ends[row] + i for i in mark_greetings(forms, greetings)]] = True
        return out

    def _pairs(self) -> Group:
        """Pairs of neighbouring words in one text that are telling and common."""
        use = self.use[:-1] & self.use[1:] & (self.row[:-1] == self.row[1:])
        return self._group([self.word[:-1], self.word[1:]], self.row[:-1], use)

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
        """Each word as most texts write it inside a sentence: "PIN", "iPhone", "Rome", "card".

        A long word in capitals ("URGENT") is an acronym or a brand only if most texts shout it.
        """
        first = np.ones(len(self._flat), dtype=bool)  # a capital says nothing there
        broken = self._are(BREAK.__eq__)[self.word[:-1]]
        first[1:] = (self.row[1:] != self.row[:-1]) | broken
        counts = np.bincount(self._flat, minlength=len(self._forms))
        inside = np.bincount(self._flat[~first], minlength=len(self._forms))
        loud, high = (
            np.fromiter((len(f) > 1 and holds(f) for f in self._forms), bool, len(counts))
            for holds in (str.isupper, lambda f: f[0].isupper())
        )
        quiet = counts[loud].sum() <= 0.2 * max(int(counts.sum()), 1)
        if inside[high].sum() > 0.5 * inside[self.telling[self._fold]].sum():  # titles
            inside = counts
        out, best = list(self.words), dict[int, tuple[int, int, str]]()
        for form, word, often, within in zip(self._forms, self._fold, counts, inside, strict=True):
            best[int(word)] = max(best.get(int(word), (0, 0, "")), (within, often, form))
        totals = np.bincount(self._fold, counts, len(self.words))
        for word, (within, often, form) in best.items():
            keep = quiet and (form[1:] != form[1:].lower() or (within > 0 and len(form) > 1))
            if form.isupper() and len(form) > ACRONYM:
                keep = keep and often >= SHOUTED * totals[word]
            if keep and fold(form) == out[word]:
                out[word] = form
        return out

    @cached_property
    def counted(self) -> Floats:
        """What each text counts in the support of a phrase: n near copies count as sqrt(n) texts.

        Near copies have the same words, but for punctuation, numbers and words that occur once.
        """
        plain = self._are(lambda word: word != BREAK and not word.isdigit())
        plain &= np.bincount(self.word, minlength=len(self.words)) > 1
        mark = np.random.default_rng(0).random(len(plain)) * plain
        marks = np.bincount(self.row, mark[self.word], self.n)
        _, copy, copies = np.unique(np.round(marks, 9), return_inverse=True, return_counts=True)
        return np.asarray(copies[copy] ** -0.5)

    def remarks(self) -> list[str]:
        """How to get better names, where no segmenter is installed for a language of the texts."""
        if not (found := [NAMES[code] for code in without_segmenter(self.languages)]):
            return []
        return [
            f"Names are better where {' and '.join(found)} can be cut into words: pip install "
            "'coterie[segment]', then cluster again."
        ]

    def text(self, form: Iterable[int]) -> str:
        """A term as it is shown, in lower case."""
        return join([self.words[word] for word in form])


def join_compounds(forms: dict[str, int], flat: Ints, row: Ints) -> tuple[Ints, Ints]:
    """Words and their rows with "top up" as one word if "top-up" or "topup" is another.

    So are "does not" and the like. New words are added to the forms.
    """
    known: dict[str, list[int]] = {}
    for form, i in forms.items():
        if form and not NO_BLANKS.match(form):
            known.setdefault(fold(form), []).append(i)
    pairs = {(verb, "not") for verb in VERBS_NOT}
    for word in known:
        whole = word.replace("-", "")
        for i in range(2, len(whole) - 1):
            one, other = whole[:i], whole[i:]
            if one in known and other in known and (whole != word or one not in ENGLISH):
                pairs.add((one, other))
    wanted = {
        a * len(forms) + b: (a, b)
        for one, other in pairs
        for a in known.get(one, ())
        for b in known.get(other, ())
    }
    key = np.where(row[:-1] == row[1:], flat[:-1] * len(forms) + flat[1:], -1)
    at = np.flatnonzero(np.isin(key, list(wanted)))
    at = at[np.diff(at, prepend=-2) > 1]  # no word is in two of them
    written = list(forms)
    flat = flat.copy()
    for i in at.tolist():
        a, b = wanted[int(key[i])]
        flat[i] = forms.setdefault(f"{written[a]} {written[b]}", len(forms))
    return np.delete(flat, at + 1), np.delete(row, at + 1)


def one_spelling(words: Sequence[str], counts: Ints) -> list[str]:
    """Each word as it is written most often: with a blank, a hyphen or in one."""
    best: dict[str, tuple[int, str]] = {}
    keys = [word.replace("-", "").replace(" ", "") for word in words]
    for key, word, often in zip(keys, words, counts.tolist(), strict=True):
        best[key] = max(best.get(key, (-1, "")), (often, word))
    both = zip(keys, words, strict=True)
    return ["not" if word in PLAIN_NOT else best[key][1] for key, word in both]


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


def is_telling(word: str, cut: bool) -> bool:
    """Whether a word may say what a text is about, if it is no stop word.

    ``cut`` tells whether a segmenter found the words of scripts without blanks.
    """
    if word.endswith(ASIDE):
        return False
    if NO_BLANKS.match(word):
        empty = HIRAGANA if cut else EMPTY
        if not empty.search(word):
            return len(word) > 1
        return len(word) > 2 and empty.sub("", word) != ""
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
