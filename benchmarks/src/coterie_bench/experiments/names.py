"""Names of clusters without a language model, and central examples, against true classes.

    coterie-bench names --data DIR [--method auto]

Up to 2,000 texts of each development set are clustered into as many clusters as there are classes.
The class of a cluster is that of most of its texts. Names stand beside the three best keywords.
Some of both are printed, to look at.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie import describe, make_method
from coterie.words.stopwords import STOP_WORDS
from coterie.words.vocabulary import stem
from coterie_bench.datasets import load_dataset
from coterie_bench.experiments import lines

SETS = (
    "arguments", "attack_techniques", "bill_titles", "bird_names", "book_titles", "bot_messages",
    "citations", "contract_clauses", "covid_questions", "crisis_tweets", "diagnoses", "food_names",
    "groceries", "ingredient_lines", "insurance", "job_titles", "news_stories",
    "newsgroup_subjects", "product_titles", "robot_questions", "shop_categories", "survey_causes",
    "tariff", "text_kinds",
)  # fmt: skip
WAYS = ("keywords", "names")
MOST = 2_000  # texts of a set
FIGURES = {
    "hits": "word of the class",
    "covered": "texts covered",
    "distinct": "of these in the cluster",
    "phrase": "one phrase",
}


def stems_of(text: str) -> set[str]:
    """Stems of the words of a name or label, without stop words; ``GetQuote`` is two words."""
    text = re.sub(r"^(?:train|dev|test)\d+_\d+ ", "", text)  # numbers of the arguments' key points
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    words = re.findall(r"[^\W\d_]{3,}", text.casefold())
    return {stem(word) for word in words if word not in STOP_WORDS["en"]}


def words_of(text: str) -> list[str]:
    """Stems of the words of a text, without stop words; those of a compound one by one."""
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)?", text.casefold().replace("-", " ").replace("’", "'"))
    return [stem(word.split("'")[0]) for word in words if word not in STOP_WORDS["en"]]


def judge(name: str, true: str, inside: Sequence[bool], held: Sequence[set[str]]) -> dict[str, Any]:
    """Figures of one name: ``inside`` tells the texts of its cluster, ``held`` has their words.

    A text is covered if it holds a word of the name; distinct is the share of the words that texts
    have in common with the name that are in the cluster.
    """
    words, here = set(words_of(name)), np.asarray(inside)
    common = np.array([len(words & text) for text in held])
    return {
        "hits": bool(stems_of(name) & stems_of(true)),
        "covered": float((common[here] > 0).mean()),
        "distinct": float(common[here].sum() / max(common.sum(), 1)),
        "phrase": "," not in name and " " in name,
        "words": len(name.split()),
    }


def cases(options: Namespace) -> list[lines.Row]:
    return [{"set": name, "method": options.method} for name in SETS]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """Cluster one set and name its clusters both ways."""
    data = load_dataset(key["set"], options.data)
    rows = sorted(zip(data.texts, data.labels, strict=True))
    rows = [rows[i] for i in np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST])]
    texts, classes = [text for text, _ in rows], [label for _, label in rows]
    model = make_method(key["method"], len(set(classes)), random_state=0).fit(texts)
    labels = np.unique(model.labels_, return_inverse=True)[1]
    held = [set(words_of(text)) for text in texts]
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    central, size = [], []
    for cluster in describe(texts, labels, model.transform(texts)):
        inside = labels == cluster.id
        true = Counter(classes[i] for i in np.flatnonzero(inside)).most_common(1)[0][0]
        keywords = ", ".join(word for word, _ in cluster.words[:3]).capitalize()
        for way, name in zip(WAYS, (keywords, cluster.name), strict=True):
            found[way].append(judge(name, true, inside, held))
        print(f"    {keywords} | {cluster.name} | {true}")  # words of the texts: shown, not kept
        own = {text: label for text, label in zip(texts, classes, strict=True)}
        central.append(float(np.mean([own[text] == true for text in cluster.examples] or [0])))
        size.append(int(inside.sum()))
    figures = (*FIGURES, "words")
    return {
        "texts": len(texts),
        "clusters": len(size),
        "examples": round(float(np.mean(central)), 3),
        "examples_weighted": round(float(np.average(central, weights=size)), 3),
        **{
            figure: {way: round(float(np.mean([f[figure] for f in found[way]])), 3) for way in WAYS}
            for figure in figures
        },
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Figures of names, keywords before names, and the share of examples of the main class."""
    rows = [row for row in rows if "covered" in row]
    mean = {
        "set": f"mean of {len(rows)} sets",
        "examples": np.mean([row["examples"] for row in rows]),
        **{
            figure: {way: np.mean([row[figure][way] for row in rows]) for way in WAYS}
            for figure in (*FIGURES, "words")
        },
    }
    body = []
    for row in [*rows, mean]:
        pairs = [" → ".join(f"{100 * row[f][way]:.0f}" for way in WAYS) for f in FIGURES]
        words = " → ".join(f"{row['words'][way]:.1f}" for way in WAYS)
        body.append((row["set"], *pairs, words, f"{100 * row['examples']:.0f}"))
    head = ("set", *(f"{name}, %" for name in FIGURES.values()), "words", "examples, %")
    return lines.table(head, body)


OPTIONS = {"--method": "auto"}
main = lines.Experiment("names", __doc__, cases, measure, table, OPTIONS)
