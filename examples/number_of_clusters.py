"""Find the number of clusters, then nest them in levels.

    python examples/number_of_clusters.py [FILE.csv]

TF-IDF vectors need no encoder, which is quick; leave out ``encoder`` for better clusters.
"""

import sys

from coterie import TwoStep, choose_n_clusters, read_corpus, sample
from coterie.hierarchy import describe_levels, nest


def main(source: str | None = None) -> None:
    texts = read_corpus(source).texts if source else sample().texts[:200]
    choice = choose_n_clusters(texts, encoder="tfidf-svd", random_state=0)
    print(f"{choice.n_clusters} clusters, plausible from {choice.low} to {choice.high}")
    print(choice.reason)

    model = TwoStep(choice.n_clusters, encoder="tfidf-svd", random_state=0).fit(texts)
    levels = nest(model.vectors_, model.labels_, levels=[2, choice.n_clusters])
    for number, clusters in enumerate(describe_levels(texts, levels, model.vectors_), 1):
        print(f"level {number}: " + "; ".join(f"{c.name} ({c.size})" for c in clusters))


if __name__ == "__main__":
    main(*sys.argv[1:])
