"""Names and descriptions of all clusters of a merge tree, whatever cut of it is shown.

Words are counted once; the counts of a union are the sums of those of its parts. No two clusters
of the tree have the same name, and those that one cut may show have names that are unlike each
other, where their words allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import check_vectors, check_whole_numbers
from coterie.describe.describe import (
    Cluster,
    by_distance,
    check_lengths,
    languages_of,
    once,
    text_order,
)
from coterie.describe.names import (
    ENOUGH,
    SHORT,
    Candidate,
    Proposal,
    centered,
    choose,
    combine,
    extend,
    find_candidates,
    may_follow,
)
from coterie.describe.terms import Terms, weigh
from coterie.describe.words import ClusterTerms, ClusterWords, top_words
from coterie.errors import UsageError

PARTS = 3  # large parts that the name of a union is to cover
LARGE_PART = 0.2  # least share of the texts of a union
COVERS = 0.25  # of the share of a part's texts that hold its own best phrase
HEADS = 3  # best phrases of a part to choose from


def describe_nodes(  # noqa: PLR0913 - as those of `describe`
    texts: Sequence[str],
    labels: Sequence[int] | Ints,
    inside: Mapping[int, tuple[int, int]],
    vectors: Floats | None = None,
    *,
    names: Mapping[int, str] | None = None,
    language: str | Sequence[str] | None = "auto",
    n_words: int = 10,
    n_examples: int = 5,
    terms: Terms | None = None,
) -> dict[int, Cluster]:
    """Describe every cluster of a merge tree but the one that holds all.

    The result depends on the texts and their clusters, not on the order of the rows.

    Parameters
    ----------
    texts : sequence of str
    labels : sequence of int
        The finest cluster of each text, -1 for none.
    inside : mapping of int to tuple of int
        The two parts of each cluster that has any, see :meth:`coterie.arrays.tree.Tree.inside`.
    vectors : ndarray of shape (n, d), optional
        As for :func:`describe_clusters`.
    names : mapping of int to str, optional
        Names that stay as they are.
    language, n_words, n_examples, terms
        As for :func:`describe_clusters`.

    Returns
    -------
    dict of int to Cluster
        By their numbers. Those of small numbers choose their names first.

    Examples
    --------
    >>> texts = ["card lost", "card lost again", "card stolen", "my card is stolen", "no heating"]
    >>> nodes = describe_nodes(texts, [0, 0, 1, 1, 2], {3: (0, 1), 4: (3, 2)})
    >>> {number: node.name for number, node in nodes.items()}
    {0: 'Card lost', 1: 'Card stolen', 2: 'Heating', 3: 'Card'}
    """
    codes = check_whole_numbers("labels", labels)
    if vectors is not None:
        vectors = check_vectors("vectors", vectors)
    counted = None if terms is None else terms.texts
    check_lengths(texts, {"labels": codes, "vectors": vectors, "terms": counted})
    # Everything is worked in the order of the texts: then no result hangs on that of the rows.
    order = text_order(texts)
    texts, codes = [texts[i] for i in order], codes[order]
    vectors = None if vectors is None else vectors[order]
    below = leaves_below(inside, codes)
    leaves = [number for number in below if number not in inside]
    unions = [number for number in below if number in inside]
    terms = terms or Terms(texts, language)
    clusters = ClusterTerms(
        terms,
        np.where(codes >= 0, np.searchsorted(leaves, codes), -1),
        len(leaves),
        [np.searchsorted(leaves, sorted(below[union])).tolist() for union in unions],
    )
    words = dict(sorted(zip([*leaves, *unions], clusters, strict=True)))
    naming = _Naming(words, inside, below, codes, centered(vectors))
    called = choose(
        {number: naming.propose(number) for number in words},
        {number: name for number, name in (names or {}).items() if number in words},
        lambda one, other: not below[one].isdisjoint(below[other]),
    )
    counts = terms.single.presence
    space = weigh(counts, counts.sum(axis=0), len(texts)) if vectors is None else vectors
    out = {}
    for number, cluster in words.items():
        size, rows = int(clusters.sizes[cluster.number]), cluster.rows
        plain = rows[~terms.placeholder[rows]]
        out[number] = Cluster(
            number,
            called[number],
            size=size,
            share=round(size / clusters.n, 4),
            words=top_words(cluster, n_words),
            examples=once(by_distance(plain, space), texts, n_examples),
            languages=languages_of(terms, rows),
        )
    return out


def leaves_below(inside: Mapping[int, tuple[int, int]], labels: Ints) -> dict[int, frozenset[int]]:
    """The finest clusters that each cluster holds, but for the one that holds all of them."""
    parts = {part for pair in inside.values() for part in pair}
    leaves = {*np.unique(labels[labels >= 0]).tolist(), *(parts - inside.keys())}
    if wrong := sorted(leaves & inside.keys()):
        raise UsageError(f"`labels`: {wrong[0]} has parts; give the finest cluster of each text.")
    out = {leaf: frozenset([leaf]) for leaf in sorted(leaves)}
    for union, (one, other) in inside.items():
        out[union] = out[one] | out[other]
    return {i: held for i, held in out.items() if i not in inside or len(held) < len(leaves)}


@dataclass(frozen=True, eq=False)
class _Naming:
    """What names of the clusters of a tree are made of."""

    words: Mapping[int, ClusterWords]
    inside: Mapping[int, tuple[int, int]]
    below: Mapping[int, frozenset[int]]
    codes: Ints  # finest cluster of each text
    vectors: Floats | None  # around their mean
    found: dict[int, list[Candidate]] = field(default_factory=dict)

    def propose(self, number: int) -> Iterator[Proposal]:
        """Names for a cluster, best first."""
        parts = self.large_parts(number)
        own = combine(self.words[number], self.candidates(number), 1 if parts else SHORT)
        yield from self._covering(number, parts, own) if parts else own

    def candidates(self, number: int) -> list[Candidate]:
        """Words and phrases of a cluster, best first."""
        if number not in self.found:
            cluster, parts = self.words[number], self.large_parts(number)
            inside = np.zeros(len(cluster.rows), dtype=np.int64)
            for i, part in enumerate(parts, 1):
                inside[self._within(cluster, part)] = i
            several = inside if len(parts) > 1 else None
            self.found[number] = find_candidates(cluster, self.vectors, several)
        return self.found[number]

    def _within(self, cluster: ClusterWords, part: int) -> Bools:
        """Which texts of a union are in one of its parts."""
        return np.isin(self.codes[cluster.rows], list(self.below[part]))

    def large_parts(self, number: int) -> list[int]:
        """Up to three clusters that make up most of a union, largest first; none for others.

        The largest one that has two large parts is split until there are three. Large is a fifth of
        the texts. Those without words are left out.
        """
        least = LARGE_PART * self.words[number].size

        def large(part: int) -> list[int]:
            return [p for p in self.inside.get(part, ()) if self.words[p].size >= least]

        parts = large(number)
        while len(parts) < PARTS and (split := [p for p in parts if len(large(p)) > 1]):
            largest = min(split, key=self._by_size)
            parts = [*(part for part in parts if part != largest), *large(largest)]
        return sorted((p for p in parts if self.words[p].words), key=self._by_size)

    def _by_size(self, number: int) -> tuple[int, int]:
        return -self.words[number].size, number

    def _covering(
        self, number: int, parts: Sequence[int], own: Iterator[Proposal]
    ) -> Iterator[Proposal]:
        """Names for a union: the one of its own words, unless others leave out fewer texts.

        The others are made of the best phrases of each of these. A name leaves a part out if far
        fewer of its texts hold a phrase of the name than hold the part's best phrase.
        """
        first = next(own, None)
        if first is None or not len(first.held):  # a typical text
            yield from () if first is None else (first,)
            return
        cluster, parts = self.words[number], [part for part in parts if self.candidates(part)]
        heads = [self.candidates(part)[:HEADS] for part in parts]
        held = iter(cluster.held([list(head.stems) for some in heads for head in some])[1].T)
        heads = [[replace(head, touched=next(held)) for head in some] for some in heads]
        inside = [self._within(cluster, part) for part in parts]
        least = [
            COVERS * some[0].touched[part].mean() for some, part in zip(heads, inside, strict=True)
        ]

        def left_out(name: Proposal) -> int:
            return sum(
                name.held[part].mean() < low for part, low in zip(inside, least, strict=True)
            )

        whole = not left_out(first) and first.held.mean() >= ENOUGH
        others = [] if whole else _joined(heads)
        yield from sorted([first, *others], key=lambda n: (left_out(n), -round(n.held.mean(), 2)))
        yield from own


def _joined(heads: Sequence[Sequence[Candidate]]) -> Iterator[Proposal]:
    """Names of a phrase of each part, as far as there is room; those of the best phrases first."""
    for ranks in sorted(product(*map(range, map(len, heads))), key=sum):
        kept: list[Candidate] = []
        for some, rank in zip(heads, ranks, strict=True):
            if may_follow(some[rank], kept):
                kept.append(some[rank])
        if len(kept) > 1:
            yield extend(kept, [])
