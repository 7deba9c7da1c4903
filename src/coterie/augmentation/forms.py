"""Forms of English words: from a form to its lemma, and from a lemma to the same form.

Lemmas are found as WordNet's morphy(7WN) does, by endings and lists of exceptions. Forms are made
by the regular rules and the same lists; where it is not sure what is right, nothing is made.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from coterie.augmentation.wordnet import WordNet

ENDINGS = {  # part of speech: ending of the form, ending of the lemma, name of the form
    "n": "s::plural ses:s:plural xes:x:plural zes:z:plural ches:ch:plural shes:sh:plural "
    "men:man:plural ies:y:plural",
    "v": "s::s ies:y:s es:e:s es::s ed:e:past ed::past ing:e:ing ing::ing",
    "a": "er::er est::est er:e:er est:e:est",
    "r": "",
}
RULES = {
    part: [tuple(rule.split(":")) for rule in rules.split()] for part, rules in ENDINGS.items()
}
BY_LETTER = {  # the same by the last letter of the ending
    part: {letter: [rule for rule in rules if rule[0].endswith(letter)] for letter in "sndgrt"}
    for part, rules in RULES.items()
}
PLAIN = {"n": "singular", "v": "base", "a": "plain", "r": "plain"}
VOWELS = "aeiou"
HISSING = ("s", "x", "z", "ch", "sh")
VOWEL_GROUPS = re.compile(r"[aeiouy]+")


class Reading(NamedTuple):
    """One way to understand a word."""

    lemma: str
    part: str
    form: str


def readings(word: str, wordnet: WordNet) -> list[Reading]:
    """All ways to understand a word in small letters that WordNet knows."""
    out = []
    last = word[-1:]
    for part, rules in BY_LETTER.items():
        if wordnet.has(word, part):
            out.append(Reading(word, part, PLAIN[part]))
        irregular = wordnet.exceptions[part].get(word)
        if irregular:
            out += [Reading(lemma, part, _form_of(word, part)) for lemma in irregular]
            continue
        for ending, other, form in rules.get(last, ()):
            if word.endswith(ending):
                lemma = word[: len(word) - len(ending)] + other
                if len(lemma) > 1 and wordnet.has(lemma, part):
                    out.append(Reading(lemma, part, form))
    return list(dict.fromkeys(out))


def _form_of(word: str, part: str) -> str:
    """Name of an irregular form, by its ending."""
    if part == "v":
        return "ing" if word.endswith("ing") else "s" if word.endswith("s") else "past"
    if part == "n":
        return "plural"
    return "est" if word.endswith("st") else "er" if word.endswith("r") else PLAIN[part]


def inflected(lemma: str, part: str, form: str, wordnet: WordNet) -> str | None:
    """The form of a lemma (blanks between its words), or None where it is not sure.

    The first word of a verb of several words is changed, and the last of a noun.
    """
    if form == PLAIN[part]:
        return lemma
    if part == "n":
        before, blank, head = lemma.rpartition(" ")
        made = _plural(head, wordnet.irregular["n"].get(head, []))
        return None if made is None else before + blank + made
    head, blank, behind = lemma.partition(" ")
    irregular = wordnet.irregular[part].get(head, [])
    if part == "v":
        made = _verb(head, form, irregular)
    elif blank:
        return None
    else:
        made = _compared(head, form, irregular)
    return None if made is None else made + blank + behind


def _plural(noun: str, irregular: list[str]) -> str | None:
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")):
        return None  # news, goods
    regular = _with_s(noun)
    if irregular:
        return regular if regular in irregular else irregular[0]
    return None if noun.endswith("is") else regular


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(HISSING) else "s")


def _verb(verb: str, form: str, irregular: list[str]) -> str | None:
    kinds = [(_form_of(other, "v"), other) for other in irregular]
    own = [other for kind, other in kinds if kind == form]
    if own:
        return own[0] if len(own) == 1 else None  # went or gone?
    if form == "s":
        return verb + "es" if verb.endswith("o") else _with_s(verb)
    if form == "ing":
        if verb.endswith("ie"):
            return verb[:-2] + "ying"
        mute = verb.endswith("e") and not verb.endswith(("ee", "oe", "ye"))
        return (verb[:-1] if mute else _doubled(verb)) + "ing"
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _doubled(word: str) -> str:
    """The last letter twice in words like "stop": one syllable, a short vowel."""
    short = len(VOWEL_GROUPS.findall(word)) == 1 and len(word) > 2
    shape = short and word[-1] not in VOWELS + "wxy" and word[-2] in VOWELS
    return word + word[-1] if shape and word[-3] not in VOWELS else word


def _compared(word: str, form: str, irregular: list[str]) -> str | None:
    own = [other for other in irregular if _form_of(other, "a") == form]
    if own:
        return own[0] if len(own) == 1 else None
    syllables = len(VOWEL_GROUPS.findall(word[:-1] if word.endswith("e") else word))
    if word.endswith("y") and syllables <= 2 and word[-2:-1] not in VOWELS:
        return word[:-1] + "i" + form
    if syllables != 1:
        return None  # "more": another word, in another place
    return word[:-1] + form if word.endswith("e") else _doubled(word) + form


def article(word: str) -> str:
    """Which of "a" and "an" stands before a word.

    Examples
    --------
    >>> article("error"), article("user"), article("hour"), article("box")
    ('an', 'a', 'an', 'a')
    """
    small = word.lower()
    if small.startswith(("hour", "honest", "honor", "honour", "heir")):
        return "an"
    if small.startswith(("uni", "use", "usu", "eu", "one", "once", "ubi")):
        return "a"
    return "an" if small[:1] in VOWELS else "a"
