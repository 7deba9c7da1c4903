"""What it brings and costs to train all of the encoder, its last layers, a low-rank part, nothing.

    coterie-bench tune --data DIR --steps 10                            # time, on a CPU
    coterie-bench tune --data DIR --device cuda --steps 500 --seeds 3   # scores
    coterie-bench tune --table                                          # prints the table

SCCL on a random sample of StackOverflow. All ways begin from the same k-means, have the same
batches and take their labels from the clustering head, since "heads" leaves the vectors as they
are; "frozen" learns from EDA pairs, all others from two dropout masks. Scores are those of the
trained labels, before the guard has its say. Labels are used for scoring alone. What a step costs
is read from the lines of a CPU, whose ways should be run in one call; scores after many steps
hardly depend on the machine and are read from the longest runs.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from coterie import SCCL
from coterie.encoders import DEFAULT
from coterie.metrics import external_scores
from coterie_bench.data import load_data
from coterie_bench.experiments import lines

DATASET = "stackoverflow"
# "lora" begins at zero and wants larger steps; its second rate is for that.
WAYS = (
    ("full", 1.0), ("last-2", 1.0), ("last-1", 1.0), ("lora", 1.0), ("lora", 20.0), ("heads", 1.0),
    ("frozen", 1.0),
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
    key["on"] = options.device
    for seed in range(options.seeds):
        for tune, times in WAYS:
            row = {**key, "tune": tune, "lr_times": times, "seed": seed}
            if lines.has(lines.read(options.out), **row):
                continue
            row |= run(texts, truth, data.n_clusters, row, options.encoder)
            lines.append(options.out, row | {"dataset_sha256": data.sha256})
            print(f"{tune}, rate x {times:g}, seed {seed}: {lines.scores(row)}", flush=True)


def run(
    texts: list[str], truth: list[str], k: int, row: dict[str, Any], encoder: str
) -> dict[str, Any]:
    """One fit: its scores and the start's, its seconds, and what was trained."""
    load = os.getloadavg()[0]
    model = SCCL(
        k,
        encoder=encoder,
        tune=row["tune"],
        views="eda" if row["tune"] == "frozen" else SCCL.views,
        lr=SCCL.lr * row["lr_times"],
        labels_from="head",
        steps=row["steps"],
        random_state=row["seed"],
        device=row["on"],
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
    """Scores of the longest runs, time of a step on a CPU and of a thousand steps."""
    if not rows:
        return "nothing yet"
    most = max(row["steps"] for row in rows)
    long = [row for row in rows if row["steps"] == most]
    timed = [row for row in rows if row["on"] == "cpu"]
    body = [["start", "", "0", "", "", _spread(long, "start_scores"), ""]]
    for tune, times in WAYS:
        scored, run = (
            [row for row in part if (row["tune"], row["lr_times"]) == (tune, times)]
            for part in (long, timed)
        )
        if scored and run:
            step = float(np.mean([row["ms_per_step"] for row in run])) / 1000
            trained = f"{scored[0]['trained_parameters']['encoder']:,}"
            cells = [f"`{tune}`", f"{times:g}", trained, f"{step:.2f}", f"{step * most / 60:.0f}"]
            body.append([*cells, _spread(scored, "scores"), str(len(scored))])
    header = ["tune", "rate, times", "encoder's numbers", "seconds a step",
              f"minutes, {most} steps", "ACC / NMI", "seeds"]  # fmt: skip
    return lines.table(header, body)


def _spread(rows: list[dict[str, Any]], key: str) -> str:
    found = ([100 * row[key][name] for row in rows] for name in ("acc", "nmi"))
    return " / ".join(f"{np.mean(values):.1f} ± {np.std(values):.1f}" for values in found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("COTERIE_DATA"))
    parser.add_argument("--encoder", default=DEFAULT)
    parser.add_argument("--out", type=Path, default=Path("results/tune.jsonl"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
