"""How well outlier scores find odd sentences planted among the bundled support messages.

Average precision of the ranking: 1 if all planted sentences come first, their share if by chance.
With ``--sets`` it measures marking instead. A method is
fitted on half of the texts of a set, at most 750, and marks with ``--max-outliers 5%``; the limit
is then applied to the other half. The same again with 4% of texts of another set in both halves.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from coterie import make_method, sample

ODD = """\
Whisk three eggs with sugar until the mixture is pale and fluffy.
The moons of Jupiter were first seen by Galileo in 1610.
My grandmother's cat sleeps on the piano all afternoon.
Photosynthesis turns sunlight and carbon dioxide into sugar.
The striker scored twice in the second half of the final.
Medieval monks copied manuscripts by candlelight.
Stir the risotto slowly and add the broth one ladle at a time.
Glaciers in the Alps have lost a third of their ice.
She plays the cello in a quartet every Thursday.
The prime minister resigned after losing the vote.
Volcanic ash makes very fertile soil.
He climbed the north face without oxygen.
Bees communicate the direction of flowers by dancing.
The novel is told from the point of view of a horse.
A prime number has exactly two divisors.
Tomorrow will be cloudy with showers in the west.
The bridge was built by Roman engineers.
Quantum computers use superposition of states.
Our dog is afraid of thunder and fireworks.
The opera ends with the death of the heroine.
Plant the tulip bulbs in October, ten centimetres deep.
The marathon route passes the old harbour.
Interest rates were raised by the central bank.
Penguins breed on the sea ice in winter.
lorem ipsum dolor sit amet consectetur
The chess champion sacrificed her queen on move twelve."""


def main() -> None:
    """Rank planted sentences, or with ``--sets`` measure marking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--sets", type=Path, metavar="FOLDER", help="CSV files with a column text")
    options = parser.parse_args()
    if options.sets:
        marking(options.sets, options.methods or ["kmeans", "auto"])
    else:
        ranking(options.methods or ["kmeans", "average", "auto"])


def ranking(methods: list[str]) -> None:
    texts = [*sample().texts, *ODD.splitlines()]
    odd = np.arange(len(texts)) >= len(texts) - len(ODD.splitlines())
    for method in methods:
        model = make_method(method, 17, random_state=0).fit(texts)
        placed = model.labels_ >= 0
        x, labels, truth = model.vectors_[placed], model.labels_[placed], odd[placed]
        near = NearestNeighbors(n_neighbors=11).fit(x).kneighbors(x)[0][:, 1:].mean(axis=1)
        usual = {i: float(np.median(near[labels == i])) or 1.0 for i in np.unique(labels)}
        ways = {
            "coterie's outlier score": model.outlier_scores()[placed],
            "one minus confidence": 1 - model.probabilities_[placed].max(axis=1),
            "as coterie's, but relative to the own cluster": near / [usual[i] for i in labels],
            "local outlier factor, 10 neighbours": -LocalOutlierFactor(10)
            .fit(x)
            .negative_outlier_factor_,
        }
        print(f"\n{method}, {len(x)} texts, {int(truth.sum())} planted")
        for name, scores in ways.items():
            print(f"  {average_precision_score(truth, scores):.2f}  {name}")
        marked = model.mark_outliers("3%")[placed]
        print(f"  --max-outliers 3% marks {marked.sum()}, planted ones {int(marked[truth].sum())}")


def marking(folder: Path, methods: list[str]) -> None:
    """Share of texts marked: of clean sets, of planted texts, and of the others beside them."""
    sets = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            sets[path.stem] = list(dict.fromkeys(row["text"] for row in csv.DictReader(file)))
    sets["sample"] = list(dict.fromkeys(text for text in sample().texts if text))
    for method in methods:
        print(f"\n{method}: % marked in clean texts (fitted, new); of planted texts (fitted, new); "
              "of the texts beside them (fitted, new)")  # fmt: skip
        lines = []
        for i, name in enumerate(sets):
            lines.append(_marked(method, list(sets.values()), i))
            print(f"  {name:20}" + "".join(f"{100 * share:6.1f}" for share in lines[-1]))
        print(f"  {'mean':20}" + "".join(f"{100 * share:6.1f}" for share in np.mean(lines, axis=0)))


def _marked(method: str, sets: list[list[str]], i: int) -> list[float]:
    rng = random.Random(i)
    texts, foreign = (rng.sample(part, len(part)) for part in (sets[i], sets[(i + 3) % len(sets)]))
    n = min(750, len(texts) // 2)
    odd = round(0.04 * n)
    fitted, new = texts[:n], texts[n : 2 * n]
    out = []
    for planted in ([], foreign[:odd]):
        model = make_method(method, 15, random_state=0).fit([*fitted, *planted])
        marked = model.mark_outliers("5%")
        beside = model.predict(new, outliers=True) == -1
        if planted:
            found = model.predict(foreign[odd : 2 * odd], outliers=True) == -1
            out += [marked[n:].mean(), found.mean()]
        out += [marked[:n].mean(), beside.mean()]
    return [float(share) for share in out]
