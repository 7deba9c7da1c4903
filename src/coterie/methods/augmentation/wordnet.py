"""Synonyms from WordNet in the place of words, in the same form and for the likely meaning.

WordNet's files: an index in memory, senses when they are asked for. The package brings what
augmentation needs of WordNet 3.0 in ``wordnet.zip``, whose licence is in ``wordnet-licence.txt``.
WNSEARCHDIR names other files: a whole WordNet, or another version. The format is that of the
manual page wndb(5WN): ``index.POS`` has a line per lemma with the places of its senses in
``data.POS``, the frequent ones first; ``POS.exc`` has irregular forms; ``cntlist.rev`` tells how
often a sense was met.

Forms: lemmas are found as WordNet's morphy(7WN) does, by endings and lists of exceptions. Forms are
made by the regular rules and the same lists; where it is not sure what is right, nothing is made.

Reading order: the files, forms of words, the augmenter.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from coterie._util.types import Ints
from coterie.errors import MissingError
from coterie.methods.augmentation.base import (
    SYNONYM,
    Augmenter,
    Choices,
    Keys,
    Words,
    below,
    how_many,
    join,
    like,
    split_edges,
)
from coterie.texts.words.stopwords import ENGLISH

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
ORDER = "nvar"  # of the weights of parts of speech
NEEDED = [f"{kind}.{part}" for part in PARTS.values() for kind in ("index", "data")]
OPTIONAL = [*(f"{part}.exc" for part in PARTS.values()), "cntlist.rev"]
NUMBERED = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # 5: a satellite adjective
BUNDLED = Path(__file__).with_name("wordnet.zip")  # made by tools/wordnet_table.py
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
PLAIN = {"n": "singular", "v": "base", "a": "plain", "r": "plain"}
VOWELS = "aeiou"
HISSING = ("s", "x", "z", "ch", "sh")
VOWEL_GROUPS = re.compile(r"[aeiouy]+")
SENSES = 3  # of each word; the rarer ones mostly mean something else
LONGEST = 2  # words in a synonym
# What the word before says about a word: weights of noun, verb, adjective, adverb. They are rough:
# with the counts of WordNet they only have to order at most four readings.
BEFORE: dict[str, tuple[str, tuple[float, float, float, float]]] = {
    "named": (
        "a an the my your his her its our their this that these those some any no each every "
        "another which whose",
        (8, 0.1, 4, 0.3),
    ),
    "acting": (
        "to i you we they he she it who can could will would shall should must may might do "
        "does did don't doesn't didn't can't cannot couldn't won't wouldn't not please "
        "never let's i'll we'll you'll",
        (0.3, 8, 0.3, 1),
    ),
    "being": (
        "is are was were am be been being isn't aren't wasn't weren't i'm it's you're very "
        "too so quite really more most seems looks feels becomes",
        (0.5, 2, 6, 2),
    ),
    "relating": (
        "of in on at for with without from by about into over under between through "
        "after before during",
        (6, 0.2, 2, 0.3),
    ),
}
EVEN = (1.0, 1.0, 1.0, 1.0)
WEIGHTS = [EVEN, *(weights for _, weights in BEFORE.values())]
CONTEXT = {
    word: number for number, (words, _) in enumerate(BEFORE.values(), 1) for word in words.split()
}


class WordNet:
    """Senses of English words.

    Parameters
    ----------
    files : mapping of str to bytes
        By name, as in WordNet's ``dict`` folder.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def synsets(self, lemma: str, part: str, most: int | None = None) -> list[list[str]]:
        """Words of each sense of a lemma as one part of speech, the frequent senses first.

        Parameters
        ----------
        lemma : str
            In small letters, with underscores for blanks.
        part : {"n", "v", "a", "r"}
        most : int, optional
            How many senses. Default: all.
        """
        line = self._index[part].get(lemma)
        if line is None:
            return []
        fields = line.split()
        places = fields[len(fields) - int(fields[1]) :][:most]
        return [self._words(part, int(place)) for place in places]

    def _words(self, part: str, place: int) -> list[str]:
        data = self.files[f"data.{PARTS[part]}"]
        # Eight digits, two digits, a letter, and the number of words in two digits.
        line = data[place : data.find(b"\n", place)]
        count = int(line[14:16], 16)
        words = line[17:].split(b" ", 2 * count)[: 2 * count : 2]
        return [word.decode().partition("(")[0] for word in words]

    def lemmas(self, part: str) -> Iterable[str]:
        """All lemmas of a part of speech."""
        return self._index[part]

    def has(self, lemma: str, part: str) -> bool:
        """Whether there is such a lemma."""
        return lemma in self._index[part]

    @cached_property
    def _index(self) -> dict[str, dict[str, str]]:
        """By part of speech: what stands behind each lemma in its line, unread."""
        out = {}
        for part, name in PARTS.items():
            lines = self.files[f"index.{name}"].decode().splitlines()
            split = (line.split(" ", 2) for line in lines if line[0] != " ")
            out[part] = {lemma: f"{part} {rest}" for lemma, _, rest in split}
        return out

    @cached_property
    def seen(self) -> dict[str, dict[str, int]]:
        """How often each lemma was met as which part of speech, in texts that were marked by hand.

        What was never met is left out.
        """
        out: dict[str, dict[str, int]] = {}
        for line in self.files.get("cntlist.rev", b"").splitlines():
            sense, _, count = line.split()
            lemma, _, rest = sense.decode().partition("%")
            own = out.setdefault(lemma, {})
            part = NUMBERED[rest[:1]]
            own[part] = own.get(part, 0) + int(count)
        return out

    @cached_property
    def exceptions(self) -> dict[str, dict[str, list[str]]]:
        """By part of speech: lemmas of each irregular form."""
        out: dict[str, dict[str, list[str]]] = {}
        for part, name in PARTS.items():
            lines = self.files.get(f"{name}.exc", b"").decode().splitlines()
            out[part] = {fields[0]: fields[1:] for line in lines if (fields := line.split())}
        return out

    @cached_property
    def irregular(self) -> dict[str, dict[str, list[str]]]:
        """By part of speech: irregular forms of each lemma."""
        out: dict[str, dict[str, list[str]]] = {part: {} for part in PARTS}
        for part, forms in self.exceptions.items():
            for form, lemmas in forms.items():
                for lemma in lemmas:
                    out[part].setdefault(lemma, []).append(form)
        return out


