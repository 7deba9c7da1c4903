"""Find the number of clusters, then nest them in levels.

    python examples/number_of_clusters.py [FILE.csv]

Without a file, 200 of the bundled support messages are clustered.
"""

import sys

from coterie import TwoStep, choose_n_clusters, read_corpus, sample
from coterie.describe.hierarchy import describe_levels, nest


def main(source: str | None = None) -> None:
    texts = read_corpus(source).texts if source else sample().texts[:200]
    choice = choose_n_clusters(texts, random_state=0)
    print(f"{choice.n_clusters} clusters, plausible from {choice.low} to {choice.high}")
    print(choice.reason)

    model = TwoStep(choice.n_clusters, random_state=0).fit(texts)
    levels = nest(model.vectors_, model.labels_, levels=[2, choice.n_clusters])
    for number, clusters in enumerate(describe_levels(texts, levels, model.vectors_), 1):
        print(f"level {number}: " + "; ".join(f"{c.name} ({c.size})" for c in clusters))


if __name__ == "__main__":
    main(*sys.argv[1:])
