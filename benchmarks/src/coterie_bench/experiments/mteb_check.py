"""Whether the clustering evaluation of mteb and our V-measure agree on a fitted encoder.

coterie-bench mteb-check --data DIR [--dataset tweet] [--steps 20]

Needs mteb, which coterie does not: install it into an environment of its own. The encoder is
trained by a few steps of SCCL and handed to a task of mteb, whose texts are replaced by those of
the data set. mteb clusters its vectors (mini-batch k-means) and scores the clusters; we score the
very same clusters, and also ours.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from coterie.methods import make_method
from coterie.metrics import v_measure
from coterie_bench.data import load_data

TASK = "TwentyNewsgroupsClustering"  # any clustering task of texts: its data are not used
ALIKE = 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--dataset", default="tweet")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    asked = parser.parse_args()
    data = load_data(asked.dataset, asked.data)
    model = make_method(
        "sccl", data.n_clusters, encoder=asked.encoder, steps=asked.steps, batch_size=64,
        random_state=0, guard=False, device="cpu",
    ).fit(data.texts)  # fmt: skip
    theirs, labels, vectors = evaluate(model, data.texts, data.labels)
    ours = v_measure(data.labels, labels)
    print(json.dumps({
        "dataset": asked.dataset,
        "mteb": round(theirs, 6),
        "coterie, same clusters": round(ours, 6),
        "coterie, its own clusters": round(v_measure(data.labels, model.labels_), 6),
        "largest difference of vectors": float(np.abs(vectors - model.vectors_).max()),
    }, indent=2))  # fmt: skip
    return 0 if abs(theirs - ours) < ALIKE else 1


def evaluate(model: Any, texts: list[str], truth: list[str]) -> tuple[float, list[int], Any]:
    """V-measure by mteb, the clusters that it made, and the vectors that it was given."""
    import mteb
    from datasets import Dataset
    from mteb._evaluators import ClusteringEvaluator

    kept: dict[str, Any] = {}

    class Keeping(ClusteringEvaluator):
        def __call__(self, *args: Any, **kwargs: Any) -> list[int]:
            kept["labels"] = super().__call__(*args, **kwargs)
            return kept["labels"]

    class Fitted(mteb.models.abs_encoder.AbsEncoder):
        """The encoder as mteb calls it."""

        mteb_model_meta = None

        def __init__(self) -> None:
            self.model_prompts = None

        def encode(self, inputs: Any, **kwargs: Any) -> Any:
            kept["vectors"] = model.transform([t for batch in inputs for t in batch["text"]])
            return kept["vectors"]

    task = mteb.get_task(TASK)
    codes = np.unique(truth, return_inverse=True)[1].tolist()
    columns = {task.input_column_name: [texts], task.label_column_name: [codes]}
    task.dataset = {"default": {"test": Dataset.from_dict(columns)}}
    task.data_loaded = True
    task.evaluator = Keeping
    found = task.evaluate(Fitted(), split="test", encode_kwargs={"batch_size": 256})
    return float(found["default"]["v_measure"]), kept["labels"], kept["vectors"]


if __name__ == "__main__":
    sys.exit(main())
