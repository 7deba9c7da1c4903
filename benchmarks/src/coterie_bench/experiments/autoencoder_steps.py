"""How long to train ADSL's autoencoder, seen without labels.

For several numbers of steps: how often a text and its nearest neighbours by TF-IDF share a cluster
of Ward's linkage on the codes, beyond chance. Labels are not read.

    coterie-bench autoencoder-steps            # the bundled messages, 17 clusters
    coterie-bench autoencoder-steps DATA NAME  # a benchmark, at most 8,000 of its texts
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from coterie import ADSL, sample
from coterie.base.guard import nearest_neighbors, neighbor_agreement
from coterie.words import Vocabulary
from coterie_bench.datasets import load_dataset

STEPS = (250, 500, 1000, 1500, 3000)


def main() -> None:
    texts, k = [text for text in sample().texts if text], 17
    if len(sys.argv) > 2:
        data = load_dataset(sys.argv[2], sys.argv[1])
        chosen = np.random.default_rng(0).permutation(len(data.texts))[:8000]
        texts, k = [data.texts[i] for i in chosen], data.card.classes
    counts = Vocabulary.build(texts, max_size=3000, stems=True).counts(texts)
    rows = TfidfTransformer().fit_transform(counts).toarray().astype(np.float32)
    near = nearest_neighbors(rows, 0)
    for steps in STEPS:
        model = ADSL(k, epochs=0, ae_steps=steps, random_state=0, word_vectors="ppmi").fit(texts)
        print(f"{steps:5} steps: agreement {neighbor_agreement(model.labels_, *near):.3f}")


if __name__ == "__main__":
    main()
