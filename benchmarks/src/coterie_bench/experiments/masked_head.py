"""How well a masked language model guesses that was fitted to short texts on the default encoder.

    coterie-bench masked-head --data DIR --device cuda     # adds a line, prints augmentations
    coterie-bench masked-head --table

It learns from the texts of all benchmarks in DIR; a twentieth of the different texts is held out
and only guessed. The augmentations that are shown are of the bundled messages, which it never saw.
"""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from pathlib import Path

from coterie import sample
from coterie.augmentation import augment
from coterie.encoders import DEFAULT
from coterie_bench.datasets import BENCHMARKS, load_dataset
from coterie_bench.experiments import lines
from coterie_bench.masked_words import HeadSettings, train_masked_head

SHOWN = 10


def cases(options: Namespace) -> list[lines.Row]:
    return [{"label": "masked head", "date": time.strftime("%Y-%m-%d", time.gmtime())}]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """Train a head, and word the bundled messages anew with it."""
    texts = [text for name in BENCHMARKS for text in load_dataset(name, options.data).texts]
    settings = HeadSettings(steps=options.steps or None, device=options.device, verbose=1)
    with tempfile.TemporaryDirectory() as folder:
        found = train_masked_head(texts, folder, encoder=options.encoder, settings=settings)
        messages = sample().texts[:: len(sample().texts) // SHOWN][:SHOWN]
        made = augment(messages, "contextual@0.2", model=folder, device=options.device)
    shown = [list(pair) for pair in zip(messages, made, strict=True)]
    return {**found, "texts_of": list(BENCHMARKS), "encoder": Path(found["encoder"]).name,
            "shown": shown}  # fmt: skip


def table(rows: list[lines.Row]) -> str:
    """Shares of right guesses, and the augmentations of the newest line."""
    body = [
        [f"{r['texts']:,}", f"{r['steps']:,}", f"{r['seconds']:.0f} s ({r['device']})",
         f"{r['hidden_tokens']:,}", lines.percent(r["top1"]), lines.percent(r["top5"]),
         f"{lines.percent(r['frequent_top1'])} / {lines.percent(r['frequent_top5'])}"]
        for r in rows
    ]  # fmt: skip
    header = ["texts", "steps", "time", "hidden tokens", "first guess right, %",
              "one of five, %", "most frequent tokens instead, %"]  # fmt: skip
    shown = "\n".join(f"{before}\n  -> {after}" for before, after in rows[-1]["shown"])
    return f"{lines.table(header, body)}\n\n```text\n{shown}\n```"


OPTIONS = {"--encoder": DEFAULT, "--device": "auto", "--steps": 0}
main = lines.Experiment("masked-head", __doc__, cases, measure, table, OPTIONS)
