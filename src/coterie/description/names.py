"""Names of clusters: phrases of their texts, without a language model.

A candidate is a word or a phrase of a cluster. Its score is its class-based TF-IDF, times powers of
the share of the texts that hold it, and of how close those texts are to the mean of the cluster. A
name is the best candidate, followed by others where that leaves out many texts. Nothing is encoded:
a candidate is as close as the texts that hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, count

import numpy as np

from coterie._types import Bools, Floats, Ints
from coterie.description.terms import Terms
from coterie.description.words import ClusterTerms, ClusterWords, Term
from coterie.words.cutting import NO_BLANKS, join

LONGEST_NAME = 40  # characters
MOST_PARTS = 3
WORDS = 40  # best words of a cluster that are candidates
PHRASE_WORDS = 5  # of a phrase
COVERED = 0.3  # power of the share of texts that hold all words of a candidate
CLOSE = 1.0  # power of the closeness of these texts to the mean of the cluster
TOGETHER = 0.2  # power of the share of these texts that hold a phrase as it is
ONE_WORD = 0.4  # a word alone counts less than a phrase
REPEATED = 0.75  # of the weight of a word that repeats another one of the phrase is not counted
APART = 0.5  # power of the share of a further part's texts that hold none of the parts before
LEAST_NEW = 0.1  # of this share
ENOUGH = 0.6  # share of the texts that hold a part of a name, from which no part follows
SHORT = 3  # characteristic words; a name with fewer takes a further part all the same
SECOND, WEAKEST = 0.1, 0.003  # shares of the first score that a part has to have; in a short name
LOOKED_AT = 40  # best candidates
PROPOSED = 8  # names of a cluster to choose from where others are alike
EVEN = 0.5  # power of how evenly a candidate is spread over the parts of a group


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
    held : ndarray of bool
        For each text of the cluster, whether it holds all of them.
    score : float
    top : bool
        Whether it holds the most characteristic word of the cluster.
    """

    text: str
    stems: frozenset[int]
    held: Bools
    score: float
    top: bool = False


@dataclass(frozen=True)
class Proposal:
    """A name; where known, stems of its first part and of all, and which texts hold a part."""

    text: str
    first: frozenset[int] = frozenset()
    stems: frozenset[int] = frozenset()
    held: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool), compare=False)


