"""Choose what ADSL's paper leaves open, on the development sets.

    coterie-bench adsl-settings --data DIR                      # adds what is missing
    coterie-bench adsl-settings --data DIR --datasets tariff    # some sets alone
    coterie-bench adsl-settings --table                         # mean NMI of each setting

At most 600 texts of each set, drawn once. One autoencoder is trained for a set and seed, and the
codes after each number of steps are clustered by Ward, as they are and at unit length. From unit
codes after ``START`` steps the network over words is trained with both forms of refreshed labels.
Labels score at the end. Choose here and report on the benchmarks, never the other way round.
"""

from __future__ import annotations

import copy
from argparse import Namespace
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.preprocessing import normalize

from coterie import ADSL
from coterie.engine import Stage
from coterie.metrics import external_scores
from coterie_bench.data import load_data
from coterie_bench.datasets import DEV, LEVELS, TAILS
from coterie_bench.experiments import lines

TEXTS, SAMPLE = 600, 1  # texts of each set, and the seed of the draw
STEPS = (250, 500, 1000, 1500, 2000)  # of the autoencoder
START = 1500  # steps of the one that the network over words starts from
NORMS = ("sum", "softmax")  # of refreshed labels, from codes of unit length
# Of each kind in turn, so that what is there at any time is of all kinds.
ORDER = [name for name in chain(*zip_longest(DEV[::2], TAILS, DEV[1::2], LEVELS)) if name]


class Traced(ADSL):
    """ADSL that keeps its autoencoder after each of ``STEPS``."""

    def _pretraining_stages(self, context: Any) -> list[Stage]:
        self.kept: dict[int, Any] = {}
        every, taken = int(np.gcd.reduce(STEPS)), iter(range(1, max(STEPS) + 1))

        def keep(net: Any, vectors: Any) -> None:
            if (step := every * next(taken)) in STEPS:
                self.kept[step] = copy.deepcopy(net.state_dict())

        (stage,) = super()._pretraining_stages(context)
        return [replace(stage, steps=max(STEPS), refresh=keep, refresh_every=every)]

    def codes(self, steps: int, texts: list[str]) -> Any:
        """Codes of the texts after so many steps."""
        state = self.kept[steps].items()
        own = {k.removeprefix("encoder."): v for k, v in state if k.startswith("encoder.")}
        self.encoder_.load_state_dict(own)
        return self.transform(texts)


class FromCodes(ADSL):
    """ADSL that starts from a trained autoencoder."""

    state: ClassVar[Any] = None

    def _build_pretraining_network(self, encoder: Any, context: Any) -> Any:
        net = super()._build_pretraining_network(encoder, context)
        net.load_state_dict(self.state)
        return net


def cases(options: Namespace) -> list[lines.Row]:
    names = options.datasets.split(",") if options.datasets else ORDER
    return [
        {"dataset": name, "seed": seed, "n_texts": options.texts}
        for seed in range(options.seeds)
        for name in names
    ]


def measure(key: lines.Row, options: Namespace) -> list[lines.Row]:
    """Scores of Ward on the codes, then those of the trained network."""
    data = load_data(key["dataset"], options.data)
    chosen = np.random.default_rng(SAMPLE).permutation(len(data.texts))[: options.texts]
    texts, truth = ([rows[i] for i in chosen] for rows in (data.texts, data.labels))
    k, seed = len(set(truth)), key["seed"]
    traced = Traced(k, normalize=False, epochs=0, random_state=seed).fit(texts)
    found = []
    for steps in STEPS:
        codes = traced.codes(steps, texts)
        for unit in (True, False):
            labels = AgglomerativeClustering(k).fit_predict(normalize(codes) if unit else codes)
            scores = external_scores(truth, labels)
            setting: dict[str, Any] = {"ae_steps": steps, "normalize": unit}
            found.append({"part": "codes", "setting": setting, "scores": scores})
    FromCodes.state = traced.kept[START]
    for norm in NORMS:
        model = FromCodes(k, ae_steps=0, label_norm=norm, random_state=seed).fit(texts)
        setting = {"ae_steps": START, "label_norm": norm}
        scores = external_scores(truth, model.trained_labels_)
        start = external_scores(truth, model.start_labels_)
        found.append(
            {"part": "trained", "setting": setting, "scores": scores, "start_scores": start}
        )
    return found


def table(rows: list[lines.Row]) -> str:
    """Mean NMI of each setting over sets and seeds."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    for row in rows:
        name = ", ".join(f"{k}={v}" for k, v in row["setting"].items())
        runs = found.setdefault(f"{row['part']}: {name}", {})
        runs[row["dataset"], row["seed"]] = 100 * row["scores"]["nmi"]
    best = {part: _best(found, part) for part in ("codes", "trained")}
    body = [
        [name, f"{np.mean([*runs.values()]):.1f}", _better(runs, best[name.partition(":")[0]])]
        for name, runs in found.items()
    ]
    runs = max((len(r) for r in found.values()), default=0)
    sets = len({row["dataset"] for row in rows})
    header = ["setting", f"NMI, mean of {runs} runs on {sets} sets", "less the best, ± its error"]
    return lines.table(header, body)


def _best(found: dict[str, Any], part: str) -> Any:
    of = [runs for name, runs in found.items() if name.startswith(part)]
    return max(of, key=lambda runs: float(np.mean([*runs.values()])), default={})


def _better(runs: Any, best: Any) -> str:
    """Mean difference to the best over the same runs, and the standard error of that mean."""
    if runs == best:
        return "best"
    gaps = np.array([runs[run] - best[run] for run in runs if run in best])
    error = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
    return f"{gaps.mean():+.1f} ± {error:.1f}"


OPTIONS = {"--seeds": 1, "--datasets": None, "--texts": TEXTS}
main = lines.Experiment("adsl-settings", __doc__, cases, measure, table, OPTIONS)