@lru_cache(maxsize=2)
def read_wordnet(place: Path) -> WordNet:
    """WordNet from its ``dict`` folder or from a zip file of it."""
    names = [*NEEDED, *OPTIONAL]
    if place.suffix == ".zip" and place.is_file():
        with zipfile.ZipFile(place) as archive:
            inside = {Path(name).name: name for name in archive.namelist()}
            files = {name: archive.read(inside[name]) for name in names if name in inside}
    else:
        files = {name: (place / name).read_bytes() for name in names if (place / name).is_file()}
    if missing := [name for name in NEEDED if name not in files]:
        raise MissingError(
            f"{place} has no {missing[0]} of WordNet; unset WNSEARCHDIR to take the synonyms of "
            "coterie itself, or let it name a folder with WordNet's files ('apt-get install "
            "wordnet-base' brings them to /usr/share/wordnet)."
        )
    return WordNet(files)


def find_wordnet() -> WordNet:
    """WordNet from the folder or zip file that WNSEARCHDIR names, else from the package."""
    named = os.environ.get("WNSEARCHDIR")
    return read_wordnet(Path(named).expanduser().absolute() if named else BUNDLED)


class Reading(NamedTuple):
    """One way to understand a word."""

    lemma: str
    part: str
    form: str


@lru_cache(maxsize=1 << 16)
def readings(word: str, wordnet: WordNet) -> list[Reading]:
    """All ways to understand a word in small letters that WordNet knows."""
    out = []
    for part, rules in RULES.items():
        if wordnet.has(word, part):
            out.append(Reading(word, part, PLAIN[part]))
        irregular = wordnet.exceptions[part].get(word)
        if irregular:
            out += [Reading(lemma, part, _form_of(word, part)) for lemma in irregular]
            continue
        for ending, other, form in rules:
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


