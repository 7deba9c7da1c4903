"""How fast texts get other wordings: coterie beside plain loops and nlpaug, in one run.

    coterie-bench augment --nlpaug PYTHON     # PYTHON has nlpaug and nltk; adds lines
    coterie-bench augment --table             # prints the table

Every way works the same texts, all of them different, at a rate of 0.2. coterie is timed twice:
with a new augmenter in each round, so that all synonyms are looked up again (``cold``), and with
one that has seen the texts (``warm``). Ratios are of medians over the rounds, of processor time,
which other programs disturb less, and are taken against ``cold``. The plain loops are what
one would write first: a text at a time, a word at a time, nothing looked up twice saved.
Kinds whose resources are not on this machine are left out. ``--model`` takes a folder of a masked
language model for ``contextual``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie import sample
from coterie.augmentation import make_augmenter, reword
from coterie.augmentation.eda import DELETE, INSERT, REPLACE
from coterie.augmentation.wordnet import WordNet, find_wordnet, readings
from coterie.encoders import no_cache
from coterie.errors import MissingError
from coterie.words.stopwords import ENGLISH
from coterie_bench.datasets import load_dataset
from coterie_bench.experiments import lines

RATE = 0.2
LOOPS = ("eda", "wordnet", "charswap", "deletion")
Seconds = list[tuple[float, float]]  # by the clock and of the processor, a pair per round


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    texts = read(options.set, options.texts)
    print(f"{len(texts)} texts of {options.set}", flush=True)
    load = round(os.getloadavg()[0], 2)
    with no_cache():
        found = {kind: ours(kind, texts, options) for kind in options.kinds.split(",")}
    loops = {kind: plain(kind, texts, options.rounds) for kind in found if found[kind]}
    other = nlpaug(options.nlpaug, texts) if options.nlpaug else {"seconds": {}}
    for kind, own in found.items():
        if own is None:
            print(f"{kind}: left out, something it needs is not on this machine", flush=True)
            continue
        row = row_of(kind, own, loops[kind], other, len(texts))
        lines.append(options.out, {"dataset": options.set, **row, "load_before": load})
        print(kind, json.dumps(row["texts_per_second"]), json.dumps(row["ratio"]), flush=True)


def read(name: str, n: int) -> list[str]:
    """At most ``n`` different texts, drawn at random."""
    corpus = sample() if name == "sample" else load_dataset(name)
    distinct = sorted({text for text in corpus.texts if text})
    return random.Random(0).sample(distinct, min(n, len(distinct)))


def ours(kind: str, texts: list[str], options: argparse.Namespace) -> dict[str, Any] | None:
    """Seconds of coterie, cold and warm, and the share of texts it left as they were."""
    model = options.model if kind == "contextual" else None
    few = texts[: options.slow_texts] if kind in ("contextual", "backtranslation") else texts

    def make() -> Any:
        return make_augmenter(kind, rate=RATE, model=model, device=options.device)

    try:
        used = make()
    except MissingError:
        return None
    made = reword(used, few)
    warm = clocked(lambda: reword(used, few), options.rounds)
    used.close()
    cold: Seconds = []
    for _ in range(options.rounds):
        fresh = make()
        cold += clocked(lambda fresh=fresh: reword(fresh, few), 1)
        fresh.close()
    return {"cold": cold, "warm": warm, "unchanged": made.unchanged, "n": len(few)}


def clocked(work: Callable[[], Any], rounds: int) -> Seconds:
    out = []
    for _ in range(rounds):
        begun, used = time.perf_counter(), time.process_time()
        work()
        out.append((time.perf_counter() - begun, time.process_time() - used))
    return out


def plain(kind: str, texts: list[str], rounds: int) -> Seconds:
    """Seconds of a plain loop, where there is one."""
    if kind not in LOOPS:
        return []
    wordnet = find_wordnet() if kind in ("eda", "wordnet") else None
    loop = {"eda": eda_loop, "wordnet": wordnet_loop, "charswap": swap_loop,
            "deletion": deletion_loop}[kind]  # fmt: skip
    rng = random.Random(0)
    return clocked(lambda: [loop(text.split(), rng, wordnet) for text in texts], rounds)


def synonyms(word: str, wordnet: WordNet) -> list[str]:
    small = word.lower().strip(".,;:!?()\"'")
    found = {(reading.lemma, reading.part) for reading in readings(small, wordnet)}
    return sorted(
        {w for pair in found for sense in wordnet.synsets(*pair) for w in sense} - {small}
    )


def eda_loop(words: list[str], rng: random.Random, wordnet: WordNet) -> str:
    operation, n = rng.randrange(4), max(1, int(RATE * len(words)))
    if operation == REPLACE:
        return wordnet_loop(words, rng, wordnet)
    if operation == INSERT:
        for _ in range(n):
            able = [word for word in words if word not in ENGLISH and synonyms(word, wordnet)]
            if able:
                words.insert(
                    rng.randint(0, len(words)), rng.choice(synonyms(rng.choice(able), wordnet))
                )
        return " ".join(words)
    if operation == DELETE:
        return " ".join([w for w in words if rng.random() >= RATE] or [rng.choice(words)])
    for _ in range(n):
        a, b = rng.randrange(len(words)), rng.randrange(len(words))
        words[a], words[b] = words[b], words[a]
    return " ".join(words)


def wordnet_loop(words: list[str], rng: random.Random, wordnet: WordNet) -> str:
    n = max(1, int(RATE * len(words)))
    places = [i for i, word in enumerate(words) if word not in ENGLISH]
    rng.shuffle(places)
    for i in places:
        found = synonyms(words[i], wordnet)
        if found and n > 0:
            words[i] = rng.choice(found)
            n -= 1
    return " ".join(words)


def swap_loop(words: list[str], rng: random.Random, wordnet: None) -> str:
    able = [i for i, word in enumerate(words) if len(word) > 1]
    for i in rng.sample(able, min(len(able), max(1, int(RATE * len(words))))):
        letters = list(words[i])
        for _ in range(max(1, int(0.3 * len(letters)))):
            at = rng.randrange(len(letters) - 1)
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        words[i] = "".join(letters)
    return " ".join(words)


def deletion_loop(words: list[str], rng: random.Random, wordnet: None) -> str:
    gone = set(rng.sample(range(len(words)), min(len(words) - 1, max(1, int(RATE * len(words))))))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def nlpaug(python: str, texts: list[str]) -> dict[str, Any]:
    """What nlpaug takes, measured by its own Python."""
    worker = Path(__file__).with_name("augment_worker.py")
    places = [Path(os.environ.get("WNSEARCHDIR") or "/usr/share/wordnet")]
    with tempfile.TemporaryDirectory() as folder:
        source, facts = Path(folder) / "texts.json", Path(folder) / "facts.json"
        source.write_text(json.dumps(texts), encoding="utf-8")
        command = [python, "-I", str(worker), str(source), str(facts)]
        command += [str(place) for place in places if place.is_dir()]
        subprocess.run(command, check=True)
        found: dict[str, Any] = json.loads(facts.read_text("utf-8"))
    return found


def row_of(
    kind: str, own: dict[str, Any], loop: Seconds, other: dict[str, Any], n: int
) -> dict[str, Any]:
    seconds = {
        "cold": own["cold"],
        "warm": own["warm"],
        "plain loop": loop,
        "nlpaug": other["seconds"].get(kind, []),
    }
    counts = {"cold": own["n"], "warm": own["n"], "plain loop": n, "nlpaug": n}
    # A translator works in processes of its own, whose time is not in ours: so there the clock.
    which = 0 if kind == "backtranslation" else 1
    speed = {
        name: round(counts[name] / statistics.median(pair[which] for pair in pairs), 1)
        for name, pairs in seconds.items()
        if pairs
    }
    ratio = {n: round(speed["cold"] / s, 2) for n, s in speed.items() if n not in ("cold", "warm")}
    facts = {key: other[key] for key in ("tagger", "versions") if key in other}
    return {
        "label": kind,
        "rate": RATE,
        "n_texts": own["n"],
        "texts_per_second": speed,
        "ratio": ratio,
        "unchanged": own["unchanged"],
        "seconds": seconds,
        "nlpaug": facts if kind in other["seconds"] else None,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """A line per set and kind; of several runs the last."""
    last = {(row["dataset"], row["label"]): row for row in rows}
    header = ["texts", "kind", "coterie, cold", "warm", "plain loop", "nlpaug", "unchanged"]
    body = []
    for (dataset, label), row in last.items():
        speed = row["texts_per_second"]
        cells = [f"{speed[n]:,.0f}" if n in speed else "" for n in header_names()]
        body.append([f"{dataset} ({row['n_texts']:,})", label, *cells, f"{row['unchanged']:.1%}"])
    return lines.table(header, body)


def header_names() -> tuple[str, ...]:
    return ("cold", "warm", "plain loop", "nlpaug")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/augment.jsonl"))
    parser.add_argument("--set", default="sample", help="sample, or a data set under COTERIE_DATA")
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--slow-texts", type=int, default=500, help="of language models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--kinds", default="eda,wordnet,charswap,deletion,contextual,backtranslation"
    )
    parser.add_argument("--nlpaug", help="a Python with nlpaug and nltk")
    parser.add_argument("--model", help="folder of a masked language model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
