"""Greetings and signatures: words that stand around what a message is about.

They do not name a cluster, unless its texts say nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from coterie.description.cut import BREAK, fold

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
DEVICES = frozenset("android blackberry galaxy ipad iphone mobile outlook phone samsung".split())


def greeting_words(languages: Iterable[str]) -> frozenset[str]:
    """Greetings, thanks and closings of some languages, and of English."""
    return PAIRS.union(*(GREETINGS.get(code, frozenset()) for code in {"en", *languages}))


def mark_greetings(pieces: Sequence[str], known: frozenset[str]) -> list[int]:
    """Places of the words that belong to the greeting or the signature of a text.

    That is the greeting at the beginning with whom it addresses, the closing at the end with the
    name behind it, and "Sent from my iPhone".

    Parameters
    ----------
    pieces : sequence of str
        As :func:`coterie.description.cut.pieces` gives them.
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
    said = {i for i, word in enumerate(words[:end]) if word in known}
    for i, (good, time) in enumerate(pairwise(words[:end])):
        if good in WISHED and time in TIMES:  # "Good morning"
            said |= {i, i + 1}
    for i in said:  # "Kind regards"
        for step in (-1, 1):
            j = i + step
            while 0 <= j < end and words[j] in BESIDE:
                marked.add(j)
                j += step
    marked |= said
    marked |= _addressed(pieces, words, marked)
    marked |= _signed(pieces[:end], words, marked)
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
