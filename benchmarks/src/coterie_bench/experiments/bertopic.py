"""coterie and BERTopic on the same texts with the same encoder, each with its defaults.

    python -m venv DIR && /tmp/bt/bin/pip install bertopic
    coterie-bench bertopic --data DIR --python /tmp/bt/bin/python   # adds what is missing
    coterie-bench bertopic --table                                  # prints the table

Both run as programs of their own, from a CSV file with the texts alone to a table with clusters;
coterie's also writes its page and its model. Labels are used for scoring alone. Outliers, which
BERTopic numbers -1, count as one cluster; ``nmi_assigned`` leaves them out, and with them the
texts that were hardest. BERTopic has no seed by default and differs from run to run: ``--runs``.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from coterie.encoders import DEFAULT
from coterie.encoders.load import locate
from coterie.metrics import external_scores, nmi
from coterie_bench.experiments import lines
from coterie_bench.experiments.children import measure
from coterie_bench.run import Data, load_data
from coterie_bench.tables import cell

SETS = ("sample", "agnews", "stackoverflow")
TIMES = ("wall", "processor")
TOOLS = ("coterie", "BERTopic")
STEPS = {
    "coterie": ["run: coterie cluster FILE"],
    "BERTopic": [
        "write a program that reads the file",
        "name the encoder (by default one is fetched from a hub)",
        "make the model and call fit_transform",
        "write the table of get_document_info",
    ],
}


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    plan = product(options.datasets.split(","), options.tools.split(","), range(options.runs))
    for name, tool, number in plan:
        if not lines.has(lines.read(options.out), dataset=name, label=tool, run=number):
            data = load_data(name, options.data)
            row = {"label": tool, "dataset": name, "dataset_sha256": data.sha256, "run": number}
            row |= run(tool, data, options.python)
            lines.append(options.out, row)
            print(f"{name}, {tool}: {row['n_clusters']} clusters, {lines.scores(row)}, "
                  f"{row['seconds']['wall']:.0f} s", flush=True)  # fmt: skip


def run(tool: str, data: Data, python: str) -> dict[str, Any]:
    """One tool on one set of texts, scored."""
    full = np.array([bool(text.strip()) for text in data.texts])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = folder / "texts.csv"
        _write(source, [text for text in data.texts if text.strip()])
        work = _coterie if tool == "coterie" else _bertopic
        found, labels = work(source, folder, python)
    truth = np.asarray(data.labels)[full & data.scored]
    labels = labels[data.scored[full]]
    inside = labels >= 0
    scores = external_scores(truth, labels)
    scores["nmi_assigned"] = nmi(truth[inside], labels[inside])
    return found | {
        "n_texts": int(full.sum()),
        "n_clusters_true": data.n_clusters,
        "n_clusters": len(np.unique(labels[inside])),
        "outliers": round(float((~inside).mean()), 4),
        "scores": {key: round(value, 5) for key, value in scores.items()},
        "steps": STEPS[tool],
    }


def _coterie(source: Path, folder: Path, python: str) -> tuple[dict[str, Any], Any]:
    out = folder / "out"
    command = [sys.executable, "-m", "coterie", "cluster", str(source), "--out", str(out)]
    took = measure(command, folder / "log.txt")
    with (out / "assignments.csv").open(newline="", encoding="utf-8") as file:
        labels = np.array([int(row["cluster"]) for row in csv.DictReader(file)])
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    seconds = {"wall": took.pop("wall"), "processor": took.pop("processor")}
    return took | {"seconds": seconds | manifest["seconds"]}, labels


def _bertopic(source: Path, folder: Path, python: str) -> tuple[dict[str, Any], Any]:
    worker = Path(__file__).with_name("bertopic_worker.py")
    facts = folder / "facts.json"
    command = [python, "-I", str(worker), str(source), str(locate(DEFAULT))]
    took = measure([*command, str(folder / "table.csv"), str(facts)], folder / "log.txt")
    found = json.loads(facts.read_text("utf-8"))
    own = {key: round(value, 2) for key, value in found["seconds"].items()}
    seconds = {"wall": took.pop("wall"), "processor": took.pop("processor")}
    took |= {"seconds": seconds | own, "tool_versions": found["versions"]}
    return took, np.array(found["labels"])


def _write(path: Path, texts: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([text] for text in texts)


def table(rows: list[dict[str, Any]]) -> str:
    """A line per set and tool, with means over the runs."""
    header = ["", "tool", "runs", "clusters (true)", "outliers", "ACC / NMI",
              "NMI without outliers", "seconds", "processor", "memory", "steps"]  # fmt: skip
    body = []
    for name, tool in product(SETS, TOOLS):
        some = [row for row in rows if (row["dataset"], row["label"]) == (name, tool)]
        if not some:
            continue
        found = sorted({row["n_clusters"] for row in some})
        outliers = np.mean([row["outliers"] for row in some])
        wall, processor = (np.mean([row["seconds"][k] for row in some]) for k in TIMES)
        memory = max(row["peak_memory"] for row in some)
        body.append([
            name,
            tool,
            str(len(some)),
            " to ".join(map(str, dict.fromkeys([found[0], found[-1]])))
            + f" ({some[0]['n_clusters_true']})",
            f"{100 * outliers:.0f}%",
            f"{cell(some, 'acc')} / {cell(some, 'nmi')}",
            str(cell(some, "nmi_assigned")),
            f"{wall:.0f}",
            f"{processor:.0f}",
            f"{memory / 1e9:.1f} GB",
            str(len(some[0]["steps"])),
        ])  # fmt: skip
    return lines.table(header, body)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the benchmark files")
    parser.add_argument("--out", type=Path, default=Path("results/bertopic.jsonl"))
    parser.add_argument("--python", default=sys.executable, help="one that has BERTopic")
    parser.add_argument("--datasets", default=",".join(SETS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--runs", type=int, default=1, help="of each tool on each set")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
