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

import os
from argparse import Namespace
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


def cases(options: Namespace) -> list[lines.Row]:
    key = {"dataset": DATASET, "n_texts": options.texts, "steps": options.steps}
    return [
        {**key, "on": options.device, "tune": tune, "lr_times": times, "seed": seed}
        for seed in range(options.seeds)
        for tune, times in WAYS
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """One fit: its scores and the start's, its seconds, and what was trained."""
    data = load_data(DATASET, options.data)
    chosen = np.random.default_rng(SAMPLE).permutation(len(data.texts))[: options.texts]
    texts, truth = ([rows[i] for i in chosen] for rows in (data.texts, data.labels))
    load = os.getloadavg()[0]
    model = SCCL(
        data.n_clusters,
        encoder=options.encoder,
        tune=key["tune"],
        views="eda" if key["tune"] == "frozen" else SCCL.views,
        lr=SCCL.lr * key["lr_times"],
        labels_from="head",
        steps=key["steps"],
        random_state=key["seed"],
        device=key["on"],
    ).fit(texts)
    assert model.guard_ is not None
    if model.trained_labels_ is None:
        raise SystemExit(f"training broke down: {model.guard_.reason}")
    return {
        "label": f"SCCL, {key['tune']}",
        "scores": external_scores(truth, model.trained_labels_),
        "start_scores": external_scores(truth, model.start_labels_),
        "guard": model.guard_.to_dict(),
        "seconds": model.seconds_,
        "ms_per_step": 1000 * model.seconds_["train"] / key["steps"],
        "trained_parameters": model.trained_parameters_,
        "load_before": load,
        "dataset_sha256": data.sha256,
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
    return " / ".join(f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" for values in found)


OPTIONS = {"--encoder": DEFAULT, "--device": "cpu", "--texts": 5000, "--steps": 10, "--seeds": 1}
main = lines.Experiment("tune", __doc__, cases, measure, table, OPTIONS)
