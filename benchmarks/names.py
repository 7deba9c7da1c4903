"""Names of clusters without a language model: how often a name holds a word of the true class.

    python benchmarks/names.py --data DIR --out results/names.jsonl

DIR holds the development sets (``DIR/dev/NAME.csv`` with the columns text and label). Each set is
clustered by k-means on TF-IDF into 20 clusters. The class of a cluster is that of most of its
texts. Names by keywords, as they were, stand beside names by phrases. The last lines show some of
both to look at.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lines
import numpy as np

from coterie import make_method
from coterie.description.describe import keyword_names, make_names
from coterie.description.terms import Terms
from coterie.description.words import ClusterTerms
from coterie.words.stopwords import STOP_WORDS
from coterie.words.vocabulary import stem

SETS = ("arguments", "bill_titles", "covid_questions", "crisis_tweets", "insurance")
CLUSTERS = 20


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


def measure(path: Path) -> dict[str, Any]:
    """Cluster one set and name its clusters both ways."""
    csv.field_size_limit(1 << 28)
    with path.open(newline="", encoding="utf-8") as file:
        rows = sorted((row["text"], row["label"]) for row in csv.DictReader(file))
    texts, classes = [text for text, _ in rows], [label for _, label in rows]
    model = make_method("kmeans", CLUSTERS, encoder="tfidf-svd", random_state=0).fit(texts)
    labels = np.asarray(model.labels_)
    rows_of = [np.flatnonzero(labels == k) for k in range(CLUSTERS)]
    true = [Counter(classes[i] for i in rows).most_common(1)[0][0] for rows in rows_of]
    members = [[texts[i] for i in rows] for rows in rows_of]
    terms = ClusterTerms(Terms(texts, "auto"), labels, CLUSTERS)
    named = {"keywords": keyword_names(terms, members), "phrases": make_names(terms, members)}
    return {
        "set": path.stem,
        "texts": len(texts),
        "hits": {way: round(hits(names, true), 3) for way, names in named.items()},
        "words": {way: sum(len(n.split()) for n in names) / 20 for way, names in named.items()},
        "names": [
            {"class": true[k], "keywords": named["keywords"][k], "phrases": named["phrases"][k]}
            for k in range(CLUSTERS)
        ],
    }  # fmt: skip


def main() -> None:
    """Measure the sets, add the lines to the results, and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--out", type=Path, default=Path("results/names.jsonl"))
    options = parser.parse_args()
    for name in options.sets:
        row = measure(options.data / "dev" / f"{name}.csv")
        # Names have words of the texts: they are printed, and not kept.
        lines.append(options.out, {key: row[key] for key in row if key != "names"})
        print(row["set"], row["hits"], row["words"])
        for found in row["names"][:8]:
            print(f"    {found['keywords']} | {found['phrases']} | {found['class']}")


if __name__ == "__main__":
    main()
