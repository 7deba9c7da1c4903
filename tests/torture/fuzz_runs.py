"""A fuzzer over whole run folders: every file is mutated, every verb is called.

    python tests/torture/fuzz_runs.py --cases 20000 --seed 0

A case is a run in which one or two files are changed (values of JSON exchanged, removed, doubled or
of another kind; bytes flipped, cut or doubled), and one command on it. A command may refuse the run
or do its work. It may not end in an unexpected error, write outside the run and its own output,
take more than two seconds of processor time beyond its usual time, or more than 50 MB.
"""

from __future__ import annotations

import argparse
import copy
import gc
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("COTERIE_CACHE", "off")

SECONDS = 2.0
HANGS = 120  # seconds by the clock, on a machine that has other work
MEGABYTES = 50
LONG = {"report", "report without texts", "edit: rename", "edit: split", "own names", "keep"}
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, -5, 3, 99, 10**6, 10**7, 2**31, 2**53, 2**63, 10**30, 0.5, -0.5,
    1e308, float("nan"), float("inf"), "", "x", "1", "-1", "../../x", "/etc/hostname", "\ud800",
    "a\nb", "\u202e", "x" * 5000, [], {}, [[]], [{}], [None], {"": None}, {"a": {"b": [1]}},
    ["x"] * 50, list(range(200)), [[1, 2], [3]], {"0": 0}, {"1": -1}, {"99": 99},
]  # fmt: skip


def call(*arguments: object) -> tuple[int, str, BaseException | None]:
    """Exit code, output and what went wrong beyond it."""
    told = io.StringIO()
    try:
        with redirect_stdout(told), redirect_stderr(told):
            command().main([str(one) for one in arguments], "coterie")
    except SystemExit as end:
        return int(end.code or 0), told.getvalue(), None
    except BaseException as error:
        return 1, told.getvalue(), error
    return 0, told.getvalue(), None


@cache
def command() -> Any:
    """The whole command line, built once: that takes longer than most of the cases."""
    from typer.main import get_command

    from coterie.cli import app

    return get_command(app)


def make_run(place: Path) -> Path:
    """A small finished run with levels, outliers, names and two edits."""
    words = ["apple pear plum cherry grape melon juice ripe", "car truck engine road wheel brake",
             "song guitar drum chorus singer violin tune"]  # fmt: skip
    draw = random.Random(0)
    rows = [f"{i},{' '.join(draw.sample(words[i % 3].split(), 4))},{'mail' if i % 2 else 'chat'}"
            for i in range(24)]  # fmt: skip
    (place / "t.csv").write_text("\n".join(["id,text,channel", *rows]) + "\n")
    (place / "new.csv").write_text("\n".join(["id,text", "1,apple pear", "2,road bus"]) + "\n")
    (place / "first.yaml").write_text('- merge: [0, 1]\n- rename: {2: "Refunds"}\n')
    (place / "second.yaml").write_text("- move: {rows: [{row: 1}], to: 2}\n- lock: [2]\n")
    (place / "rename.yaml").write_text('- rename: {0: "Other"}\n')
    (place / "split.json").write_text('[{"unlock": [2]}, {"split": {"cluster": 0, "into": 2}}]')
    run = place / "run"
    for command in (
        ["cluster", place / "t.csv", "-k", 5, "-m", "kmeans", "--encoder", "tfidf", "--out", run,
         "-q", "--id-column", "id", "--levels", "2,3", "--max-outliers", "5%"],
        ["edit", run, place / "first.yaml"], ["edit", run, place / "second.yaml"],
    ):  # fmt: skip
        code, said, strange = call(*command)
        assert code == 0 and strange is None, (said, strange)
    (run / "names.jsonl").write_text(
        '{"status": "answered", "digest": "d", "answer": "Fruit"}\n{"status": "fai'
    )
    return run


