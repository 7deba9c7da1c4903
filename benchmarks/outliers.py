"""How well outlier scores find odd sentences planted among the bundled support messages.

Average precision of the ranking: 1 if all planted sentences come first, their share if by chance.

    python benchmarks/outliers.py [METHOD ...]
"""

from __future__ import annotations

import sys

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


def main(methods: list[str]) -> None:
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


if __name__ == "__main__":
    main(sys.argv[1:] or ["kmeans", "average", "auto"])
