"""Names of clusters: short phrases that occur in the texts, unlike each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from coterie.description.cut import join
from coterie.description.words import ClusterTerms, Term

LONGEST_NAME = 40
MOST_PARTS = 3
MOST_WORDS = 5
PAIR, TRIPLE = 0.3, 0.5  # least share of the texts with a phrase's most frequent word
BONUS = 1.7  # a phrase in a third of the texts of its best word comes before that word
FADES = 0.03  # parts that say less than this share of what the first says are left out
SPARE = 8  # further parts to choose from where names are alike


def make_names(clusters: ClusterTerms, texts: Sequence[Sequence[str]]) -> list[str]:
    """One name per cluster: unique, and where possible none inside another.

    Large clusters choose first. A cluster without words gets its number.

    Parameters
    ----------
    clusters : ClusterTerms
    texts : sequence of sequences of str
        Those of each cluster.
    """
    names: dict[int, str] = {}
    order = sorted(range(clusters.n_clusters), key=lambda i: (-int(clusters.sizes[i]), i))
    for i in order:
        parts = name_parts(clusters, i, texts[i])
        tried = list(_proposals(parts)) or [f"Cluster {i}"]
        taken = [name.casefold() for name in names.values()]
        free = [name for name in tried if name.casefold() not in taken]
        apart = (name for name in free if not any(_inside(name.casefold(), t) for t in taken))
        other = free[0] if free else _numbered(tried[0], taken)
        names[i] = next(apart, other)
    return [names[i] for i in range(clusters.n_clusters)]


def name_parts(clusters: ClusterTerms, cluster: int, texts: Sequence[str]) -> list[str]:
    """Words and phrases for a name, best first; no word is in two of them."""
    single = clusters.best(cluster)
    by_part = {term.parts[0]: term for term in single}
    scored = [(term.weight, term) for term in single]
    for length in (2, 3):
        for term in clusters.best(cluster, length):
            score = _phrase_score(term, by_part, clusters.enough(cluster))
            if score > 0:
                scored.append((score, term))
    scored.sort(key=lambda pair: (-round(pair[0], 9), -len(pair[1].form), pair[1].text))
    out: list[str] = []
    seen: set[int] = set()
    first = scored[0][0] if scored else 0.0
    for score, term in scored:
        if seen & set(term.parts) or (len(out) >= SPARE) or score < FADES * first:
            continue
        text = clusters.shown(cluster, term.count, _written(clusters, term), texts, out)
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


def _written(clusters: ClusterTerms, term: Term) -> str:
    """A term with capitals as in a title; stop words stay small."""
    terms = clusters.terms
    words = []
    for i in term.form:
        word = terms.written[i]
        small = (len(term.form) > 1 and not terms.telling[i]) or word != terms.words[i]
        words.append(word if small else word[:1].upper() + word[1:])
    return join(words)


def _proposals(parts: list[str]) -> Iterator[str]:
    """Names from the best parts, first as many as fit, then with spare ones."""
    best: list[str] = []
    for part in parts:
        words = sum(len(p.split()) for p in [*best, part])
        if len(best) < MOST_PARTS and words <= MOST_WORDS and _fits([*best, part]):
            best.append(part)
    if best:
        yield ", ".join(best)
    for length in (2, 3, 1):
        for some in combinations(parts, length):
            if _fits(list(some)):
                yield ", ".join(some)


def _fits(parts: list[str]) -> bool:
    return len(", ".join(parts)) <= LONGEST_NAME


def _inside(a: str, b: str) -> bool:
    return a in b or b in a


def _numbered(name: str, taken: Sequence[str]) -> str:
    number = 2
    while f"{name} ({number})".casefold() in taken:
        number += 1
    return f"{name} ({number})"
