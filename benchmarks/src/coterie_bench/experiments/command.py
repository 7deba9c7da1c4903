"""What ``coterie cluster`` costs beside encoding its texts, and where it spends it.

    coterie-bench command --data DIR                 # adds what is missing
    coterie-bench command --table                    # prints the tables

Titles of StackOverflow, a random choice of each size. Each command runs in a process of its own,
with an empty cache, and the functions of ``PARTS`` are timed in it, in processor seconds, which
other programs on the machine disturb less than the clock; a function called by another of them
counts for itself alone. The ratio is that of all a command takes, from its start to its end, to
tokenising and encoding in the same run: the speed of a machine changes by more than a tenth from
one minute to the next.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.facts import peak_memory
from coterie_bench.data import load_data
from coterie_bench.experiments import lines
from coterie_bench.experiments.make_texts import write_texts

DATASET, CHILD = "stackoverflow", "--child"
SIZES = (1_000, 5_000, 20_000)
CLUSTERS = 20
SETTINGS: dict[str, list[str]] = {
    "auto": [],
    "auto -k 20": ["-k", str(CLUSTERS)],
    "auto -k 20 --effort quick": ["-k", str(CLUSTERS), "--set", "effort=quick"],
    "kmeans -k 20": ["-k", str(CLUSTERS), "--method", "kmeans"],
}
FIRST, ENCODING, REST = "Python and libraries", "tokens and vectors", "the rest"
PARTS = {  # what is timed, in the order of a run
    "coterie.encoders.sentence:SentenceEncoder.prepare": ENCODING,
    "coterie.encoders.base:Encoder.encode": ENCODING,
    "coterie.runs.fit:read_texts": "reading the file",
    "coterie.models.fitting:Fitting.find_number": "the number of clusters",
    "coterie.models.fitting:Fitting._read": "character n-grams",
    "coterie.arrays.consensus:nearest_rows": "neighbours",
    "coterie.models.auto:Auto._initial_assigner": "clustering",
    "coterie.models.two_step:TwoStep._initial_assigner": "clustering",
    "coterie.models.fitting:labels_of": "labels and confidence",
    "coterie.models.fitting:calibrate": "labels and confidence",
    "coterie.models.outliers:OutlierMixin.outlier_scores": "outliers",
    "coterie.arrays.tree:grow": "the merge tree",
    "coterie.runs.results:describe_rows": "words, names, examples",
    "coterie.runs.results:describe_nodes": "words, names, examples",
    "coterie.runs.results:make_map": "the map",
    "coterie.runs.results:Results.write_whole": "tables, model, page",
}


class Clock:
    """Processor seconds by part; what a part calls of the others is taken off."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys([FIRST, *PARTS.values(), REST], 0.0)
        self.now, self.last = FIRST, 0.0

    def turn(self, part: str) -> str:
        """From here on it is that part; returns which it was."""
        moment, before = time.process_time(), self.now
        self.spent[before] += moment - self.last
        self.now, self.last = part, moment
        return before

    def timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """The function, counted for that part."""

        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            before = self.turn(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.turn(before)

        return counted


def child(asked: list[str]) -> None:
    """Run a command with clocks around its parts; the last line written is what they say."""
    clock = Clock()
    for place, part in PARTS.items():
        module, _, name = place.partition(":")
        *owner, last = name.split(".")
        holder = functools.reduce(getattr, owner, importlib.import_module(module))
        setattr(holder, last, clock.timed(getattr(holder, last), part))
    from coterie.cli.app import main

    clock.turn(REST)
    sys.argv[1:] = asked
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    clock.turn(REST)
    parts = {part: round(seconds, 2) for part, seconds in clock.spent.items()}
    print(json.dumps({"parts": parts, "peak_memory": peak_memory("cpu")["resident"]}))


def cases(options: Namespace) -> list[lines.Row]:
    return [
        {"label": "command", "setting": name, "n_texts": size}
        for size in options.sizes
        for name in SETTINGS
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """One command, and what its parts took."""
    texts = load_data(DATASET, options.data).texts
    picks = np.random.default_rng(0).permutation(len(texts))[: key["n_texts"]]
    load = os.getloadavg()[0]  # what others did on the machine: above zero, times are too long
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, out = folder / "texts.csv", folder / "out"
        write_texts([texts[i] for i in picks], source)
        asked = ["cluster", str(source), "--out", str(out), "--quiet", *SETTINGS[key["setting"]]]
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "coterie_bench", "command", CHILD, *asked],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "COTERIE_CACHE": str(folder / "cache")},
        )
        wall = time.perf_counter() - begun
    found = json.loads(done.stdout.splitlines()[-1])
    total = sum(found["parts"].values())
    return {
        **found,
        "seconds": {"wall": round(wall, 2), "processor": round(total, 2)},
        "ratio": round(total / found["parts"][ENCODING], 3),
        "load_before": round(load, 2),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """A line per size and setting; of several runs the last."""
    last = {(row["n_texts"], row["setting"]): row for row in rows}
    body = [
        [
            f"{size:,}",
            f"`{name}`",
            f"{row['parts'][ENCODING]:.1f}",
            f"{sum(row['parts'].values()):.1f}",
            f"{row['ratio']:.2f}",
            f"{row['peak_memory'] / 1e9:.1f} GB",
        ]
        for (size, name), row in sorted(last.items(), key=lambda item: item[0][0])
    ]
    header = ["texts", "setting", "encoding", "command", "ratio", "memory"]
    return lines.table(header, body)


def parts(rows: list[dict[str, Any]]) -> str:
    """A line per part, a column per setting, of the largest size; of several runs the last."""
    most = max((row["n_texts"] for row in rows), default=0)
    last = {row["setting"]: row["parts"] for row in rows if row["n_texts"] == most}
    names = [FIRST, *dict.fromkeys(PARTS.values()), REST]
    body = [[part, *(f"{found.get(part, 0):.1f}" for found in last.values())] for part in names]
    besides = [sum(found.values()) - found.get(ENCODING, 0) for found in last.values()]
    body.append(["together, without tokens and vectors", *(f"{value:.1f}" for value in besides)])
    return lines.table(["part", *(f"`{name}`" for name in last)], body)


def both(rows: list[dict[str, Any]]) -> str:
    """Both tables."""
    return f"{table(rows)}\n\n{parts(rows)}"


experiment = lines.Experiment("command", __doc__, cases, measure, both, {"--sizes": SIZES})


def main() -> None:
    """The experiment, or the command that it starts in a process of its own."""
    if sys.argv[1:2] == [CHILD]:
        child(sys.argv[2:])
    else:
        experiment()
