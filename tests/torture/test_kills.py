"""kill -9 at every moment of a command: what is left can be continued, to the very same files."""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from coterie._util.folders import delete, held, one_state
from coterie._util.trust import read_json
from coterie.runs.label import Labeller
from endpoint_server import EndpointServer, send

SETTINGS = ["steps=6", "batch_size=8", "checkpoint_every=0", "lr=1e-3", "head_lr=1e-2"]
DEC = ["ae_steps=6", "steps=6", "ae_layers=[8,4]", "refresh_every=3", "checkpoint_every=0"]
OPTIONS = {
    "sccl": ["-m", "sccl", "--levels", "2,3", "write=jsonl", *SETTINGS],
    "dec": ["-m", "dec", "--max-outliers", "10%", *DEC],
    "kmeans": ["-m", "kmeans", "write=xlsx"],
    "sample": ["-m", "kmeans", "fit_sample=12", "write=parquet"],
}
EDITS = [{"merge": [0, 1], "name": "Both"}, {"rename": {"2": "Two"}}]
EDIT = ["edit", "run", "e.json"]


def cluster(kind: str, k: int = 3) -> list[str]:
    """A command that clusters; ``KEY=VALUE`` is a setting of the method."""
    told = ["cluster", "t.csv", "-k", str(k), "--encoder", "tfidf", "--out", "run", "-q"]
    for option in OPTIONS[kind]:
        told += ["--set", option] if re.fullmatch(r"[a-z_]+=.*", option) else [option]
    return told


def predict(name: str) -> list[str]:
    return ["predict", "run", "t.csv", "--out", name, "--overwrite"]


@dataclass(frozen=True)
class Case:
    """A command that is killed."""

    command: list[str]
    again: list[str] = field(default_factory=list)  # what is added to go on
    before: list[list[str]] = field(default_factory=list)  # commands that come first
    kills: int | None = 20  # in the long version; None: one before each change of a file


