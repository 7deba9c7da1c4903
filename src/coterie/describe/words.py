"""Words that set a cluster apart: TF-IDF with clusters in the place of documents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coterie._util.random import some_rows
from coterie._util.types import Bools, Floats, Ints
from coterie.describe.terms import Terms, unique_rows, weigh
from coterie.texts.words.cutting import ENDING, NO_BLANKS

TAKES_OVER = 0.5  # a pair is shown for its words if so many of the texts with either have it
GROWS = 0.8  # characters join a word of a script without blanks if so many of its texts have them
FLOOR = 0.05  # words as frequent here as everywhere keep this, so that a lone cluster has some
ALPHABET = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # a sign is less than a word
SUPPORT = 0.03  # share of a cluster's texts that hold a phrase of its name
FILLER = 0.1  # what a word of a phrase costs that is not characteristic, in weights of the best
OFTEN = 0.3  # power of the number of texts that hold a phrase
COMPLETE = 0.5  # share of the places of a phrase that have the same word beside it
TYPICAL = 0.7  # quantile of the weight of the words a text holds
LOOKED_AT = 150  # best terms of a cluster that are worth a closer look
LARGE = 2_000  # texts of a union in which phrases are looked for


@dataclass(frozen=True)
class Term:
    """A word or phrase of one cluster.

    Attributes
    ----------
    text : str
        As shown, in lower case.
    parts : tuple of int
        Stems of its telling words.
    form : tuple of int
        Its words.
    count : int
        Texts of the cluster that hold it.
    weight : float
        Its share of the cluster's texts times the log of how much larger that share is than in
        all texts.
    """

    text: str
    parts: tuple[int, ...]
    form: tuple[int, ...]
    count: int
    weight: float


class ClusterTerms:
    """Which terms each cluster holds, and how much they say; item ``i`` is cluster ``i``.

    Parameters
    ----------
    terms : Terms
    labels : ndarray of shape (n,)
        -1 marks texts without a cluster; they do not count.
    n_clusters : int
    unions : sequence of sequence of int, optional
        Further clusters, which follow the others: the numbers of those that each holds. Totals
        count no text twice. Phrases of a large one are those of some of its texts.
    """

    def __init__(
        self, terms: Terms, labels: Ints, n_clusters: int, unions: Sequence[Sequence[int]] = ()
    ) -> None:
        from scipy.sparse import csr_matrix, vstack

        self.terms = terms
        placed = np.flatnonzero(labels >= 0)
        self.sizes = np.bincount(labels[placed], minlength=n_clusters)
        self.n = max(len(placed), 1)
        ones = np.ones(len(placed), dtype=np.float32)
        members: Any = csr_matrix((ones, (labels[placed], placed)), shape=(n_clusters, terms.n))
        self.groups = [terms.single, terms.pairs]
        self.counts = [members @ group.presence for group in self.groups]
        for counts in self.counts:
            counts.sort_indices()
        self.totals = [np.asarray(counts.sum(axis=0))[0] for counts in self.counts]
        of_word = labels[terms.row]
        order = np.argsort(of_word, kind="stable")  # places of words, one cluster after another
        words = np.split(order, np.searchsorted(of_word[order], np.arange(n_clusters + 1)))[1:-1]
        rows = np.split(members.indices.astype(np.int64), members.indptr[1:-1])
        if unions:
            where = np.repeat(np.arange(len(unions)), [len(union) for union in unions])
            held = (np.ones(len(where), np.float32), (where, np.concatenate(unions)))
            holds: Any = csr_matrix(held, shape=(len(unions), n_clusters))
            self.counts = [vstack([counts, holds @ counts], "csr") for counts in self.counts]
            for counts in self.counts:
                counts.sort_indices()
            self.sizes = np.append(self.sizes, [self.sizes[list(union)].sum() for union in unions])
            for union in unions:
                inside = np.sort(np.concatenate([rows[i] for i in union]))
                rows.append(inside[some_rows(len(inside), LARGE, 0, "unions")])
                words.append(np.flatnonzero(np.isin(terms.row, rows[-1])))
        self._clusters = [ClusterWords(self, i, rows[i], words[i]) for i in range(len(self.sizes))]

    def __getitem__(self, i: int) -> ClusterWords:
        return self._clusters[i]

    def __len__(self) -> int:
        return len(self._clusters)

    def __iter__(self) -> Iterator[ClusterWords]:
        return iter(self._clusters)

    def profile(self) -> Any:
        """Share of each stem in each cluster, as a sparse matrix of unit rows."""
        return weigh(self.counts[0], self.totals[0], self.n)


@dataclass(frozen=True, eq=False)
class ClusterWords:
    """The texts and words of one cluster.

    Attributes
    ----------
    corpus : ClusterTerms
        Of all clusters.
    number : int
    rows : ndarray of int
        Of its texts; of some of them, if it is a large union.
    places : ndarray of int
        Of the words of these among all words.
    """

    corpus: ClusterTerms
    number: int
    rows: Ints
    places: Ints

    @property
    def terms(self) -> Terms:
        """Those of all clusters."""
        return self.corpus.terms

    @cached_property
    def texts(self) -> list[str]:
        """Its texts."""
        return [self.terms.texts[row] for row in self.rows]

    @property
    def size(self) -> int:
        """Number of its texts, one at least."""
        return max(int(self.corpus.sizes[self.number]), 1)

    @property
    def enough(self) -> int:
        """Texts that must hold a phrase: two, if the cluster has more than one."""
        return min(2, len(self.rows))

    @property
    def different(self) -> float:
        """Number of its texts, where n near copies of one count as sqrt(n)."""
        return float(self.terms.counted[self.rows].sum())

    @cached_property
    def words(self) -> list[Term]:
        """The words that say most, best first."""
        return self.best(1)

    def best(self, length: int) -> list[Term]:
        """The terms of one or two words that say most, best first."""
        group, totals = self.corpus.groups[length - 1], self.corpus.totals[length - 1]
        term, count = self._counts(length)
        keep = totals[term] >= self.terms.least
        term, count = term[keep], count[keep]
        share = count / self.size
        ratio = share / (totals[term] / self.corpus.n)
        weight = share * np.maximum(np.log(ratio), FLOOR)
        order = np.lexsort((term, -np.round(weight, 9)))[:LOOKED_AT]
        form = group.forms[term[order]]
        columns = form, group.parts[term[order]], count[order], weight[order]
        return [
            Term(self.terms.text(words), tuple(parts), tuple(words), int(often), weighs)
            for words, parts, often, weighs in zip(*(c.tolist() for c in columns), strict=True)
        ]

    def characteristic(self) -> list[Term]:
        """The words that are more frequent in the cluster than elsewhere, if there are any."""
        found = [t for t in self.words if t.weight > 1.01 * FLOOR * t.count / self.size]
        return found or self.words

    def phrases(self, longest: int) -> list[Term]:
        """Phrases of two to ``longest`` words that are in enough texts, the best first.

        Enough are two texts of a cluster, and 3% of them; n near copies of one count as sqrt(n), so
        that three make no phrase and a template does. A phrase begins and ends with
        characteristic words. Its weight is the sum of those of its characteristic words, less 0.3
        weights of the best word for each other one, but for negations. Inflected forms are one
        phrase, in the most frequent form.
        """
        terms = self.terms
        weights = np.zeros(int(terms.stem.max(initial=-1)) + 1)
        for term in self.characteristic():
            weights[term.parts[0]] = term.weight
        best = weights.max(initial=0.0)
        if best <= 0:
            return []
        word, stem, row, solid, use = self._running
        value = np.where(use, weights[stem], 0.0)
        value[value < FLOOR * best] = 0.0
        out: list[tuple[float, Term]] = []
        begins = np.flatnonzero(value > 0)
        least = max(min(2, self.different), SUPPORT * self.different) - 1e-9
        for length in range(2, longest + 1):
            window = begins[begins <= len(word) - length][:, None] + np.arange(length)
            good = (row[window[:, 0]] == row[window[:, -1]]) & (value[window[:, -1]] > 0)
            window = window[good]
            window = window[solid[window].all(axis=1)]
            stems = np.where(value[window] > 0, stem[window], -1 - np.arange(length))
            apart = np.sort(stems, axis=1)
            window = window[(np.diff(apart, axis=1) != 0).all(axis=1)]
            place = unique_rows(stem[window], len(terms.words))[1]
            once = unique_rows(np.stack([place, row[window[:, 0]]], axis=1), terms.n)[0]
            counts = np.bincount(once[:, 0])
            enough = np.bincount(once[:, 0], terms.counted[once[:, 1]]) >= least
            window, place, counts = window[enough[place]], place[enough[place]], counts[enough]
            if not len(window):
                continue
            shapes, _, often = unique_rows(word[window], len(terms.words))
            key_of = unique_rows(terms.stem[shapes], len(terms.words))[1]
            order = np.lexsort((*shapes.T[::-1], -often, key_of))
            forms = shapes[order[np.unique(key_of[order], return_index=True)[1]]]
            values = value[window[np.unique(place, return_index=True)[1]]]
            linking = (values == 0) & ~terms.negation[forms]
            weight = values.sum(axis=1) - FILLER * best * linking.sum(axis=1)
            score = weight * counts**OFTEN
            keep = np.flatnonzero(weight > 0)
            for i in keep[np.argsort(-np.round(score[keep], 9), kind="stable")][:LOOKED_AT]:
                form = tuple(map(int, forms[i]))
                parts = tuple(
                    int(terms.stem[w]) for w, v in zip(form, values[i], strict=True) if v > 0
                )
                term = Term(terms.text(forms[i]), parts, form, int(counts[i]), float(weight[i]))
                out.append((float(score[i]), term))
        out.sort(key=lambda pair: (-round(pair[0], 9), pair[1].text))
        return [term for _, term in out]

    @cached_property
    def _running(self) -> tuple[Ints, Ints, Ints, Bools, Bools]:
        """Its words one after another, stems, rows, which may be in phrases, and which count."""
        terms, places = self.terms, self.places[~self.terms.passed[self.places]]
        word, row = terms.word[places], terms.row[places]
        return word, terms.stem[word], row, terms.solid[places], terms.use[places]

    def complete(self, form: tuple[int, ...], longest: int) -> tuple[int, ...]:
        """A word or phrase with the words that mostly stand beside it in a cluster.

        "Red" becomes "Red Sox", and "proof" becomes "proof of insurance", if most of the places
        where the one is are the other, whatever their inflection. Stop words complete nothing, but
        "log" becomes "log in", and a negation beside a phrase stays.
        """
        stem = self.terms.stem
        _, running, row, _, _ = self._running
        start = np.flatnonzero(running == stem[form[0]])
        for i, part in enumerate(form[1:], 1):
            start = start[start + i < len(running)]
            start = start[(running[start + i] == stem[part]) & (row[start + i] == row[start])]
        while len(start) >= max(2, min(3, len(self.rows))):
            for side in (1, -1):
                found = self._beside(start, len(form) if side > 0 else -1, side)
                more = (*form, *found) if side > 0 else (*found, *form)
                if found and len(more) <= longest and len({*stem[list(more)]}) == len(more):
                    form, start = more, start if side > 0 else start - len(found)
                    break
            else:
                break
        return form

    def _beside(self, start: Ints, gap: int, step: int) -> tuple[int, ...]:
        """The word at a distance from most of some places, or two if the nearer is a link."""
        terms, (word, _, row, solid, _) = self.terms, self._running
        at = start[:, None] + gap + step * np.arange(2)
        inside = (at >= 0) & (at < len(word))
        at[~inside] = 0
        near, far = np.where(inside & solid[at] & (row[at] == row[start][:, None]), word[at], -1).T
        more = (far >= 0) & terms.telling[far]
        ends = terms.telling[near] | terms.negation[near]
        one = (near >= 0) & (ends | ((step > 0) & terms.particle[near] & ~more))
        two = (near >= 0) & ~ends & more
        runs = np.stack([near, np.where(one, -1, far)], axis=1)[one | two]
        if len(runs) <= COMPLETE * len(start):  # then none of them is often enough
            return ()
        stems = np.where(runs >= 0, terms.stem[runs] + 1, 0)
        _, which, often = unique_rows(stems, len(terms.words) + 1)
        if often.max() <= COMPLETE * len(start) or often.max() < min(3, len(self.rows)):
            return ()
        forms, _, counts = unique_rows(runs[which == often.argmax()] + 1, len(terms.words) + 1)
        return tuple(int(i) - 1 for i in forms[counts.argmax()][::step] if i)

    def held(self, stems: Sequence[Sequence[int]]) -> tuple[Bools, Bools]:
        """For each text and each list of stems, whether the text holds all of them, and any."""
        used = np.unique([stem for some in stems for stem in some])
        known = self.terms.single.parts[:, 0]  # without words that are only in greetings
        column = np.minimum(np.searchsorted(known, used), len(known) - 1)
        presence = self.terms.single.presence[self.rows][:, column].toarray()
        presence *= known[column] == used
        needs = np.zeros((len(used), len(stems)), dtype=np.float32)
        for i, some in enumerate(stems):
            needs[np.searchsorted(used, list(some)), i] = 1
        count = presence @ needs
        return count == needs.sum(axis=0), count > 0

    def typical(self) -> str:
        """The shortest of the texts that hold most characteristic words; empty if none has any."""
        if not (words := self.characteristic()):
            return ""
        held = self.held([word.parts for word in words])[0]
        score = held @ np.array([word.weight for word in words])
        near = np.flatnonzero(score >= np.quantile(score, TYPICAL))
        return min((len(self.texts[i]), self.texts[i]) for i in near)[1]

    def shown(self, count: int, text: str, others: Iterable[str] = ()) -> str:
        """How to show a term that ``count`` texts hold; empty if it is a piece of a word."""
        if not NO_BLANKS.match(text):
            return text
        if not (self.terms.cut and ALPHABET.match(text)):  # there a particle is several letters
            text = grow(text, self.texts)
        piece = unicodedata.category(text[0]) == "Mn" or (len(text) < 3 and ALPHABET.match(text))
        if piece or count < self.enough or any(_overlap(text, o) for o in others):
            return ""
        return text

    def frequent(self) -> tuple[Ints, Floats]:
        """The stems that most of the texts hold, and the share of the texts that do."""
        term, count = self._counts(1)
        order = np.lexsort((term, -count))[:LOOKED_AT]
        return term[order].astype(np.int64), count[order] / self.size

    def shares(self, stems: Ints) -> Floats:
        """Share of the texts that hold each of the stems."""
        term, count = self._counts(1)
        if not len(term):
            return np.zeros(len(stems))
        place = np.minimum(np.searchsorted(term, stems), len(term) - 1)
        share = np.where(term[place] == stems, count[place], 0) / self.size
        return np.asarray(share, dtype=np.float64)

    def precision(self, stem: int) -> float:
        """Share of the texts with a stem that are in the cluster."""
        return self._precision.get(stem, 0.0)

    @cached_property
    def _precision(self) -> dict[int, float]:
        term, count = self._counts(1)
        share = count / np.maximum(self.corpus.totals[0][term], 1)
        stems = self.terms.single.parts[term, 0]
        return dict(zip(stems.tolist(), share.tolist(), strict=True))

    def _counts(self, length: int) -> tuple[Ints, Floats]:
        """Terms of a length that the cluster holds, and how many of its texts do."""
        counts = self.corpus.counts[length - 1]
        inside = slice(counts.indptr[self.number], counts.indptr[self.number + 1])
        return counts.indices[inside], counts.data[inside]


def top_words(cluster: ClusterWords, n_words: int = 10) -> list[tuple[str, float]]:
    """The most telling words and pairs of a cluster, best first, each word in one of them only."""
    seen: set[int] = set()
    single = cluster.words
    often = {term.parts[0]: term.count for term in single}
    pairs = [
        pair
        for pair in cluster.best(2)
        if pair.count >= cluster.enough
        and pair.count >= TAKES_OVER * max(often.get(part, pair.count) for part in pair.parts)
    ]
    out: dict[str, float] = {}
    for term in single:
        if len(out) >= n_words:
            break
        if set(term.parts) & seen:
            continue
        larger = [p for p in pairs if set(term.parts) < set(p.parts) and not set(p.parts) & seen]
        taken = max(larger, key=lambda p: p.count, default=term)
        seen |= set(taken.parts)
        if text := cluster.shown(taken.count, taken.text, out):
            out[text] = taken.weight
    ranked = sorted(out.items(), key=lambda item: (-item[1], item[0]))
    return [(text, round(weight, 4)) for text, weight in ranked]


def grow(gram: str, texts: Sequence[str], longest: int = 16) -> str:
    """Lengthen characters of a script without blanks while most of their texts agree.

    Examples
    --------
    >>> grow("ืนเ", ["ขอคืนเงิน", "คืนเงินช้า", "ยังไม่คืนเงิน"])
    'คืนเงิน'
    """
    if not NO_BLANKS.match(gram):
        return gram
    found = [text for text in texts if gram in text]
    while len(gram) < longest and found:
        around: dict[str, int] = {}
        for text in found:
            at = text.index(gram)
            before, behind = text[at - 1 : at], text[at + len(gram) :][:1]
            for more, longer in {(before, before + gram), (behind, gram + behind)}:
                if NO_BLANKS.match(more) and not ENDING.match(more):
                    around[longer] = around.get(longer, 0) + 1
        best = max(sorted(around), key=lambda longer: around[longer], default="")
        if len(found) < 2 or not best or around[best] < GROWS * len(found):
            break
        gram = best
        found = [text for text in found if gram in text]
    return gram


def _overlap(a: str, b: str) -> bool:
    """Whether one holds a pair of characters of the other."""
    return any(b[i : i + 2] in a for i in range(max(len(b) - 1, 1)))
