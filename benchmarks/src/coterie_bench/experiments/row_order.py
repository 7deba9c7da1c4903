"""How much a clustering depends on the order of the rows, beside how much on the seed.

ARI between the clusters of the same texts in the given order and in three random orders, with the
same seed; and between those of the given order with three other seeds.

    coterie-bench row-order [FILE.csv ...]

Without files it takes the bundled messages. Of a file the first 600 texts of the column text are
read.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from coterie import make_method, sample


def read(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)][:600]


def main(paths: list[Path]) -> None:
    sets = {path.stem: read(path) for path in paths}
    for name, texts in (sets or {"sample": [text for text in sample().texts if text]}).items():
        for method, settings in (("kmeans", {}), ("auto", {"effort": "quick"})):

            def labels(texts: list[str], seed: int) -> np.ndarray:
                made = make_method(method, 15, random_state=seed, **settings)  # noqa: B023
                return made.fit(texts).labels_

            base = labels(texts, 0)
            orders = [np.random.default_rng(i).permutation(len(texts)) for i in range(3)]
            moved = [
                adjusted_rand_score(base[order], labels([texts[i] for i in order], 0))
                for order in orders
            ]
            seeds = [adjusted_rand_score(base, labels(texts, seed)) for seed in (1, 2, 3)]
            shown = ["  ".join(f"{score:.2f}" for score in scores) for scores in (moved, seeds)]
            print(f"{name:20} {method:8} other order {shown[0]}   other seed {shown[1]}")


if __name__ == "__main__":
    main([Path(path) for path in sys.argv[1:]])