FIRST = cluster("kmeans")
QUICK = ("sccl", "overwrite", "edit", "update", "predict csv")
CASES = {
    **{kind: Case(cluster(kind), ["--resume"], kills=None) for kind in OPTIONS},
    "overwrite": Case([*cluster("kmeans", 2), "--overwrite"], [], [FIRST], None),
    "edit": Case(EDIT, [], [FIRST], None),
    "undo": Case(["edit", "run", "--undo"], [], [FIRST, EDIT], None),
    "update": Case(["update", "run", "n.csv"], [], [FIRST], 40),
    "predict csv": Case(predict("p.csv"), [], [FIRST], None),
    "predict jsonl": Case(predict("p.jsonl"), [], [FIRST], None),
    "predict parquet": Case(predict("p.parquet"), [], [FIRST], None),
    "export": Case(["export", "run", "--to", "csv,jsonl"], [], [FIRST]),
    "report": Case(["report", "run", "--no-texts"], [], [FIRST]),
    "name": Case(["name", "run", "--with", "URL", "--model", "tiny", "-q"], [], [FIRST], 30),
}
OPENERS = [
    predict("x.csv"),
    ["compare", "run", "run"],
    ["export", "run", "--to", "jsonl", "--out", "elsewhere"],
]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Gives every cluster a name."""

    class Names(EndpointServer):
        def post(self, handler: Any, body: Any) -> None:
            lines = body["messages"][-1]["content"].splitlines()
            texts = [line[2:] for line in lines if line.startswith("- ")]
            said = "\n".join(["Name: Given name", *(f"Quote: {text}" for text in texts[:2])])
            send(handler, 200, {"choices": [{"message": {"content": said}}]})

    with Names() as server:
        yield server.url


@dataclass
class Place:
    """A folder in which commands run and are killed, again and again from the same start."""

    killer: Any
    path: Path
    start: Path
    fingerprints: Callable[[Path], dict[str, str]]

    def run(self, *command: str, **told: object) -> int:
        return int(self.killer.run(self.path, *command, **told))

    def must(self, *command: str, told: str = "") -> None:
        assert self.run(*command) == 0, f"{told}: {command}\n{self.killer.said()}"

    def again(self) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(self.start, self.path)

    def keep(self) -> None:
        shutil.copytree(self.path, self.start)

    def results(self) -> dict[str, str]:
        """Everything there."""
        return self.fingerprints(self.path)

    def opened(self, number: int, told: str) -> dict[str, str]:
        """The run as it is after one of the commands that read it."""
        self.must(*OPENERS[number % len(OPENERS)], told=told)
        for left in ("x.csv", "elsewhere"):
            delete(self.path / left)
        return settled(self.results())


def settled(found: dict[str, str]) -> dict[str, str]:
    """Files without those that the next writer needs, or deletes."""
    waiting = ("p.", ".p.", ".run.coterie-")
    return {name: digest for name, digest in found.items() if not name.startswith(waiting)}


@pytest.fixture
def place(killer, fast_disk: Path, topics, fingerprints) -> Place:
    made = Place(killer, fast_disk / "place", fast_disk / "start", fingerprints)
    made.path.mkdir()
    rows = [f"{i},{text}" for i, text in enumerate(topics[0][:36])]
    for name, part in (("t.csv", rows[:24]), ("n.csv", [f"n{row}" for row in rows[24:]])):
        (made.path / name).write_text("\n".join(["id,text", *part]) + "\n")
    (made.path / "e.json").write_text(json.dumps(EDITS))
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_killed_command_is_continued_to_the_same_files(
    name: str, place: Place, endpoint: str, request, tried
) -> None:
    case, slow = CASES[name], request.config.getoption("--slow")
    if not slow and name not in QUICK:
        pytest.skip("takes minutes: run with --slow")
    command = [endpoint if part == "URL" else part for part in case.command]
    for first in case.before:
        place.must(*first)
    place.keep()
    old = place.results()
    place.must(*command)
    new, moments = place.results(), place.killer.moments()
    kills = min(len(moments), (case.kills or len(moments)) if slow else 3)
    seen: set[str] = set()
    for number in sorted({int((i + 0.5) * len(moments) / kills) for i in range(kills)}):
        place.again()
        assert place.run(*command, kill_at=number) == -9
        left = re.sub(r"\.\d+-\w+\.tmp", ".N.tmp", json.dumps(place.results()))
        if left in seen:
            continue
        seen.add(left)
        told = f"{name} killed before {moments[number]}"
        if case.before:  # any command that opens the run finds the old state or the new one
            assert place.opened(number, told) in (settled(old), settled(new)), told
        go_on(name, case, place, command, new, told)
        assert place.results() == new, told
        tried["kills, each state of the disk once"] += 1
    assert len(seen) > 1


def go_on(
    name: str, case: Case, place: Place, command: list[str], new: dict[str, str], told: str
) -> None:
    """Repeat the command, as its user would."""
    done = settled(place.results()) == settled(new)
    if name in ("edit", "undo") and done:  # not done twice
        place.must("report", "run", told=told)  # the next writer deletes what is left
    elif name in OPTIONS and done:  # the run is there
        assert place.run(*command, *case.again) == 2
        place.must("report", "run", told=told)
    else:
        place.must(*command, *case.again, told=told)


def test_an_edit_killed_between_two_renames_is_mended_by_any_verb(place: Place) -> None:
    place.must(*FIRST)
    place.keep()
    place.must(*EDIT)
    new, moments = place.results(), place.killer.moments()
    moved = moments.index("os.rename run")
    verbs = [["report", "run"]]
    for verb in (*OPENERS, *verbs, [*EDIT, "--dry-run"]):
        place.again()
        assert place.run(*EDIT, kill_at=moved + 1) == -9
        assert not (place.path / "run").exists()  # only the hidden folders are there
        code = place.run(*verb)
        assert code == 0 or verb[0] == "edit", place.killer.said()
        for left in ("x.csv", "elsewhere"):
            delete(place.path / left)
        assert settled(place.results()) == settled(new), verb


def edit_for_ever(run: str, edits: str, end: float) -> None:
    from coterie.runs.editing import edit, undo

    while time.monotonic() < end:
        edit(run, edits)
        undo(run)


@pytest.mark.parametrize("reads", [300, pytest.param(100_000, marks=pytest.mark.slow)])
def test_reads_during_edits_see_one_state(reads: int, place: Place, tried) -> None:
    """Of ten reads one loads the model as ``coterie predict`` does, nine read three files."""
    place.must(*FIRST)
    run = place.path / "run"

    def light() -> tuple[int, int, bool]:
        """Clusters of the model, clusters with names, and whether the manifest tells of edits."""
        model = read_json(run / "model" / "config.json")["n_clusters"]
        named = read_json(run / "clusters.json")["clusters"]
        return model, len(named), "editing" in read_json(run / "manifest.json")

    started = multiprocessing.get_context("spawn" if sys.platform == "darwin" else "fork")
    writer = started.Process(
        target=edit_for_ever, args=(str(run), str(place.path / "e.json"), time.monotonic() + 3600)
    )
    writer.start()
    seen = set()
    try:
        for number in count():
            if number >= reads and len(seen) == 2:  # both states were met
                break
            if number % 10:
                found = one_state([run], light)
                assert found in ((3, 3, False), (2, 2, True)), f"torn: {found}"
                seen.add(found)
                continue
            labeller = Labeller.read(run)
            names = sorted(cluster.name for cluster in labeller.clusters or [])
            assert labeller.model.n_clusters_ == len(names)
            assert ("Both" in names) == (len(names) == 2), f"torn: {names}"
        assert writer.is_alive()
    finally:
        writer.terminate()
        writer.join()
    tried["reads during edits"] += number


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_and_resume_give_the_identical_result(times: int, place: Place) -> None:
    command = cluster("sccl")
    place.keep()
    place.must(*command)
    whole, moments = place.results(), place.killer.moments()
    first = [
        n
        for n, what in enumerate(moments)
        if "run/training/checkpoint/.state" in what and "rename" in what
    ][1]
    place.again()
    # Once: the step is finished and kept. Twice: at once, in the middle of that.
    asked = [first, first + 2][:times]
    assert place.run(*command, interrupt_at=asked) == 130, place.killer.said()
    assert "--resume" in place.killer.said() and "Traceback" not in place.killer.said()
    run = place.path / "run"
    assert (run / "training" / "checkpoint" / "state.safetensors").exists()
    assert not (run / "report.html").exists()
    place.must(*command, "--resume")
    assert place.results() == whole
    assert not (run / "training").exists()


BRIEF = {  # a command, and how it goes on
    "cluster": (cluster("sccl"), ["--resume"]),
    "predict": (["predict", "run", "big.csv", "--out", "labels.csv", "--overwrite"], []),
}
WHOLE = {"labels.csv", "views.csv"}  # never seen half


@pytest.mark.slow
@pytest.mark.parametrize("name", BRIEF)
def test_commands_killed_at_random_times(name: str, place: Place) -> None:
    """At forty moments that no file marks: in the middle of reading, encoding, writing."""
    draw = random.Random(1)
    command, resume = BRIEF[name]
    rows = 100 * (place.path / "t.csv").read_text().splitlines()[1:]
    (place.path / "big.csv").write_text("id,text\n" + "".join(f"{row}\n" for row in rows))
    if name != "cluster":
        place.must(*FIRST)
    place.keep()
    begun = time.monotonic()
    place.must(*command)
    took, expected, kills = time.monotonic() - begun, place.results(), 0
    for _ in range(200):
        place.again()
        code, more = -9, []
        for _ in range(draw.randint(1, 3)):
            if code:  # else it was quicker than the kill
                code = place.run(*command, *more, kill_after=draw.random() * took)
                kills, more = kills + (code == -9), resume
                took *= 1.0 if code else 0.9  # the machine is less busy than at first
                left = {k: v for k, v in place.results().items() if k in WHOLE}
                assert left.items() <= expected.items()  # there and complete, or not there
        if code:
            place.must(*command, *more)
        assert place.results() == expected
        if kills >= 40:
            return
    pytest.fail(f"only {kills} commands were killed in time")


def test_two_processes_on_one_folder_refuse_each_other(place: Place) -> None:
    with held(place.path / "run"):
        for more in ([], ["--resume"], ["--overwrite"]):
            assert place.run(*FIRST, *more) == 2
            said = place.killer.said()
            assert "another process" in said and "is working on run" in said
        assert not (place.path / "run").exists()
    place.must(*FIRST)
    assert not list(place.path.glob(".*"))
