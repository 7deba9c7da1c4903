"""SCCL on different wordings: its Table 3 (which augmenter) and Figure 5 (how strong, and mixed).

    coterie-bench views make --data DIR --pairs FOLDER    # wordings, once; no GPU
    coterie-bench views run --data DIR --pairs FOLDER --device cuda
    coterie-bench views cosine --data DIR --pairs FOLDER  # how far wordings move a text
    coterie-bench views table

The wordings of contextual substitution are the published pairs; those of WordNet, of swapped
letters and of back-translation are made here, with seed 0. A translation there and back gives one
wording of a text; the other view is then the text itself. Swapped letters come on top of the
published pairs, in as many words as were substituted.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie.augmentation import augment, read_views
from coterie.corpus import texts_from
from coterie.encoders import DEFAULT
from coterie.errors import UsageError
from coterie_bench import run_suite
from coterie_bench.datasets import find_pairs, load_dataset
from coterie_bench.experiments import lines
from coterie_bench.figures.papers import COSINE_EDGES
from coterie_bench.run import Options
from coterie_bench.suites import Entry, Suite
from coterie_bench.tables import about, cell

SETS = ("stackoverflow", "googlenews-t")
RATES = (10, 20, 30)
PLAIN = {"wordnet": "WordNet", "backtranslation": "back-translation", "charswap20": "CharSwap 20%"}
LABELS = (
    PLAIN
    | {f"contextual{rate}": f"contextual {rate}%" for rate in RATES}
    | {f"contextual{rate}+charswap": f"contextual + CharSwap {rate}%" for rate in RATES}
)
STEPS = 1000
RESULTS = Path("results")


def main() -> None:
    options = _options()
    {"make": make, "run": run, "cosine": cosine, "table": table}[options.do](options)


def make(options: argparse.Namespace) -> None:
    """Write the pairs that are not there yet."""
    for name in options.sets.split(","):
        texts = texts_from(load_dataset(name, options.data).texts)
        for kind in options.kinds.split(","):
            file = place(options, name, kind)
            if file.exists() or kind in ("contextual10", "contextual20", "contextual30"):
                continue
            first, second = wordings(name, kind, texts, options)
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w", encoding="utf-8", newline="") as stream:
                out = csv.writer(stream)
                out.writerow(["text", "text1", "text2"])
                out.writerows(zip(texts, first, second, strict=True))
            print(file, flush=True)


def wordings(
    name: str, kind: str, texts: list[str], options: argparse.Namespace
) -> tuple[list[str], list[str]]:
    """Two views of every text."""
    if kind == "backtranslation":
        return augment(texts, kind), texts
    if kind.endswith("+charswap"):
        below = kind.partition("+")[0]
        rate = int(below.removeprefix("contextual")) / 100
        views = read_views(find_pairs(name, below, options.data), texts)
        first, second = (augment(v, f"charswap@{rate}", view=i) for i, v in enumerate(views, 1))
        return first, second
    asked = "charswap@0.2" if kind == "charswap20" else kind
    return augment(texts, asked, view=1), augment(texts, asked, view=2)


def place(options: argparse.Namespace, name: str, kind: str) -> Path:
    """Where the pairs of a set lie: published ones with the data, ours in a folder of their own."""
    if kind in ("contextual10", "contextual20", "contextual30"):
        return find_pairs(name, kind, options.data)
    return Path(options.pairs) / f"{name}.{kind}.csv"


def run(options: argparse.Namespace) -> None:
    """Train SCCL on each kind of pairs; runs that are in the file are not repeated."""
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    for name in options.sets.split(","):
        entries = tuple(
            Entry(
                f"SCCL, {LABELS[kind]}",
                "sccl",
                {"steps": STEPS, "views": str(place(options, name, kind))},
            )
            for kind in options.kinds.split(",")
        )
        suite = Suite("sccl-views", "", entries, (name,), len(seeds))
        asked = Options(data=options.data, encoder=options.encoder, device=options.device)
        run_suite(suite, options.out / "sccl-views.jsonl", asked, seeds=seeds, tell=print)


def cosine(options: argparse.Namespace) -> None:
    """Cosine of a text and its wordings by the untrained encoder, and the share of words kept."""
    from coterie import TwoStep

    file = options.out / "view-cosines.jsonl"
    for name in options.sets.split(","):
        texts = texts_from(load_dataset(name, options.data).texts)
        rows = np.random.default_rng(0).choice(len(texts), min(len(texts), 2000), replace=False)
        chosen = [texts[i] for i in rows]
        for kind in options.kinds.split(","):
            if lines.has(lines.read(file), dataset=name, label=LABELS[kind]):
                continue
            views = read_views(place(options, name, kind), texts)
            few = [[view[i] for i in rows] for view in views]
            model = TwoStep(2, encoder=options.encoder or DEFAULT, n_init=1, random_state=0)
            model.set_params(device=options.device)
            vectors = model.fit(chosen + few[0] + few[1]).vectors_.reshape(3, len(rows), -1)
            length = np.linalg.norm(vectors, axis=2)
            filled = length.all(axis=0)  # some published wordings are empty
            vectors = vectors[:, filled] / length[:, filled, None]
            values = np.concatenate([(vectors[0] * vectors[i]).sum(1) for i in (1, 2)])
            kept = [share(t, w) for view in few for t, w in zip(chosen, view, strict=True)]
            counts, _ = np.histogram(values, bins=COSINE_EDGES)
            row: dict[str, Any] = {
                "dataset": name,
                "label": LABELS[kind],
                "cosine": {"mean": float(values.mean()), "deviation": float(values.std()),
                           "histogram": counts.tolist()},
                "words_kept": float(np.mean(kept)),
                "empty": float(1 - filled.mean()),
                "unchanged": float(np.mean([k == 1.0 for k in kept])),
            }  # fmt: skip
            lines.append(file, row)
            print(name, kind, round(row["cosine"]["mean"], 3), round(row["words_kept"], 3))


def share(text: str, wording: str) -> float:
    """Share of a text's words that its wording still has."""
    words, left = text.lower().split(), wording.lower().split()
    return sum(word in left for word in words) / max(1, len(words))


