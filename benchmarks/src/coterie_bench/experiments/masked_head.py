"""How well a masked language model guesses that was fitted to short texts on the default encoder.

    coterie-bench masked-head --data DIR --device cuda     # adds a line, prints wordings
    coterie-bench masked-head --table

It learns from the texts of all benchmarks in DIR; a twentieth of the different texts is held out
and only guessed. The wordings that are shown are of the bundled messages, which it never saw.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from coterie import sample
from coterie.augmentation import augment
from coterie.encoders import DEFAULT
from coterie.masked_words import HeadSettings, train_masked_head
from coterie_bench.datasets import BENCHMARKS, load_dataset
from coterie_bench.experiments import lines

SHOWN = 10


def main() -> None:
    options = _options()
    if options.table:
        print(table(options.out))
        return
    texts = [text for name in BENCHMARKS for text in load_dataset(name, options.data).texts]
    settings = HeadSettings(steps=options.steps, device=options.device, verbose=1)
    with tempfile.TemporaryDirectory() as folder:
        found = train_masked_head(
            texts, folder, encoder=options.encoder or DEFAULT, settings=settings
        )
        messages = sample().texts[:: len(sample().texts) // SHOWN][:SHOWN]
        made = augment(messages, "contextual@0.2", model=folder, device=options.device)
    row = {
        "label": "masked head",
        "texts_of": list(BENCHMARKS),
        **found,
        "encoder": Path(found["encoder"]).name,
        "shown": [list(pair) for pair in zip(messages, made, strict=True)],
    }
    row["settings"] = {k: v for k, v in found["settings"].items() if k != "verbose"}
    lines.append(options.out, row)
    print(table(options.out))


def table(file: Path) -> str:
    """Shares of right guesses, and the wordings of the newest line."""
    rows = lines.read(file)
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


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--out", type=Path, default=Path("results/masked-head.jsonl"))
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
