"""ClusterBERT's Table 3 behind trained encoders: k-means or IDEC, with UMAP and without.

    coterie-bench trained-encoders --data DIR --device cuda    # adds lines to results/

Each encoder is trained once for a data set and a seed, without its guard; its vectors then go
through all second steps; two of them share one UMAP. Lines have the form of the suite
`second-steps`, which has SIF and the untrained encoder. Steps with UMAP are left out where
umap-learn is not installed. Start the command several times at once to use more cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coterie._util.types import Floats
from coterie.models import two_step as classical
from coterie_bench import ROOT
from coterie_bench.data import load_data
from coterie_bench.ledger import Ledger, Row, head, key_of
from coterie_bench.run import Options, make
from coterie_bench.score import score_fit
from coterie_bench.suites import SUITES, Entry, Job
from coterie_bench.tables import about, markdown, measured, order_of

RESULTS = ROOT / "results"
TRAINED = {
    "ClusterBERT": Entry("ClusterBERT", "cluster-bert", {"guard": False}, "fast"),
    "SCCL": Entry("SCCL", "sccl", {"guard": False, "steps": 1000}, None, ("contextual10", "eda")),
    "TSDAE": Entry("TSDAE", "tsdae", {"guard": False, "batch_size": 64}),
}

SECOND = {entry.label: entry.parameters for entry in SUITES["second-steps"].entries}
STEPS = {  # the names that the tables have for them behind a trained encoder
    "k-means": SECOND["encoder + k-means"],
    "IDEC": SECOND["encoder + IDEC as a second step"],
    "UMAP + k-means": SECOND["encoder + UMAP to K + 1 + k-means"],
    "UMAP + IDEC": SECOND["encoder + UMAP to K + 1 + IDEC"],
}


def once(reduce: Callable[..., Floats]) -> Callable[..., Floats]:
    """The function, which keeps its last result: two steps need the same UMAP."""
    kept: dict[tuple[Any, ...], Floats] = {}

    def reduced(vectors: Floats, *settings: Any) -> Floats:
        key = (vectors.tobytes(), *settings)
        if key not in kept:
            kept.clear()
            kept[key] = reduce(vectors, *settings)
        return kept[key]

    return reduced


def run(label: str, name: str, seed: int, asked: Options, file: Path) -> None:
    """Train one encoder, unless all its lines are there, and add a line for each second step."""
    data, ledger = load_data(name, asked.data), Ledger(file)
    steps = {n: p for n, p in STEPS.items() if "UMAP" not in n or find_spec("umap")}
    plan = []
    for step, parameters in steps.items():
        entry = Entry(f"{label} + {step}", "kmeans", parameters)
        model = make(entry, data, seed, replace(asked, encoder="precomputed"))
        row = head(Job(name, entry, seed), model, data)
        if key_of(row) not in ledger.done():
            plan.append((row, model))
    if plan:
        trained = make(TRAINED[label], data, seed, asked).fit(data.texts)
        own = replace(data, texts=trained.vectors_)
    for row, model in plan:
        ledger.append({**row, **score_fit(model, own, asked.device)})
        print(row["label"], name, seed, flush=True)


def table(rows: Sequence[Row]) -> str:
    """ACC / NMI of every step behind every trained encoder."""
    labels = [f"{encoder} + {step}" for encoder in TRAINED for step in STEPS]
    found = {(m.shown, m.dataset): m for m in measured(rows) if m.shown in labels}
    sets = sorted({name for _, name in found}, key=order_of)
    body = []
    for label in labels:
        cells = [found.get((label, name)) for name in sets]
        body.append([label, *("" if m is None else f"{m.trained('acc')} / {m.trained('nmi')} "
                              f"({len(m.rows)})" for m in cells)])  # fmt: skip
    used = [row for m in found.values() for row in m.rows]
    return f"{markdown(['', *sets], body)}\nACC / NMI in %, mean ± sample deviation. {about(used)}"


def main() -> None:
    options = _options()
    asked = Options(data=options.data, encoder=options.encoder, device=options.device)
    first, _, last = options.seeds.partition("-")
    todo = [
        (label, name, seed, asked, options.out / "second-steps.jsonl")
        for seed in range(int(first), int(last or first) + 1)
        for name in options.sets.split(",")
        for label in options.methods.split(",")
    ]
    classical.reduce_by_umap = once(classical.reduce_by_umap)
    for one in todo:
        with Ledger(one[-1]).claim(str(one[:3])) as ours:
            if ours:
                run(*one)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default="stackoverflow,searchsnippets")
    parser.add_argument("--methods", default=",".join(TRAINED))
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--encoder")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    return options