def table(options: argparse.Namespace) -> None:
    """Print the table."""
    print(made(options.out, options.sets.split(",")))


def made(folder: Path, sets: Sequence[str] = SETS) -> str:
    """ACC / NMI as training left it, for each kind of wordings, and how far it moves a text."""
    rows = lines.read(folder / "sccl-views.jsonl")
    moved = lines.read(folder / "view-cosines.jsonl")
    body = []
    for label in LABELS.values():
        line = [label]
        for name in sets:
            own = [r for r in rows if r["dataset"] == name and r["label"] == f"SCCL, {label}"]
            trained = [{"scores": row["trained_scores"] or row["scores"]} for row in own]
            mark = "*" if any(row["guard"]["fired"] for row in own) else ""
            line.append(
                f"{cell(trained, 'acc')} / {cell(trained, 'nmi')} ({len(own)}){mark}" if own else ""
            )
            far = [r for r in moved if r["dataset"] == name and r["label"] == label]
            line.append(f"{far[-1]['cosine']['mean']:.2f}" if far else "")
        if any(line[1:]):
            body.append(line)
    start = ["start (k-means)"]
    for name in sets:
        own = [{"scores": r["start_scores"]} for r in rows if r["dataset"] == name]
        start += [f"{cell(own, 'acc').mean:.1f} / {cell(own, 'nmi').mean:.1f}" if own else "", ""]
    header = ["views", *(part for name in sets for part in (name, "cosine"))]
    told = (
        f"ACC / NMI in % as training left it ({STEPS:,} steps), mean ± sample deviation over the "
        "seeds in brackets; * the guard returned the start instead in some of them. Cosine: mean "
        "over 2,000 texts between a text and its wordings, by the encoder before training. "
        f"{about(rows)}"
    )
    return f"{lines.table(header, [start, *body])}\n\n{told}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("do", choices=["make", "run", "cosine", "table"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", default="pairs", help="folder of the wordings made here")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--kinds", default=",".join(LABELS))
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--encoder")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    for kind in options.kinds.split(","):
        if kind not in LABELS:
            raise UsageError(f"--kinds: {kind!r} is not one of {', '.join(LABELS)}.")
    return options
