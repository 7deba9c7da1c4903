"""Find the number of clusters, then look at them in coarser cuts.

    python examples/number_of_clusters.py [FILE.csv]

Without a file, 200 of the bundled support messages are clustered.
"""

import sys

from coterie import TwoStep, choose_n_clusters, describe_clusters, read_corpus, sample


def main(source: str | None = None) -> None:
    texts = read_corpus(source).texts if source else sample().texts[:200]
    texts = [text for text in texts if text]
    choice = choose_n_clusters(texts, random_state=0)
    print(f"{choice.n_clusters} clusters, plausible from {choice.low} to {choice.high}")
    print(choice.reason)

    model = TwoStep(choice.n_clusters, random_state=0).fit(texts)
    for n in (2, choice.n_clusters):
        cut = model.tree_.cut(n)  # of each cluster, the one that it is part of
        numbers = sorted(set(cut.values()))
        labels = [numbers.index(cut[label]) for label in model.labels_]
        clusters = describe_clusters(texts, labels, model.vectors_)
        print(f"{n} clusters: " + "; ".join(f"{c.name} ({c.size})" for c in clusters))


if __name__ == "__main__":
    main(*sys.argv[1:])
