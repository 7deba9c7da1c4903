"""Kills without an exchange of folders, and reads during edits: one state, nothing left behind."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from coterie._folders import delete, one_state
from coterie._trust import read_json
from coterie.runs.label import Labeller

CLUSTER = ["cluster", "t.csv", "-m", "kmeans", "--encoder", "tfidf", "--out", "run", "-q"]
EDITS = [{"merge": [0, 1], "name": "Both"}, {"rename": {"2": "Two"}}]


@dataclass(frozen=True)
class Case:
    """A command that is killed.

    Attributes
    ----------
    command : list of str
    again : list of str
        What is added to go on.
    before : list of list of str
        Commands that come first.
    made : str
        What it writes: the run, or a file.
    kills : int
        In the long version.
    """

    command: list[str]
    again: list[str] = field(default_factory=list)
    before: list[list[str]] = field(default_factory=list)
    made: str = "run"
    kills: int = 20


FIRST = [*CLUSTER, "-k", "3"]
CASES = {
    "cluster": Case(FIRST, ["--resume"], kills=40),
    "overwrite": Case([*CLUSTER, "-k", "2", "--overwrite"], ["--resume"], [FIRST], kills=40),
    "edit": Case(["edit", "run", "e.json"], [], [FIRST], kills=40),
    "update": Case(["update", "run", "n.csv"], [], [FIRST], kills=40),
    "refit": Case(["update", "run", "n.csv", "--refit", "--yes"], [], [FIRST]),
    "undo": Case(["edit", "run", "--undo"], [], [FIRST, ["edit", "run", "e.json"]]),
    "predict": Case(
        ["predict", "run", "t.csv", "--out", "p.csv"], ["--resume"], [FIRST], "p.csv", 15
    ),
    "export": Case(["export", "run", "--to", "tsv,jsonl"], [], [FIRST]),
    "report": Case(["report", "run", "--no-texts"], [], [FIRST]),
    "augment": Case(
        ["augment", "t.csv", "--kind", "charswap", "-q", "--out", "w.csv"], [], [], "w.csv", 8
    ),
    "name": Case(["name", "run", "--with", "URL", "--model", "tiny", "-q"], [], [FIRST], kills=30),
}
OPENERS = [
    ["predict", "run", "t.csv", "--out", "x.csv"],
    ["compare", "run", "run"],
    ["export", "run", "--to", "tsv", "--out", "elsewhere"],
]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Gives every cluster a name."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"choices": [{"message": {"content": "Given name"}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


@pytest.fixture(scope="module")
def table(topics) -> str:
    return "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(topics[0][:24]))


@pytest.fixture(scope="module")
def later(topics) -> str:
    """Rows that an update adds."""
    return "id,text\n" + "".join(f"n{i},{text}\n" for i, text in enumerate(topics[0][24:36]))


@dataclass
class Place:
    """A folder in which commands run and are killed, again and again from the same start."""

    killer: Any
    path: Path
    start: Path
    fingerprints: Callable[[Path], dict[str, str]]

    def run(self, *command: str, **told: object) -> int:
        return int(self.killer.run(self.path, *command, no_exchange=True, **told))

    def must(self, *command: str, told: str = "") -> None:
        assert self.run(*command) == 0, f"{told}: {command}\n{self.killer.said()}"

    def again(self) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(self.start, self.path)

    def keep(self) -> None:
        shutil.copytree(self.path, self.start)

    def results(self) -> dict[str, str]:
        """Everything there; of logs, which tell when something was done, the names."""
        found = self.fingerprints(self.path)
        logs = ("run/edits.jsonl", "run/names.jsonl")
        return {name: "" if name in logs else digest for name, digest in found.items()}

    def opened(self, number: int, told: str) -> dict[str, str]:
        """The run as it is after one of the commands that read it; without what goes on later."""
        self.must(*OPENERS[number % len(OPENERS)], told=told)
        for left in ("x.csv", "elsewhere"):
            delete(self.path / left)
        return settled(self.results())


def settled(found: dict[str, str]) -> dict[str, str]:
    """Files without those that a command that was cut off needs to go on."""
    waiting = ("p.", ".p.", "run/.next", "run/.lock", "run/names.jsonl")
    return {name: digest for name, digest in found.items() if not name.startswith(waiting)}


@pytest.fixture
def place(killer, fast_disk: Path, table: str, later: str, fingerprints) -> Place:
    made = Place(killer, fast_disk / "place", fast_disk / "start", fingerprints)
    made.path.mkdir()
    (made.path / "t.csv").write_text(table)
    (made.path / "n.csv").write_text(later)
    (made.path / "e.json").write_text(json.dumps(EDITS))
    return made


@pytest.mark.parametrize("name", CASES)
def test_kills_without_an_exchange_lose_and_leave_nothing(
    name: str, place: Place, endpoint: str, request, tried
) -> None:
    case, slow = CASES[name], request.config.getoption("--slow")
    if not slow and name not in ("overwrite", "edit", "predict", "update"):
        pytest.skip("takes minutes: run with --slow")
    command = [endpoint if part == "URL" else part for part in case.command]
    for first in case.before:
        place.must(*first)
        (place.path / "run" / "notes.txt").write_text("mine")
    place.keep()
    old = place.results()
    place.must(*command)
    new, moments = place.results(), place.killer.moments()
    kills = min(len(moments), case.kills if slow else 3)
    for number in sorted({int((i + 0.5) * len(moments) / kills) for i in range(kills)}):
        place.again()
        assert place.run(*command, kill_at=number) == -9
        told = f"{name} killed before {moments[number]}"
        if case.before:  # any command that opens the run finds the old state or the new one
            assert place.opened(number, told) in (settled(old), settled(new)), told
        go_on(name, case, place, command, new, told)
        assert place.results() == new, told
        tried["kills without an exchange of folders"] += 1


def go_on(
    name: str, case: Case, place: Place, command: list[str], new: dict[str, str], told: str
) -> None:
    """Repeat the command, as its user would."""
    if name in ("edit", "undo", "refit") and settled(place.results()) == settled(
        new
    ):  # not done twice
        place.must("report", "run", told=told)  # the next writer takes the file of the lock
    elif name == "overwrite" and not (place.path / "run/.next/manifest.json").exists():
        place.must(*command, told=told)
    else:
        kept = [part for part in command if part != "--overwrite"]
        place.must(*kept, *case.again, told=told)


def edit_for_ever(run: str, edits: str, end: float) -> None:
    from coterie.editing import edit, undo

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
        named = read_json(run / "clusters.json")
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


def test_an_edit_killed_between_two_renames_is_mended_by_any_verb(place: Place) -> None:
    place.must(*FIRST)
    place.keep()
    command = ["edit", "run", "e.json"]
    place.must(*command)
    new, moments = place.results(), place.killer.moments()
    moved = moments.index("os.rename run")
    verbs = [
        ["report", "run"],
        ["check", "run"],
        ["name", "run", "--own-names"],
    ]
    for verb in (*OPENERS, *verbs, ["edit", "run", "e.json", "--dry-run"]):
        place.again()
        assert place.run(*command, kill_at=moved + 1) == -9
        assert not (place.path / "run").exists()  # only the hidden folders are there
        code = place.run(*verb)
        assert code == 0 or verb[0] == "edit", place.killer.said()
        for left in ("x.csv", "elsewhere"):
            delete(place.path / left)
        assert settled(place.results()) == settled(new), verb
