r"""Personal data out of texts and tables: :func:`mask` makes a table that any verb then takes.

Each rule finds candidates by a pattern and may look at them twice (Luhn's sum of a card, the check
digits of an IBAN). Where a rule cannot know, it masks: a masked order number costs a name nothing,
a telephone number that slips through is gone for good. What rules cannot see stays: a name in the
middle of a sentence, an address of a street.

Look-alikes are replaced first, character by character: full-width signs, dashes of all kinds, and
characters without a width.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from coterie._util.validation import wrong_kind
from coterie.texts.corpus import (
    as_array,
    as_table,
    cell_values,
    is_frame,
    make_corpus,
    value_to_text,
)

LONGEST = 20_000  # characters of a text that are looked at; the rest is cut off, never passed on

GREETING = (
    r"dear|hi|hello|hey|good (?:morning|afternoon|evening|day)|hallo|liebe[rs]?"
    r"|guten (?:tag|morgen)"
    r"|sehr geehrte[rs]?|bonjour|salut|ch(?:er|ère)|hola|estimad[oa]|buen(?:os d[ií]as|as tardes)"
    r"|ciao|gentile|ol[áa]|prezad[oa]|beste|hej|mr|mrs|ms|mx|dr|prof|herr|frau|señora?|madame"
    r"|monsieur|my name is|name is|i am called|mein name ist|ich heiße|je m'appelle|me llamo"
)
CLOSING = (
    r"(?:kind|best|warm|many)?\s*regards|best(?: wishes)?|(?:yours )?(?:sincerely|faithfully|truly)"
    r"|many thanks|thanks|thank you|cheers|greetings|signed|love"
    r"|mit freundlichen gr(?:ü|ue)(?:ß|ss)en"
    r"|(?:viele|beste|liebe) gr(?:ü|ue)(?:ß|ss)e|mfg|lg|vg|danke|cordialement|bien à vous|merci"
    r"|saludos|atentamente|gracias|cordiali saluti|grazie|atenciosamente|obrigad[oa]|groeten"
)
TITLE = r"(?:mr|mrs|ms|mx|dr|prof|herrn?|frau|señora?|madame|monsieur|sir|lady)\.?"
# Words that may follow a greeting and name no person by themselves.
NOBODY = frozenset(
    "all both customer customers client service services support team teams sir madam sirs madams "
    "everyone everybody there folks guys colleague colleagues friend friends again hotline help "
    "helpdesk desk staff shop store where what when why how who damen herren "
    "und and or to the a this my our your zusammen "
    "kundenservice kundendienst kunde tous toutes todos todas equipo équipe i it we you can could "
    "is are please any for from in on of mr mrs ms mx dr prof herr herrn frau lady señor señora "
    "madame monsieur".split()
)
CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*"  # a word that does not begin with a small Latin letter
NAMES = rf"{CAPITAL}(?:[ \t]+(?:(?:van|von|de|der|da|di|la)[ \t]+){{0,2}}{CAPITAL}){{0,2}}"


WORD = re.compile(r"[^\W_]+")
ACCENTED = re.compile(r"[^\W\d_][\u0300-\u036f]{1,8}")


@dataclass(frozen=True)
class Rule:
    """A kind of personal data, where it may be, and what to put in its place."""

    kind: str
    pattern: re.Pattern[str]
    # What to put there, None to leave the match; without it, the kind in brackets.
    judge: Callable[[re.Match[str]], str | None] | None = None
    sign: re.Pattern[str] | None = None  # texts without it are not looked at


def mask(
    data: Any,
    text_column: str | None = None,
    *,
    id_column: str | None = None,
    names: Iterable[str] = (),
) -> Any:
    """A table with personal data replaced by words in brackets, such as [email] and [name].

    Long numbers, codes and names are masked in the texts only: in other columns they may be keys.

    Parameters
    ----------
    data : list of str, DataFrame or Arrow table
    text_column : str, optional
        Default: the obvious one.
    id_column : str, optional
        Is left as it is.
    names : iterable of str, optional
        Names to mask, too, wherever they are and however they are written.

    Returns
    -------
    pandas.DataFrame or pyarrow.Table
        A frame of pandas where one was given.

    Examples
    --------
    >>> mask(["Dear Anna, write to anna.b@example.org or call +49 30 1234567."])["text"][0].as_py()
    'Dear [name], write to [email] or call [phone].'
    """
    if is_frame(data):
        table = as_table(data.reset_index(drop=True))
        masked = mask(table, text_column, id_column=id_column, names=names)
        return masked.to_pandas().set_axis(data.index)
    corpus = make_corpus(data, text_column, id_column)
    return Masker(names).table(corpus.table, corpus.text_column, id_column)


def find_personal(text: str, kinds: Collection[str] | None = None) -> tuple[str, Counter[str]]:
    """The masked text, and how often each kind of data was found.

    ``kinds`` are those to look for; default: all.

    Examples
    --------
    >>> find_personal("Dear Anna, call 030\u20111234567")
    ('Dear [name], call [phone]', Counter({'phone': 1, 'name': 1}))
    """
    found: Counter[str] = Counter()
    text = text[:LONGEST]
    masked = plain(text)
    for rule in RULES:

        def put(match: re.Match[str], rule: Rule = rule) -> str:
            new = f"[{rule.kind}]" if rule.judge is None else rule.judge(match)
            if new is None:
                return match[0]
            found[rule.kind] += 1
            return new

        wanted = kinds is None or rule.kind in kinds
        if wanted and (rule.sign is None or rule.sign.search(masked)):
            masked = rule.pattern.sub(put, masked)
    return (masked if found else text), found


def plain(text: str) -> str:
    """The text with look-alikes replaced and characters without a width left out.

    Each character is normalised by itself (NFKC), and then letters are composed with the accents
    behind them, a few at a time: the time is linear in the length.

    Examples
    --------
    >>> plain("anna\uff20exa\u200bmple.org, 030\u20111234567")
    'anna@example.org, 030-1234567'
    """
    if text.isascii():
        return text
    return ACCENTED.sub(lambda m: unicodedata.normalize("NFC", m[0]), text.translate(_LOOK_ALIKES))


def folded_words(text: str) -> list[str]:
    """Words without case and accents, for comparing.

    Examples
    --------
    >>> folded_words("Jürgen O'Neill, 12a")
    ['jurgen', 'o', 'neill', '12a']
    """
    if not text.isascii():
        apart = (unicodedata.normalize("NFKD", sign) for sign in plain(text))
        text = "".join(c for part in apart for c in part if not unicodedata.combining(c))
    return WORD.findall(text.casefold())


class _LookAlikes(dict[int, str]):
    """For ``str.translate``; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        kind = unicodedata.category(sign)
        if kind == "Cf" or sign in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0":
            new = ""
        elif kind == "Pd" or sign == "\u2212":
            new = "-"
        elif sign in "\u2024\u3002\uff61":
            new = "."
        else:
            new = unicodedata.normalize("NFKC", sign)
            new = "-" if unicodedata.category(new[0]) == "Pd" else new
        self[code] = new
        return new


