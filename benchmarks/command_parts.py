"""Where ``coterie cluster`` spends what it takes beside encoding: processor seconds by part.

    python benchmarks/command_parts.py --data DIR --cache DIR   # adds what is missing
    python benchmarks/command_parts.py --table                  # prints the table

The texts are those of ``command.py``. Their vectors are in the cache, or are put there first by a
run that is not counted. Each setting then runs in a process of its own, in which the functions of
``PARTS`` are timed; a function called by another of them counts for itself alone.
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command
import lines
import numpy as np

SIZE = 20_000
FIRST, REST = "Python and libraries", "the rest"
PARTS = {  # what is timed, in the order of a run
    "coterie.cli.cluster:_read": "reading the file",
    "coterie.cli.cluster:_how_many": "the number of clusters",
    "coterie.base.fitting:Fitting._read": "tokens, and an LSA of the words",
    "coterie.base.fitting:encode_all": "vectors from the cache",
    "coterie.base.ways:nearest_beside": "neighbours",
    "coterie.methods.auto:Auto.start": "clustering",
    "coterie.methods.two_step:TwoStep.start": "clustering",
    "coterie.base.fitting:labels_of": "labels and confidence",
    "coterie.base.fitting:calibrate": "labels and confidence",
    "coterie.base.outlying:Outlying.outlier_scores": "outliers",
    "coterie.cli.run_folder:RunFolder._describe": "words, names, examples",
    "coterie.cli.run_folder:write_map": "the map",
    "coterie.cli.run_folder:RunFolder._write_tables": "tables, model, page",
    "coterie.base.clusterer:TextClusterer.save": "tables, model, page",
    "coterie.cli.run_folder:write_page": "tables, model, page",
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
    from coterie.cli.app import app

    clock.turn(REST)
    app(asked, standalone_mode=False)
    clock.turn(REST)
    print(json.dumps({part: round(seconds, 2) for part, seconds in clock.spent.items()}))


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    from coterie.bench.run import load_data

    texts = load_data(command.DATASET, options.data).texts
    picks = np.random.default_rng(0).permutation(len(texts))[: options.size]
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "texts.csv"
        with source.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([texts[i]] for i in picks)])
        runs = 2  # the first fills the cache
        for name, more in command.SETTINGS.items():
            key = {"label": "command parts", "setting": name, "n_texts": len(picks)}
            if lines.has(lines.read(options.out), **key):
                continue
            asked = ["cluster", str(source), "--quiet", "--overwrite", *more]
            asked += ["--out", str(Path(temporary) / "out")]
            environment = {**os.environ, "COTERIE_CACHE": str(options.cache)}
            for _ in range(runs):
                run = [sys.executable, __file__, "--child", json.dumps(asked)]
                done = subprocess.run(run, env=environment, stdout=subprocess.PIPE, check=True)
            runs = 1
            found = json.loads(done.stdout.decode().splitlines()[-1])
            lines.append(options.out, key | {"seconds": found})
            print(f"{name}: {sum(found.values()):.1f} s", flush=True)


def table(rows: list[dict[str, Any]]) -> str:
    """A line per part, a column per setting; of several runs the last."""
    last = {row["setting"]: row["seconds"] for row in rows}
    parts = [FIRST, *dict.fromkeys(PARTS.values()), REST]
    body = [[part, *(f"{found.get(part, 0):.1f}" for found in last.values())] for part in parts]
    body.append(["together", *(f"{sum(found.values()):.1f}" for found in last.values())])
    return lines.table(["part", *(f"`{name}`" for name in last)], body)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("COTERIE_DATA"))
    parser.add_argument("--cache", type=Path, default=Path("out/cache"))
    parser.add_argument("--out", type=Path, default=Path("results/command-parts.jsonl"))
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(json.loads(sys.argv[2]))
    else:
        main()
