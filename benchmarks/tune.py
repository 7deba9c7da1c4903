"""What it brings and costs to train all of the encoder, its last layers, a low-rank part, nothing.

    python benchmarks/tune.py --data DIR                 # adds what is missing
    python benchmarks/tune.py --table                    # prints the table

SCCL on a random sample of StackOverflow, with few steps, on the CPU. All ways begin from the same
k-means, have the same batches and take their labels from the clustering head, since "heads" leaves
the vectors as they are. Scores are those of the trained labels, before the guard has its say.
Labels are used for scoring alone. Seconds are told for each way and should be compared within one
call: the ways take turns, so that a busy hour hits all of them.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import lines
import numpy as np

from coterie import SCCL
from coterie.bench.run import load_data
from coterie.metrics import external_scores

DATASET = "stackoverflow"
# "lora" begins at zero and wants larger steps; its second rate is for that.
WAYS = (
    ("full", 1.0), ("last-2", 1.0), ("last-1", 1.0), ("lora", 1.0), ("lora", 20.0), ("heads", 1.0),
)  # fmt: skip
SAMPLE = 1  # seed of the sample of texts


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    data = load_data(DATASET, options.data)
    chosen = np.random.default_rng(SAMPLE).permutation(len(data.texts))[: options.texts]
    texts, truth = ([rows[i] for i in chosen] for rows in (data.texts, data.labels))
    key = {"dataset": DATASET, "n_texts": len(texts), "steps": options.steps}
    for seed in range(options.seeds):
        for tune, times in WAYS:
            row = {**key, "tune": tune, "lr_times": times, "seed": seed}
            if lines.has(lines.read(options.out), **row):
                continue
            row |= run(texts, truth, data.n_clusters, row)
            lines.append(options.out, row | {"dataset_sha256": data.sha256})
            print(f"{tune}, rate x {times:g}, seed {seed}: {lines.scores(row)}", flush=True)


def run(texts: list[str], truth: list[str], k: int, row: dict[str, Any]) -> dict[str, Any]:
    """One fit: its scores and the start's, its seconds, and what was trained."""
    load = os.getloadavg()[0]
    model = SCCL(
        k,
        tune=row["tune"],
        lr=SCCL.lr * row["lr_times"],
        labels="head",
        steps=row["steps"],
        random_state=row["seed"],
        device="cpu",
    ).fit(texts)
    assert model.guard_ is not None
    if model.trained_labels_ is None:
        raise SystemExit(f"training broke down: {model.guard_.reason}")
    return {
        "label": f"SCCL, {row['tune']}",
        "scores": external_scores(truth, model.trained_labels_),
        "start_scores": external_scores(truth, model.start_labels_),
        "guard": model.guard_.to_dict(),
        "seconds": model.seconds_,
        "ms_per_step": 1000 * model.seconds_["train"] / row["steps"],
        "trained_parameters": model.trained_parameters_,
        "load_before": load,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Means over the seeds of the largest setting, "full" first; time as a share of its time."""
    if not rows:
        return "nothing yet"
    size = max((row["n_texts"], row["steps"]) for row in rows)
    rows = [row for row in rows if (row["n_texts"], row["steps"]) == size]
    groups = {way: [r for r in rows if (r["tune"], r["lr_times"]) == way] for way in WAYS}
    full = np.mean([row["ms_per_step"] for row in groups[WAYS[0]]]) if groups[WAYS[0]] else np.nan
    body = [["start", "", "", "", _mean(rows, "start_scores"), ""]]
    for (tune, times), group in groups.items():
        if group:
            time = np.mean([row["ms_per_step"] for row in group]) / full
            trained = f"{group[0]['trained_parameters']['encoder']:,}"
            cells = [tune, f"{times:g}", trained, f"{time:.2f}", _mean(group, "scores")]
            body.append([*cells, str(len(group))])
    header = ["tune", "rate, times", "encoder's numbers", "time of a step", "ACC / NMI", "seeds"]
    return lines.table(header, body)


def _mean(rows: list[dict[str, Any]], key: str) -> str:
    values = {name: np.mean([row[key][name] for row in rows]) for name in ("acc", "nmi")}
    return lines.scores({"scores": values})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("COTERIE_DATA"))
    parser.add_argument("--out", type=Path, default=Path("results/tune.jsonl"))
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