_LOOK_ALIKES = _LookAlikes()


def passes_luhn(digits: str) -> bool:
    """Whether the last digit fits the others, as on payment cards.

    From the right, every second digit is doubled, nine is taken from what exceeds nine, and the sum
    ends in zero.

    Examples
    --------
    >>> passes_luhn("4111111111111111"), passes_luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def passes_mod97(iban: str) -> bool:
    """Whether the two check digits of an IBAN fit the rest (ISO 13616: 1 modulo 97).

    Examples
    --------
    >>> passes_mod97("DE89370400440532013000"), passes_mod97("DE88370400440532013000")
    (True, False)
    """
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1


def _link(match: re.Match[str]) -> str | None:
    """Addresses with a password, a query or a token; a plain one names a page, not a person."""
    inside = match[0].partition("://")[2] or match[0]
    path = inside.partition("/")[2]
    secret = any(sign in inside for sign in "?#@&=") or re.search(r"[^/]{25,}", path)
    return "[link]" if secret else None


def _iban(match: re.Match[str]) -> str | None:
    # The pattern may have taken the words behind as well: the longest run of groups that fits.
    groups = list(re.finditer(r"[^\s-]+", match[0]))
    for group in reversed(groups):
        signs = re.sub(r"[\s-]", "", match[0][: group.end()]).upper()
        if 15 <= len(signs) <= 34 and passes_mod97(signs):
            return "[iban]" + match[0][group.end() :]
    return None


def _card(match: re.Match[str]) -> str | None:
    return "[card]" if passes_luhn(re.sub(r"\D", "", match[0])) else None


def _address(match: re.Match[str]) -> str | None:
    try:
        ipaddress.ip_address(match[0])
    except ValueError:
        return None
    return "[ip]"


def _phone(match: re.Match[str]) -> str | None:
    """Seven digits and more, in groups; not dates, years or amounts of money."""
    text = match[0]
    digits = re.sub(r"\D", "", text)
    if digits == text or DATE.fullmatch(text) or YEARS.fullmatch(text):
        return None
    if len(digits) < 9 and THOUSANDS.fullmatch(text):
        return None
    return "[phone]"


def _person(match: re.Match[str]) -> str | None:
    """The words after a greeting, unless they name a team; titles before them stay."""
    words = match["names"].split()
    if words[0].casefold().strip("'’-") in NOBODY:
        return None
    return match["before"] + "[name]"


DATE = re.compile(r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?: \d{1,2})?")
YEARS = re.compile(r"(?:19|20)\d\d ?[-/] ?(?:19|20)\d\d")
THOUSANDS = re.compile(r"\d{1,3}(?:([ .])\d{3})(?:\1\d{3})*")
FREE = r"(?<![\w.])"  # no digit, letter or point before
END = r"(?![\w])"

RULES = (
    Rule("link", re.compile(r"\b(?:[a-z][a-z+.-]{1,20}://|www\.)[^\s<>\"']+", re.I), _link),
    Rule(
        "email",
        re.compile(
            # Each run of these signs is taken whole, so that no sign is looked at twice.
            r"[\w.%+'-]+(?:(?:@|\s?[\[(](?:at|@)[\])]\s?)[\w-]{1,63}"
            r"(?:(?:\.|\s?[\[(](?:dot|\.)[\])]\s?)(?P<last>[\w-]{1,63})){1,8})?",
            re.I,
        ),
        lambda match: "[email]" if match["last"] else None,
        re.compile(r"@|[\[(]at[\])]", re.I),
    ),
    Rule("iban", re.compile(r"\b[a-z]{2}\d{2}(?:[ -]?[a-z0-9]){11,34}\b", re.I), _iban),
    Rule("card", re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)"), _card),
    Rule("ip", re.compile(r"(?<![\w.:])(?:\d{1,3}\.){3}\d{1,3}(?![\w:]|\.\d)"), _address),
    Rule(
        "ip", re.compile(r"(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])", re.I), _address
    ),
    Rule("code", re.compile(r"(?<![\w:])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?![\w:])", re.I)),
    Rule("code", re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)),
    Rule(
        "code",
        re.compile(r"(?<![\w-])(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[a-z])[\w-]{20,}", re.I),
    ),
    Rule(
        "phone",
        re.compile(rf"{FREE}(?:\+|\(\+?)?\d(?:[ ()/.–-]{{0,3}}\d){{6,16}}{END}"),
        _phone,
    ),
    Rule("number", re.compile(r"\d{6,}")),
    Rule(
        "name",
        re.compile(
            rf"(?P<before>\b(?i:{GREETING})\.?[ \t]+(?:(?i:{TITLE})[ \t]+){{0,2}})"
            rf"(?P<names>{NAMES})"
        ),
        _person,
    ),
    Rule(
        "name",
        re.compile(
            rf"(?P<before>\b(?i:{CLOSING})[ \t]*[,!–-]?\s{{1,4}}(?:(?i:{TITLE})[ \t]+)?)"
            rf"(?P<names>{NAMES})(?=[ \t]*(?:[.!][ \t]*)?$)",
            re.M,
        ),
        _person,
    ),
)

# Kinds that are looked for in columns beside the texts: a long number there may be a key.
CELLS = frozenset({"email", "phone", "iban", "card", "ip", "link"})
SHOWN = {
    "email": "e-mail address",
    "phone": "telephone number",
    "iban": "IBAN",
    "link": "link",
    "card": "card number",
    "ip": "IP address",
    "code": "code",
    "number": "long number",
    "name": "name of a person",
}
MARK = re.compile(rf"\[(?:{'|'.join(SHOWN)})\]")


class Masker:
    """Masks texts by the rules and by a list of names, and counts what it masks.

    Parameters
    ----------
    names : iterable of str, optional
        Names of one word or several; they are found in any case, with or without accents.

    Examples
    --------
    >>> masker = Masker(["Anna Müller", "O'Neill"])
    >>> masker.text("ANNA MUELLER or Anna Muller: a.m@example.org, said o'neill.")
    'ANNA MUELLER or [name]: [email], said [name].'
    >>> dict(masker.counts)
    {'email': 1, 'name': 2}
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._names: dict[str, list[list[str]]] = {}  # by the first word, the longest first
        if isinstance(names, str):
            raise wrong_kind("names", names, "a list of names")
        for name in names:
            if words := folded_words(name):
                self._names.setdefault(words[0], []).append(words)
        for found in self._names.values():
            found.sort(key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text with personal data replaced by words in brackets."""
        return self._masked(text, None)

    def cell(self, text: str) -> str:
        """The same for a cell of another column, where long numbers and codes may be keys."""
        return self._masked(text, CELLS)

    def table(self, table: pa.Table, text_column: str, id_column: str | None = None) -> pa.Table:
        """The table without personal data in its texts, nested ones, too, but for the rows' ids."""
        for place, kind in enumerate(table.schema):
            if kind.name == id_column or pa.types.is_temporal(kind.type):
                continue
            change = self.text if kind.name == text_column else self.cell
            values = cell_values(table.column(place))
            new = [_mask_value(value, change) for value in values]
            if new != values:
                column = as_array(new)
                table = table.set_column(place, kind.with_type(column.type), column)
        return table

    def _masked(self, text: str, kinds: Collection[str] | None) -> str:
        text, found = find_personal(text, kinds)
        self.counts.update(found)
        return self._without_names(text)

    def _without_names(self, text: str) -> str:
        if not self._names:
            return text
        words = [(match, folded_words(match[0])) for match in WORD.finditer(text)]
        folded = [found[0] if len(found) == 1 else "" for _, found in words]
        out, end, i = [], 0, 0
        while i < len(words):
            tried = self._names.get(folded[i], ())
            name = next((n for n in tried if folded[i : i + len(n)] == n), None)
            if name is None:
                i += 1
                continue
            out += [text[end : words[i][0].start()], "[name]"]
            end = words[i + len(name) - 1][0].end()
            self.counts["name"] += 1
            i += len(name)
        return "".join([*out, text[end:]]) if out else text


def _mask_value(value: Any, change: Callable[[str], str]) -> Any:
    """A cell with all texts in it changed; bytes are a text, too, if something in it changes."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, bytes):
        text = value_to_text(value)
        return value if (new := change(text)) == text else new.encode()
    if isinstance(value, dict):
        return {key: _mask_value(inner, change) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):  # a map is a list of pairs
        return type(value)(_mask_value(inner, change) for inner in value)
    return value


def masked_sentence(counts: Mapping[str, int]) -> str:
    """What was masked, for people.

    Examples
    --------
    >>> masked_sentence({"email": 2, "card": 1})
    'Personal data is masked: card number 1x, e-mail address 2x.'
    >>> masked_sentence({})
    'Personal data is masked; none was found.'
    """
    if not counts:
        return "Personal data is masked; none was found."
    kinds = sorted((SHOWN[kind], count) for kind, count in counts.items())
    listed = ", ".join(f"{name} {count:,}x" for name, count in kinds)
    return f"Personal data is masked: {listed}."
