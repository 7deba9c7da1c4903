"""SCCL on augmented texts: its Table 3 (which augmenter) and Figure 5 (how strong, and mixed).

Lines are of the suite ``sccl-views``; those with swapped letters on top of contextual substitution
(``contextual + CharSwap``) and ``view-cosines.jsonl``, how far they move a text by the encoder
before training, were made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coterie_bench.datasets import BENCHMARKS
from coterie_bench.experiments import lines
from coterie_bench.tables import about, cell

RATES = (10, 20, 30)
LABELS = (
    *("WordNet 10%", "WordNet", "WordNet 30%", "back-translation"),
    *(f"CharSwap {rate}%" for rate in RATES),
    *(f"contextual {rate}%" for rate in RATES),
    *(f"contextual + CharSwap {rate}%" for rate in RATES),
)
STEPS = 1000


def made(folder: Path, sets: Sequence[str] = BENCHMARKS) -> str:
    """ACC / NMI as training left it, for each kind of augmentation, and how far it moves a text."""
    rows = lines.read(folder / "sccl-views.jsonl")
    moved = lines.read(folder / "view-cosines.jsonl")
    measured = [name for name in sets if any(row["dataset"] == name for row in moved)]
    body = []
    for label in LABELS:
        line = [label]
        for name in sets:
            own = [r for r in rows if r["dataset"] == name and r["label"] == f"SCCL, {label}"]
            trained = [{"scores": row["trained_scores"] or row["scores"]} for row in own]
            mark = "*" if any(row["guard"]["fired"] for row in own) else ""
            line.append(
                f"{cell(trained, 'acc')} / {cell(trained, 'nmi')} ({len(own)}){mark}" if own else ""
            )
        for name in measured:
            far = [r for r in moved if r["dataset"] == name and r["label"] == label]
            line.append(f"{far[-1]['cosine']['mean']:.2f}" if far else "")
        if any(line[1:]):
            body.append(line)
    start = ["start (k-means)"]
    for name in sets:
        own = [{"scores": r["start_scores"]} for r in rows if r["dataset"] == name]
        start.append(f"{cell(own, 'acc').mean:.1f} / {cell(own, 'nmi').mean:.1f}" if own else "")
    start += [""] * len(measured)
    header = ["views", *sets, *(f"cosine, {name}" for name in measured)]
    told = (
        f"ACC / NMI in % as training left it ({STEPS:,} steps), mean ± sample deviation over the "
        "seeds in brackets; * the guard returned the start instead in some of them. WordNet alone "
        "changes a fifth of the words. Cosine: mean over 2,000 texts between a text and its two "
        "augmentations, by the encoder before training; of back-translation one of the two is the "
        f"text itself. {about(rows)}"
    )
    return f"{lines.table(header, [start, *body])}\n\n{told}"