def make_names(
    clusters: ClusterTerms, vectors: Floats | None = None, parts: Parts | None = None
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
    """
    around = centered(vectors)

    def propose(cluster: ClusterWords) -> Iterator[Proposal]:
        inside, taken = _parts_of(parts, cluster.rows)
        found = find_candidates(cluster, around, inside)
        for name in chain(combine(found), by_keywords(cluster)):
            if name.text.casefold() not in taken:
                yield name

    return choose_names(clusters.sizes, [propose(cluster) for cluster in clusters])


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


def keyword_names(clusters: ClusterTerms) -> list[str]:
    """One name per cluster of up to three keywords and short phrases, to compare with."""
    return choose_names(clusters.sizes, [by_keywords(cluster) for cluster in clusters])


def find_candidates(
    cluster: ClusterWords, vectors: Floats | None = None, inside: Ints | None = None
) -> list[Candidate]:
    """Words and phrases for the name of a cluster, best first.

    ``vectors`` are those of all texts, around their mean. ``inside`` is the part of the cluster
    that each of its texts is in: what many parts hold comes first.
    """
    terms = [*cluster.characteristic()[:WORDS], *cluster.phrases(PHRASE_WORDS)]
    if not terms:
        return []
    held = cluster.held([term.parts for term in terms])
    share = np.maximum(held.mean(axis=0), 1 / len(held))
    alone = np.array([len(term.form) == 1 for term in terms])
    together = np.array([term.count for term in terms]) / np.maximum(held.sum(axis=0), 1)
    score = _weights(terms, held) * share**COVERED
    score *= np.where(alone, ONE_WORD, together**TOGETHER)
    if vectors is not None:
        score *= _closeness(vectors[cluster.rows], held) ** CLOSE
    if inside is not None:
        score *= _evenness(held, inside) ** EVEN
    order = sorted(range(len(terms)), key=lambda i: (-round(float(score[i]), 6), terms[i].text))
    out: dict[str, Candidate] = {}
    for i in order[:LOOKED_AT]:
        term = _completed(cluster, terms[i])
        text = cluster.shown(term.count, written(cluster.terms, term))
        if 0 < len(text) <= LONGEST_NAME and text not in out:
            stems = frozenset(term.parts)
            top = terms[0].parts[0] in stems
            out[text] = Candidate(text, stems, held[:, i], float(score[i]), top)
    return list(out.values())


def _completed(cluster: ClusterWords, term: Term) -> Term:
    """A term with the words that nearly always stand beside it, if that is not too long."""
    terms, form = cluster.terms, cluster.complete(term.form, PHRASE_WORDS)
    more = [word for word in form if word not in term.form and terms.telling[word]]
    stems = [int(terms.stem[word]) for word in more]
    longer = replace(term, form=form, parts=(*term.parts, *stems))
    if not more or set(stems) & set(term.parts) or len(written(terms, longer)) > LONGEST_NAME:
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


def combine(found: Sequence[Candidate]) -> Iterator[Proposal]:
    """Names from candidates, best first; each begins with another one."""
    return (extend([first], found) for first in found[:PROPOSED])


def extend(parts: Sequence[Candidate], found: Sequence[Candidate]) -> Proposal:
    """The name that begins with some parts.

    A further part follows while fewer than 60% of the texts hold one, the name has fewer than
    three characteristic words, or it lacks the most characteristic one. It is the one of the best
    score among those that share no word, lowered where its texts hold a part already. Where one
    phrase holds the words of all parts, it is the name.
    """
    first = parts[0]
    held = np.any([part.held for part in parts], axis=0)
    stems = frozenset[int]().union(*(part.stems for part in parts))
    while len(parts) < MOST_PARTS:
        short = len(stems) < SHORT
        others = [c for c in found if may_follow(c, parts)]
        if held.mean() >= ENOUGH and not short:
            others = [c for c in others if c.top]
        worth = [c.score * max((~held)[c.held].mean(), LEAST_NEW) ** APART for c in others]
        best = int(np.argmax(np.round(worth, 9))) if worth else -1
        if best < 0 or worth[best] < (WEAKEST if short else SECOND) * first.score:
            break
        held, stems = held | others[best].held, stems | others[best].stems
        one = next((c for c in found if c.stems == stems), None)  # "Billing Issue, Report"
        parts = [*parts, others[best]] if one is None else [one]
    return Proposal(", ".join(part.text for part in parts), first.stems, stems, held)


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


def choose_names(sizes: Ints, proposals: Sequence[Iterable[Proposal]]) -> list[str]:
    """The names that :func:`choose` gives; large clusters choose first."""
    order = sorted(range(len(proposals)), key=lambda i: (-int(sizes[i]), i))
    chosen = choose({i: proposals[i] for i in order})
    return [chosen[i] for i in range(len(proposals))]


def choose(
    proposals: Mapping[int, Iterable[Proposal]],
    given: Mapping[int, str] | None = None,
    nested: Callable[[int, int], bool] = lambda one, other: False,
) -> dict[int, str]:
    """The first proposal of each number that is free and unlike the others.

    Two names are alike if the words of one are all in the other, or if they begin with the same.
    Where all are alike, the first that is free is taken, else the first with a number.

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
    """A term with capitals as in a title; stop words stay small."""
    words = []
    for i in term.form:
        word = terms.written[i]
        small = (len(term.form) > 1 and not terms.telling[i]) or word != terms.words[i]
        words.append(word if small else word[:1].upper() + word[1:])
    return join(words)


def _fits(parts: Iterable[str]) -> bool:
    return len(", ".join(parts)) <= LONGEST_NAME


# Names by keywords, where a cluster has no candidates, or too few that are unlike others ----------

MOST_WORDS = 5
PAIR, TRIPLE = 0.3, 0.5  # least share of the texts with a phrase's most frequent word
BONUS = 1.7  # a phrase in a third of the texts of its best word comes before that word
FADES = 0.03  # parts that say less than this share of what the first says are left out
SPARE = 8  # further parts to choose from where names are alike


def by_keywords(cluster: ClusterWords) -> Iterator[Proposal]:
    """Names from the best keywords, first as many as fit, then with spare ones."""
    parts = name_parts(cluster)
    best: list[str] = []
    for part in parts:
        words = sum(len(p.split()) for p in [*best, part])
        if len(best) < MOST_PARTS and words <= MOST_WORDS and _fits([*best, part]):
            best.append(part)
    combined = [best] if best else []
    for length in (2, 3, 1):
        combined += [list(some) for some in combinations(parts, length) if _fits(some)]
    for some in combined:
        yield Proposal(", ".join(some))


def name_parts(cluster: ClusterWords) -> list[str]:
    """Keywords and short phrases for a name, best first; no word is in two of them."""
    single = cluster.words
    by_part = {term.parts[0]: term for term in single}
    scored = [(term.weight, term) for term in single]
    for length in (2, 3):
        for term in cluster.best(length):
            score = _phrase_score(term, by_part, cluster.enough)
            if score > 0:
                scored.append((score, term))
    scored.sort(key=lambda pair: (-round(pair[0], 9), -len(pair[1].form), pair[1].text))
    out: list[str] = []
    seen: set[int] = set()
    first = scored[0][0] if scored else 0.0
    for score, term in scored:
        if seen & set(term.parts) or (len(out) >= SPARE) or score < FADES * first:
            continue
        text = cluster.shown(term.count, written(cluster.terms, term), out)
        if text and len(text) <= LONGEST_NAME:
            out.append(text)
            seen |= set(term.parts)
    return out


def _phrase_score(term: Term, single: dict[int, Term], least: int) -> float:
    """What its most telling word says, raised for being a phrase, as far as they go together."""
    parts = [single[part] for part in set(term.parts) if part in single]
    if len(parts) < max(2, len(term.parts)) or term.count < least:
        return 0.0
    # Three telling words must belong together; "date of birth" counts as two.
    together = term.count / max(part.count for part in parts)
    if together < (TRIPLE if len(parts) > 2 else PAIR):
        return 0.0
    best = max(parts, key=lambda part: part.weight)
    raised = BONUS if len(parts) == 2 else 1.1 * BONUS
    return float(raised * best.weight * (term.count / best.count) ** 0.5)
