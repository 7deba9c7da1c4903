"""Cluster texts, name the clusters, save the model, and label new texts with it.

    python examples/cluster_texts.py [FILE.csv] [OUT]

Without a file, 200 of the bundled support messages are clustered.
"""

import sys
from pathlib import Path

from coterie import Auto, describe_clusters, load, read_corpus, sample


def main(source: str | None = None, out: str = "clusters") -> None:
    texts = read_corpus(source).texts if source else sample().texts[:200]
    model = Auto(9, effort="quick", random_state=0).fit(texts)
    for cluster in describe_clusters(texts, model.labels_):
        print(f"{cluster.size:4}  {cluster.name}")

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model")  # safetensors and JSON

    new = ["Where is my parcel?", "The app crashes when I open it."]
    again = load(folder / "model")
    for text, label, shares in zip(new, again.predict(new), again.predict_proba(new), strict=True):
        print(f"cluster {label}, confidence {shares.max():.2f}: {text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