class Synonyms(Augmenter):
    """Replace a share of the words by synonyms, at least one.

    The part of speech is guessed from the word before and from how often WordNet's authors met
    the word as each. The synonym gets the form and the case of the word; "a" and "an" before it
    are put right. Stop words and words without a synonym stay.
    """

    kind: ClassVar[str] = "wordnet"

    def __init__(self, rate: float = 0.2, wordnet: WordNet | None = None) -> None:
        super().__init__(rate)
        self.wordnet = wordnet or find_wordnet()
        self._choices = Choices(self._find)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "senses": SENSES}

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        words = Words.of(texts)
        classes = np.array([CONTEXT.get(word.lower(), 0) for word in words.words])
        before = np.where(words.places > 0, np.roll(classes, 1), 0)  # of the word before
        starts, counts = self._choices.of(list(zip(words.words, before.tolist(), strict=True)))
        picked = words.pick(counts > 0, keys, how_many(words.counts, self.rate))
        own, places = keys[words.rows[picked]], words.places[picked]
        forms = starts[picked] + below(counts[picked], own, SYNONYM, places)
        out = list(words.words)
        for at, form in zip(picked.tolist(), forms.tolist(), strict=True):
            out[at] = self._choices.forms[form]
        _mend_articles(out, picked[places > 0])
        return join(out, words.counts)

    def _find(self, thing: tuple[str, int]) -> list[str]:
        """Synonyms of a word behind one kind of word, dressed like the word itself."""
        written, before = thing
        left, core, right = split_edges(written)
        word = core.lower()
        if word in ENGLISH or len(word) < 3 or not word.replace("-", "").isalpha():
            return []
        best = max(
            readings(word, self.wordnet),
            key=lambda reading: self._likely(reading, WEIGHTS[before]),
            default=None,
        )
        others = [] if best is None else synonyms(word, best, self.wordnet)
        return [f"{left}{like(other, core)}{right}" for other in others]

    def _likely(self, reading: Reading, weights: Sequence[float]) -> float:
        """How likely a reading is; "-ing" and "-ed" also stand where adjectives and nouns do."""
        seen = self.wordnet.seen.get(reading.lemma, {}).get(reading.part, 0)
        weight = weights[ORDER.index(reading.part)]
        if reading.part == "v" and reading.form in ("ing", "past"):
            weight = max(weight, weights[ORDER.index("a")])
        return (seen + 0.5) * weight


def synonyms(word: str, reading: Reading, wordnet: WordNet) -> list[str]:
    """Synonyms of a word as it is understood, in the same form."""
    senses = wordnet.synsets(reading.lemma, reading.part, SENSES)
    out = []
    for other in spoken(other for sense in senses for other in sense):
        form = inflected(other, reading.part, reading.form, wordnet)
        if other != reading.lemma and form is not None and form != word:
            out.append(form)
    return list(dict.fromkeys(out))


def spoken(words: Iterable[str]) -> list[str]:
    """Words of WordNet as people write them, without names and without long phrases."""
    out: dict[str, None] = {}
    for word in words:
        if word.isalpha():
            if word.islower():
                out[word] = None
        elif word.count("_") < LONGEST and word.islower() and word.replace("_", "").isalpha():
            out[word.replace("_", " ")] = None
    return list(out)


def _mend_articles(words: list[str], changed: Ints) -> None:
    """Put "a" and "an" right before words that were changed, in place."""
    for at in changed.tolist():
        before = words[at - 1]
        if before.lower() in ("a", "an"):
            words[at - 1] = like(article(split_edges(words[at])[1]), before[0] + before[1:].lower())