def commands(place: Path) -> dict[str, list[object]]:
    """What is called, by name; all of them work on ``place / "case" / "run"``."""
    run, out = place / "case" / "run", place / "case" / "out"
    again = ["cluster", place / "t.csv", "-k", 5, "-m", "kmeans", "--encoder", "tfidf", "-q",
             "--id-column", "id", "--levels", "2,3", "--max-outliers", "5%"]  # fmt: skip
    return {
        "report": ["report", run],
        "report without texts": ["report", run, "--no-texts"],
        "export": ["export", run, "--to", "jsonl,csv", "--out", out],
        "export without texts": ["export", run, "--to", "tsv", "--no-texts", "--out", out],
        "predict": ["predict", run, place / "new.csv"],
        "predict by the model": ["predict", run / "model", place / "new.csv"],
        "compare": ["compare", run, place / "run"],
        "compare by the model": ["compare", place / "run", run, "--by", "model"],
        "compare by words": ["compare", run, run, "--by", "words", "--json"],
        "edit: rename": ["edit", run, place / "rename.yaml"],
        "edit: split": ["edit", run, place / "split.json"],
        "edit: dry run": ["edit", run, place / "split.json", "--dry-run"],
        "undo": ["edit", run, "--undo"],
        "own names": ["name", run, "--own-names"],
        "show request": ["name", run, "--with", "http://127.0.0.1:9/v1", "--model", "m",
                         "--show-request"],
        "check": ["check", run],
        "check the model": ["check", run / "model", "--json"],
        "evaluate": ["evaluate", run / "assignments.csv", "--labels-column", "channel"],
        "inspect": ["inspect", "pairs", run, place / "pairs.csv"],
        "resume": [*again, "--out", run, "--resume"],
        "keep": [*again, "--out", out, "--keep", run],
    }  # fmt: skip


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all values inside a JSON value."""
    yield path
    pairs = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else pairs:
        yield from spots(inner, (*path, key))


def mutate_value(value: Any, draw: random.Random) -> Any:
    """JSON with one place changed."""
    path = draw.choice(list(spots(value)))
    if not path:
        return draw.choice(VALUES)
    out = copy.deepcopy(value)
    place = out
    for key in path[:-1]:
        place = place[key]
    match draw.randrange(6):
        case 0:
            del place[path[-1]]
        case 1 if isinstance(place, list):
            place.insert(path[-1], copy.deepcopy(place[path[-1]]))
        case 2 if isinstance(place, dict):
            place[draw.choice(["x", "../x", "-1", "99", ""])] = place.pop(path[-1])
        case 3 if isinstance(place[path[-1]], (int, float)):
            place[path[-1]] += draw.choice([-1, 1, 7, -100, 10**6])
        case 4 if isinstance(place, list):
            draw.shuffle(place)
        case _:
            place[path[-1]] = draw.choice(VALUES)
    return out


def mutate_bytes(data: bytes, draw: random.Random) -> bytes:
    """Bytes with a few of them changed, cut out, doubled or exchanged for others."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(out) or 1)
        match draw.randrange(6):
            case 0:
                out[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                del out[place : place + draw.choice([1, 1, 40, 10_000])]
            case 2:
                out[place:place] = out[place : place + draw.randint(1, 40)]
            case 3:
                words = [b"null", b"-1", b"1e9", b"{}", b"[[[", b'"', b"\n", b",", b"\xff", b"\x00"]
                out[place : place + 4] = draw.choice(words)
            case 4:
                out = out[:place]
            case 5:
                lines = bytes(out).split(b"\n")
                draw.shuffle(lines)
                out = bytearray(b"\n".join(lines))
    return bytes(out)


def mutate(file: Path, draw: random.Random) -> None:
    """Change a file so that what still links to its content keeps it."""
    data = file.read_bytes()
    file.unlink()
    kind = draw.random()
    if kind < 0.02:
        os.mkfifo(file)
    elif kind < 0.04:
        file.symlink_to(draw.choice(["/dev/zero", "/etc/hostname", "nothing", ".."]))
    elif kind < 0.05:
        file.mkdir()
    elif kind < 0.06:
        file.touch()
        os.truncate(file, 1 << 33)
    elif kind < 0.08:
        pass  # it is gone
    elif file.suffix == ".json" and kind < 0.9:
        value = json.loads(data)
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            value = mutate_value(value, draw)
        file.write_text(json.dumps(value), encoding="utf-8")
    else:
        file.write_bytes(mutate_bytes(data, draw))


def list_again(model: Path) -> None:
    """Let the digests of a changed model fit, as somebody does who wants it to be loaded."""
    from coterie._trust import digest_of

    config = model / "config.json"
    if config.is_symlink() or not config.is_file() or config.stat().st_size > 1 << 20:
        return
    try:
        saved = json.loads(config.read_text("utf-8"))
        for name, said in saved["files"].items():
            if (model / name).is_file() and (model / name).stat().st_size < 1 << 20:
                said |= {"bytes": (model / name).stat().st_size, "sha256": digest_of(model / name)}
        config.write_text(json.dumps(saved), "utf-8")
    except Exception:
        pass


def state(place: Path) -> dict[str, tuple[float, int]]:
    """Files outside the case, with their times and sizes."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if not name.startswith("case/run") and not name.startswith("case/out"):
            seen = path.lstat()
            found[name] = (
                0 if path.is_dir() else seen.st_mtime_ns,
                0 if path.is_dir() else seen.st_size,
            )
    return found


class Fuzzer:
    """Tries cases one after the other; ``faults`` are those that should not have happened.

    Parameters
    ----------
    place : Path
        An empty folder.
    seed : int
    measure : bool, default=True
        Also look at time and memory, for which every command has to be called twice beforehand.
    """

    def __init__(self, place: Path, seed: int, *, measure: bool = True) -> None:
        self.place, self.seed, self.measure = place, seed, measure
        self.run = make_run(place)
        (place / "pairs.csv").write_text("text1,text2\napple pear,road bus\n")
        names = sorted(p.relative_to(self.run) for p in self.run.rglob("*") if p.is_file())
        kept = [name for name in names if "files" in name.parts]  # for undo
        self.files = [n for n in names if n not in kept and n.suffix not in (".html", ".lock")]
        self.files += kept[:2]
        self.commands = commands(place)
        self.codes: Counter[int] = Counter()
        self.slowest = self.largest = 0.0
        self.faults: list[str] = []
        signal.signal(signal.SIGALRM, stop)
        self.usual = {name: self._usual(name) for name in self.commands} if measure else {}

    def _usual(self, name: str) -> float:
        """Processor time of a command on the run as it is."""
        begun = 0.0
        for _ in range(2):  # the first time, modules are imported
            self._copy()
            begun = time.process_time()
            code, said, strange = call(*self.commands[name])
            assert code in (0, 2) and strange is None, (name, said, strange)
        return time.process_time() - begun

    def _copy(self) -> Path:
        case = self.place / "case"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir()
        # Of links: a command that wrote into a file instead of replacing it would be seen.
        shutil.copytree(self.run, case / "run", copy_function=os.link)
        return case / "run"

    def __call__(self, number: int) -> None:
        draw = random.Random(f"{self.seed} {number}")
        run = self._copy()
        changed = draw.sample(self.files, draw.choice([1, 1, 1, 2]))
        for file in changed:
            mutate(run / file, draw)
        if any("model" in file.parts for file in changed) and draw.random() < 0.8:
            list_again(run / "model")
        (name,) = draw.choices(
            list(self.commands), [1 if name in LONG else 4 for name in self.commands]
        )
        table = (run / "assignments.csv").resolve()
        if name == "evaluate" and not (table.is_file() and table.stat().st_size < 1 << 20):
            name = "report"  # a pipe that a user names is waited for, and a file is read
        before = state(self.place)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.process_time()
        signal.alarm(HANGS)
        code, said, strange = call(*self.commands[name])
        signal.alarm(0)
        took = time.process_time() - begun - self.usual.get(name, 0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1000
        self.codes[code] += 1
        self.slowest, self.largest = max(self.slowest, took), max(self.largest, grown)
        after = state(self.place)
        wrong = []
        if strange is not None or "unexpected error" in said or "Traceback" in said:
            wrong.append(f"{strange!r} {said.strip()[-300:]}")
        if code not in (0, 1, 2, 3):
            wrong.append(f"exit code {code}")
        if after != before:
            wrong.append(f"wrote outside: {sorted(set(after.items()) ^ set(before.items()))[:4]}")
        if self.measure and took > SECONDS:
            wrong.append(f"took {took:.1f} s more than usual")
        if self.measure and grown > MEGABYTES:
            wrong.append(f"grew by {grown:.0f} MB")
        if wrong:
            files = ", ".join(map(str, changed))
            self.faults.append(f"case {number} ({name}; {files}): {'; '.join(wrong)}")


class HangError(BaseException):
    """A command waits for something."""


def stop(*_: object) -> None:
    """What the clock does to a command that hangs."""
    raise HangError("".join(traceback.format_stack()[-6:]))


def say(text: str) -> None:
    """A line of the report."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def fuzz(
    cases: int, seed: int = 0, first: int = 0, *, measure: bool = True, told: Any = say
) -> Fuzzer:
    """Try so many cases; each fault is told at once."""
    memory = Path("/dev/shm")  # where flushing costs nothing
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        target = Fuzzer(Path(place), seed, measure=measure)
        for number in range(first, first + cases):
            seen = len(target.faults)
            target(number)
            for fault in target.faults[seen:]:
                told(fault)
            if number % 100 == 99:
                gc.collect()
            if number % 500 == 499:
                told(f"{number + 1 - first:,} cases, {len(target.faults)} faults, "
                     f"codes {dict(target.codes)}, slowest {target.slowest:.2f} s more than "
                     f"usual, largest {target.largest:.0f} MB")  # fmt: skip
        return target


def main() -> None:
    """Fuzz from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    done = fuzz(given.cases, given.seed, given.first)
    say(f"{given.cases:,} cases, {len(done.faults)} faults, codes {dict(done.codes)}")
    sys.exit(1 if done.faults else 0)


if __name__ == "__main__":
    main()
