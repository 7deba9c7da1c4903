"""Names of clusters: phrases of their texts, without a language model.

A candidate is a word or a phrase of a cluster. Its score is its class-based TF-IDF, times powers of
the share of the texts that hold it, and of how close those texts are to the mean of the cluster. A
name is the best candidate, followed by others where that leaves out many texts. Nothing is encoded:
a candidate is as close as the texts that hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from coterie._util.types import Bools, Floats, Ints
from coterie.describe.terms import Terms
from coterie.describe.words import ClusterTerms, ClusterWords, Term
from coterie.texts.words.cutting import NO_BLANKS, join

LONGEST_NAME = 40  # characters
MOST_PARTS = 3
WORDS = 40  # best words of a cluster that are candidates
PHRASE_WORDS = 5  # of a phrase
COVERED = 0.25  # power of the share of texts that hold all words of a candidate
CLOSE = 1.0  # power of the closeness of these texts to the mean of the cluster
DISTINCT = 0.3  # power of the share of the texts with its most telling word that are in the cluster
TOGETHER = 0.2  # power of the share of these texts that hold a phrase as it is
ONE_WORD = 0.4  # a word alone counts less than a phrase
REPEATED = 0.75  # of the weight of a word that repeats another one of the phrase is not counted
APART = 0.5  # power of the share of a further part's texts that hold none of the parts before
LEAST_NEW = 0.1  # of this share
ENOUGH = 0.75  # share of the texts that hold a part of a name, from which no part follows
SHARP = 0.6  # share of the texts with a word of the name that are in the cluster, likewise
SHORT = 2  # characteristic words; a name with fewer takes a further part all the same
RICH = 3  # characteristic words; a name with fewer takes a strong further part
SECOND, WEAKEST = 0.1, 0.003  # shares of the first score that a part has to have; in a short name
LOOKED_AT = 40  # best candidates
PROPOSED = 8  # names of a cluster to choose from where others are alike
WORSE = 0.5  # of the first score; a name below it is not taken for being unlike others
EVEN = 0.5  # power of how evenly a candidate is spread over the parts of a group

NO_CLUSTER = "(no text)"  # the name of the cluster of a row without a text
NONE_OF_THESE = "(none of these)"  # and of an outlier


@dataclass(frozen=True)
class Parts:
    """What the clusters of a coarser level hold.

    Attributes
    ----------
    of_text : ndarray of shape (n,)
        Cluster of the finer level of each text, -1 for none.
    names : mapping of int to str
        Names of these clusters.
    """

    of_text: Ints
    names: Mapping[int, str]


@dataclass(frozen=True)
class Candidate:
    """A word or phrase that may be in the name of a cluster.

    Attributes
    ----------
    text : str
        As it is written in a name.
    stems : frozenset of int
        Of its characteristic words.
    held, touched : ndarray of bool
        For each text of the cluster, whether it holds all of them, and one of them.
    score : float
    sharp : float
        Share of the texts with its most telling word that are in the cluster.
    """

    text: str
    stems: frozenset[int]
    held: Bools
    touched: Bools
    score: float
    sharp: float


@dataclass(frozen=True)
class Proposal:
    """A name; where known, its score, stems of its first part and of all, and texts it covers."""

    text: str
    first: frozenset[int] = frozenset()
    stems: frozenset[int] = frozenset()
    score: float = 0.0
    held: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool), compare=False)


def make_names(
    clusters: ClusterTerms,
    vectors: Floats | None = None,
    parts: Parts | None = None,
    given: Mapping[int, str] | None = None,
) -> list[str]:
    """One name per cluster: phrases of its texts, unique, and where possible unlike the others.

    Large clusters choose first. A cluster without candidates is named by keywords, one without
    words by its number.

    Parameters
    ----------
    clusters : ClusterTerms
    vectors : ndarray of shape (n, d), optional
        Of all texts; candidates whose texts are close to the mean of the cluster come first.
    parts : Parts, optional
        For clusters that hold others: a name then is not that of one of them alone.
    given : mapping of int to str, optional
        Names that stay as they are.
    """
    around = centered(vectors)

    def propose(cluster: ClusterWords) -> Iterator[Proposal]:
        inside, taken = _parts_of(parts, cluster.rows)
        found = find_candidates(cluster, around, inside)
        for name in combine(cluster, found, SHORT if inside is None else 1):
            if name.text.casefold() not in taken:
                yield name

    return choose_names(clusters.sizes, [propose(cluster) for cluster in clusters], given)


def centered(vectors: Floats | None) -> Floats | None:
    """Vectors around their mean."""
    if vectors is None or not len(vectors):
        return vectors
    vectors = np.asarray(vectors, dtype=np.float32)
    return np.asarray(vectors - vectors.mean(axis=0))


def _parts_of(parts: Parts | None, rows: Ints) -> tuple[Ints | None, set[str]]:
    """The part of each text of a cluster, and the names of these; nothing where there is one."""
    if parts is None:
        return None, set()
    inside = parts.of_text[rows]
    several = np.unique(inside).tolist()
    if len(several) < 2:
        return None, set()
    return inside, {parts.names[part].casefold() for part in several if part in parts.names}


def find_candidates(
    cluster: ClusterWords, vectors: Floats | None = None, inside: Ints | None = None
) -> list[Candidate]:
    """Words and phrases for the name of a cluster, best first.

    ``vectors`` are those of all texts, around their mean. ``inside`` is the part of the cluster
    that each of its texts is in: what many parts hold comes first.
    """
    terms = [*cluster.characteristic()[:WORDS], *cluster.phrases(PHRASE_WORDS)]
    if not cluster.terms.cut:  # pieces of words
        terms = [term for term in terms if not NO_BLANKS.match(term.text)]
    if not terms:
        return []
    held, touched = cluster.held([term.parts for term in terms])
    share = np.maximum(held.mean(axis=0), 1 / len(held))
    alone = np.array([len(term.form) == 1 for term in terms])
    together = np.array([term.count for term in terms]) / np.maximum(held.sum(axis=0), 1)
    score = _weights(terms, held) * share**COVERED
    score *= np.where(alone, ONE_WORD, together**TOGETHER)
    sharp = np.array([max(map(cluster.precision, term.parts)) for term in terms])
    score *= sharp**DISTINCT
    if vectors is not None:
        score *= _closeness(vectors[cluster.rows], held) ** CLOSE
    if inside is not None:
        score *= _evenness(held, inside) ** EVEN
    order = sorted(range(len(terms)), key=lambda i: (-round(float(score[i]), 6), terms[i].text))
    out: dict[str, Candidate] = {}
    longer = order[:LOOKED_AT] if inside is None else []  # a part's words are not the group's
    for i, complete in [*((i, True) for i in longer), *((i, False) for i in order[:LOOKED_AT])]:
        term = _completed(cluster, terms[i]) if complete else terms[i]
        text = cluster.shown(term.count, written(cluster.terms, term))
        if 0 < len(text) <= LONGEST_NAME and text not in out:
            stems = frozenset(term.parts)
            cover = held[:, i], touched[:, i]
            out[text] = Candidate(text, stems, *cover, float(score[i]), float(sharp[i]))
    return list(out.values())


def _completed(cluster: ClusterWords, term: Term) -> Term:
    """A term with the words that nearly always stand beside it, if that is not too long."""
    terms, form = cluster.terms, cluster.complete(term.form, PHRASE_WORDS)
    more = [int(terms.stem[w]) for w in form if w not in term.form and terms.telling[w]]
    longer = replace(term, form=form, parts=(*term.parts, *more))
    if set(more) & set(term.parts) or len(written(terms, longer)) > LONGEST_NAME:
        return term
    return longer


def _weights(terms: Sequence[Term], held: Bools) -> Floats:
    """Weights of terms, without what a word repeats of better ones of the same term.

    That is most of its weight if the same texts hold both: "separable lean" says little more than
    "lean". Two of the words count as the same as far as their sets of texts do (Jaccard).
    """
    column = {term.parts[0]: i for i, term in enumerate(terms) if len(term.form) == 1}
    out = np.array([term.weight for term in terms])
    for i, term in enumerate(terms):
        words = [column[part] for part in term.parts if part in column]
        words.sort(key=lambda j: (-terms[j].weight, j))
        repeated = 0.0
        for n, j in enumerate(words[1:], 1):
            same = (held[:, words[:n]] & held[:, [j]]).sum(axis=0)
            either = (held[:, words[:n]] | held[:, [j]]).sum(axis=0)
            repeated += terms[j].weight * float((same / np.maximum(either, 1)).max())
        out[i] = max(out[i] - REPEATED * repeated, 0.05 * out[i])
    return out


def _closeness(vectors: Floats, held: Bools) -> Floats:
    """Cosine of the mean of the texts that hold a candidate to that of all, 0.01 at least."""
    mean = vectors.mean(axis=0)
    those = held.T.astype(np.float32) @ vectors
    length = np.linalg.norm(those, axis=1) * np.linalg.norm(mean)
    cosine = those @ mean / np.where(length > 0, length, 1.0)
    return np.asarray(np.maximum(np.round(cosine.astype(np.float64), 4), 0.01))


def _evenness(held: Bools, inside: Ints) -> Floats:
    """Mean over the parts of the share of texts that hold a candidate, by the largest of them."""
    shares = np.stack([held[inside == part].mean(axis=0) for part in np.unique(inside)])
    return np.asarray(shares.mean(axis=0) / np.maximum(shares.max(axis=0), 1e-9))


def combine(
    cluster: ClusterWords, found: Sequence[Candidate], short: int = SHORT
) -> Iterator[Proposal]:
    """Names of a cluster, best first: each begins with another candidate, then each alone.

    A typical text is last, and the first where nothing cuts the script into words. ``short`` is as
    for :func:`extend`.
    """
    yield from (extend([first], found, short) for first in found[:PROPOSED])
    yield from (extend([first], []) for first in found)
    if any(cluster.texts) and cluster.terms.placeholder[cluster.rows].all():
        yield Proposal("Placeholders")
    if text := cluster.typical():
        yield Proposal(text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…")


def extend(parts: Sequence[Candidate], found: Sequence[Candidate], short: int = SHORT) -> Proposal:
    """The name that begins with some parts.

    A further part follows while fewer than 75% of the texts hold a word of the name, no word of it
    is mostly in the cluster, or it has fewer than ``short`` characteristic words. It is the one of
    the best score among those that share no word, lowered where its texts hold a word already.
    Where one phrase holds the words of all parts, it is the name.
    """
    first = parts[0]
    while found and len(parts) < MOST_PARTS:
        held = np.any([part.touched for part in parts], axis=0)
        stems = frozenset[int]().union(*(part.stems for part in parts))
        few = len(stems) < short
        sharp = max(part.sharp for part in parts) >= SHARP
        if held.mean() >= ENOUGH and sharp and not few and (len(stems) >= RICH or short == 1):
            break
        others = [c for c in found if may_follow(c, parts)]
        if not others:
            break
        touched = np.stack([c.touched for c in others])
        new = (touched & ~held).sum(axis=1) / touched.sum(axis=1)
        worth = [c.score for c in others] * np.maximum(new, LEAST_NEW) ** APART
        best = int(np.argmax(np.round(worth, 9)))
        if worth[best] < (WEAKEST if few else SECOND) * first.score:
            break
        stems |= others[best].stems
        one = next((c for c in found if c.stems == stems), None)  # "billing issue, report"
        parts = [*parts, others[best]] if one is None else [one]
    text = ", ".join(part.text for part in parts)
    return Proposal(
        text[:1].upper() + text[1:],
        first.stems,
        frozenset[int]().union(*(part.stems for part in parts)),
        first.score,
        np.any([part.touched for part in parts], axis=0),
    )


def may_follow(candidate: Candidate, parts: Sequence[Candidate]) -> bool:
    """Whether a candidate shares no word with the parts of a name, and there is room for it."""
    if not _fits([*(p.text for p in parts), candidate.text]):
        return False
    if any(candidate.stems & part.stems for part in parts):
        return False
    if not NO_BLANKS.match(candidate.text):
        return True
    pairs = {candidate.text[i : i + 2] for i in range(len(candidate.text) - 1)}
    return not any(pair in part.text for part in parts for pair in pairs)


def choose_names(
    sizes: Ints, proposals: Sequence[Iterable[Proposal]], given: Mapping[int, str] | None = None
) -> list[str]:
    """The names that :func:`choose` gives; large clusters choose first."""
    order = sorted(range(len(proposals)), key=lambda i: (-int(sizes[i]), i))
    chosen = choose({i: proposals[i] for i in order}, given)
    return [chosen[i] for i in range(len(proposals))]


def choose(
    proposals: Mapping[int, Iterable[Proposal]],
    given: Mapping[int, str] | None = None,
    nested: Callable[[int, int], bool] = lambda one, other: False,
) -> dict[int, str]:
    """The first proposal of each number that is free and unlike the others.

    Two names are alike if the words of one are all in the other, or if they begin with the same.
    Where all are alike that score half as much as the first, the first that is free is taken, else
    the first with a number.

    Parameters
    ----------
    proposals : mapping of int to iterable of Proposal
        Those before choose first.
    given : mapping of int to str, optional
        Names that stay as they are.
    nested : callable
        Whether one of two clusters holds the other: their names may be alike, but not of the same
        words.
    """
    chosen = {i: Proposal(name) for i, name in (given or {}).items()}
    taken = {name.text.casefold() for name in chosen.values()}
    for i, proposed in proposals.items():
        if i in chosen:
            continue
        first: Proposal | None = None
        free: Proposal | None = None
        for name in proposed:
            first = first or name
            if free and name.score < WORSE * first.score:
                break
            if name.text.casefold() in taken:
                continue
            free = free or name
            if not any(
                _same(name, other) if nested(i, j) else _alike(name, other)
                for j, other in chosen.items()
            ):
                free = name
                break
        first = first or Proposal(f"Cluster {i}")
        if free is None and first.text.casefold() not in taken:
            free = first
        chosen[i] = free or replace(first, text=numbered(first.text, taken))
        taken.add(chosen[i].text.casefold())
    return {i: name.text for i, name in chosen.items()}


def _same(a: Proposal, b: Proposal) -> bool:
    return bool(a.stems) and a.stems == b.stems


def _alike(a: Proposal, b: Proposal) -> bool:
    x, y = a.text.casefold(), b.text.casefold()
    if x in y or y in x:
        return True
    if not (a.stems and b.stems):
        return False
    return a.first == b.first or a.stems <= b.stems or b.stems <= a.stems


def numbered(name: str, taken: Collection[str], fold: Callable[[str], str] = str.casefold) -> str:
    """The name with the first number from 2 on that makes it another one than the folded names."""
    named = (f"{name} ({number})" for number in count(2))
    return next(new for new in named if fold(new) not in taken)


def written(terms: Terms, term: Term) -> str:
    """A term as the texts write it."""
    return join([terms.written[i] for i in term.form])


def _fits(parts: Iterable[str]) -> bool:
    return len(", ".join(parts)) <= LONGEST_NAME
