"""Crafted and damaged run and model folders: refused in words, and nothing else happens."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import commands
import coterie
from coterie._util.files import append
from coterie._util.trust import check_shape, inside, parse_json
from coterie.errors import DataError, UsageError
from coterie.methods.train.history import History
from said import raises, says

EDITS = '- merge: [0, 1]\n- rename: {2: "Refunds"}\n'


@dataclass
class Done:
    """How a command ended in a process of its own."""

    exit_code: int
    output: str


@pytest.fixture
def isolated(killer, tmp_path: Path) -> Callable[..., Done]:
    """Runs a command in another process, which is killed if it hangs: for pipes and devices."""

    def call(*arguments: object, code: int | None = None) -> Done:
        done = Done(killer.run(tmp_path, *(str(one) for one in arguments)), killer.said())
        assert done.exit_code != -9 and "unexpected error" not in done.output, done.output
        assert code is None or done.exit_code == code, done.output
        return done

    return call


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """What hangs in this process fails."""

    def stop(*_: object) -> None:
        raise TimeoutError("hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(600)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def call(*arguments: object, code: int | None = None):
    """A command in this process; nothing unexpected happens in it."""
    done = commands.run(*arguments, code=code)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "unexpected error" not in done.output, done.output
    return done


@pytest.fixture(scope="module")
def table(topics, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("table") / "t.csv"
    rows = [f"{i},{text},{'mail' if i % 2 else 'chat'}" for i, text in enumerate(topics[0][:40])]
    file.write_text("\n".join(["id,text,channel", *rows]) + "\n")
    return file


@pytest.fixture(scope="module")
def original(table: Path) -> Path:
    """A finished run with levels, outliers and an edit that can be undone."""
    out, edits = table.parent / "run", table.parent / "e.yaml"
    call("cluster", table, "-k", 5, "-m", "kmeans", "--encoder", "tfidf", "--out", out, "-q",
         "--id-column", "id", "--levels", "2,3", "--max-outliers", "5%", code=0)  # fmt: skip
    edits.write_text(EDITS)
    call("edit", out, edits, code=0)
    return out


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "deep" / "er" / "run"))


def rewrite(file: Path, **values: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **values}))


def within(seconds: float, megabytes: float, work: Callable[[], object]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    work()
    assert time.process_time() - begun < seconds
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1000 * megabytes


# Names of files ---------------------------------------------------------------------------------

LEADING_OUT = ["../../secret", "/etc/hostname", "a/../../b", "", ".", "C:\\x", "a\x00b", "..", 3]


@pytest.mark.parametrize("name", LEADING_OUT)
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: object) -> None:
    with raises(DataError, "which is outside"):
        inside(tmp_path, name)


def test_a_name_that_leads_through_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert inside(tmp_path, "a/x.json") == tmp_path / "a" / "x.json"
    with raises(DataError, "may contain files"):
        inside(tmp_path, "b/x.json")


def planted(place: Path, kind: str, text: str = "mine\n") -> Path:
    """Something that has the name of a file of coterie's; returns the file that it leads to."""
    target = place.parent / "thesis.txt"
    target.write_text(text)
    if kind == "link":
        place.symlink_to(target)
    elif kind == "dangling link":
        place.symlink_to(place.parent / "nothing")
    elif kind == "hard link":
        os.link(target, place)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    return target


def state(place: Path, target: Path) -> tuple[object, ...]:
    found = place.lstat()
    return found.st_ino, found.st_mode, target.read_text(), (place.parent / "nothing").exists()


PLANTED = ["link", "dangling link", "hard link", "pipe", "folder"]


@pytest.mark.parametrize("kind", PLANTED)
def test_a_lock_that_is_not_ours_is_refused(run: Path, isolated, kind) -> None:
    place = run.with_name(".run.coterie-lock")
    target = planted(place, kind)
    before = state(place, target)
    done = isolated("edit", run, "--undo", code=3)
    assert says(done.output, "not a file of coterie's", str(place)), done.output
    assert state(place, target) == before


WRITTEN: dict[str, Callable[[Path], object]] = {
    "history.jsonl": lambda path: History(file=path).add({"step": 1}),
    "results.jsonl": lambda path: append(path, b"{}"),
}


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_is_written_through_a_name(tmp_path: Path, name: str, kind: str) -> None:
    target = planted(tmp_path / name, kind, "")
    if kind == "hard link":  # a copy of the run that shares its files
        WRITTEN[name](tmp_path / name)
        assert not (tmp_path / name).samefile(target)
    else:
        with pytest.raises(DataError) as caught:
            WRITTEN[name](tmp_path / name)
        assert any(
            part in str(caught.value) for part in ("not a file of coterie's", "runs and models")
        )
    assert target.read_text() == "" and not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("place", ["earlier", "earlier/0001", "earlier/0001/clusters.json"])
def test_undo_touches_nothing_outside_the_run(run: Path, tmp_path: Path, place: str) -> None:
    away = Path(shutil.move(run / place, tmp_path / "away"))
    (run / place).symlink_to(away)
    before, theirs = commands.content(run), away.lstat().st_mtime_ns
    done = call("edit", run, "--undo", code=3)
    assert says(done.output, "is a link") or says(done.output, "no edits to undo"), done.output
    assert commands.content(run) == before and away.lstat().st_mtime_ns == theirs


MISFITS: dict[str, tuple[str, Callable[[dict], object], str]] = {
    "a count": ("manifest.json", lambda m: m["data"].update(rows="40"), "data.rows"),
    "a part": ("manifest.json", lambda m: m.pop("data"), "data"),
    "a number": ("clusters.json", lambda m: m["clusters"][0].update(id=10**9), "has the number"),
    "twice": ("clusters.json", lambda m: m["clusters"].extend(m["clusters"]), "occurs twice"),
    "an example": ("clusters.json", lambda m: m["clusters"][0].update(examples=[3]), "examples.0"),
    "a place": ("map.json", lambda m: m["x"].append(1.0), "differ in number"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_run_that_does_not_fit_is_refused_with_file_and_field(run: Path, name: str) -> None:
    file, harm, field = MISFITS[name]
    found = json.loads((run / file).read_text("utf-8"))
    harm(found)
    (run / file).write_text(json.dumps(found))
    with raises(DataError, str(run / file), "is damaged", field):
        coterie.open_run(run)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot be read as a table"),
        ("text,text,cluster\na,b,0\n", "names a column twice"),
        ("text,name\na,b\n", "is it the assignments.csv"),
        ("text,cluster,name\na,0,x\nb,1\n", "Row #3: Expected 3 columns"),
        ("text,cluster,name\na,-2,x\n", "numbers that no cluster has"),
    ],
)
def test_a_damaged_table_is_refused_with_the_place(run: Path, content: str, said: str) -> None:
    (run / "assignments.csv").write_text(content)
    with raises(DataError, said):
        coterie.open_run(run)


def test_a_model_that_is_a_link_is_refused(run: Path, table: Path, tmp_path: Path) -> None:
    (run / "model").rename(tmp_path / "elsewhere")
    (run / "model").symlink_to(tmp_path / "elsewhere")
    assert says(call("predict", run, table, code=3).output, "may contain files")
    assert (run / "model").is_symlink()


KINDS = {"pipe": os.mkfifo, "link": lambda file: file.symlink_to("/dev/zero"), "folder": Path.mkdir}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("manifest.json", "pipe"), ("map.json", "folder"), ("assignments.csv", "link"),
     ("model/config.json", "link"), ("model/model.safetensors", "pipe"),
     ("earlier/0001/clusters.json", "pipe")],
)  # fmt: skip
def test_what_is_no_file_is_not_opened(run: Path, table: Path, isolated, name, kind) -> None:
    (run / name).unlink()
    KINDS[kind](run / name)
    reader = ["predict", run, table] if name.startswith("model/") else ["report", run]
    isolated(*(["edit", run, "--undo"] if name[0] == "e" else reader), code=3)


# Sizes ------------------------------------------------------------------------------------------


SPARSE = {  # which verb reads it, and what that may take
    "manifest.json": ("report", 50),
    "model/config.json": ("predict", 50),
    "model/outliers.safetensors": ("predict", 50),
    "assignments.csv": ("export", 250),  # a table without lines
}


@pytest.mark.parametrize("name", SPARSE)
def test_a_sparse_file_of_ten_gigabytes_is_not_read(run: Path, table, name: str) -> None:
    verb, megabytes = SPARSE[name]
    os.truncate(run / name, 10 << 30)
    told = {"export": ["--out", run.parent / "out"], "predict": [table], "report": []}[verb]
    within(5, megabytes, lambda: call(verb, run, *told, code=3))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '"\\ud800"', "9" * 5000, "\xff", "nul", ""],
)  # fmt: skip
def test_json_that_is_not_read(text: str) -> None:
    with pytest.raises(DataError):
        parse_json(text.encode("latin-1"), "a.json")


def test_shapes_name_the_place() -> None:
    with raises(DataError, "a.b[1] is damaged: 3"):
        check_shape({"b": ["x", 3]}, {"b": [str]}, "a")


@pytest.mark.parametrize(
    ("name", "text"),
    [("e.yaml", "- merge: " + "[" * 50_000), ("e.yaml", "- " * 50_000), ("e.yaml", "{" * 50_000),
     ("e.json", json.dumps({str(i): 1 for i in range(60_000)})), ("e.json", "[" * 100_000),
     ("e.json", '[{"merge": [0, 1], "merge": [0, 1]}]'), ("e.yaml", "- merge: [0, " + "9" * 5000),
     ("e.yaml", "- merge: [0, " + "9" * 5000 + "]"), ("e.yaml", "- a: 1\n" * 1_500_000)],
)  # fmt: skip
def test_edits_that_are_none_are_refused_at_once(run: Path, tmp_path: Path, name, text) -> None:
    (tmp_path / name).write_text(text)

    def refused() -> None:
        assert len(call("edit", run, tmp_path / name, code=3).output) < 1000

    within(4, 100, refused)


def test_a_file_or_nothing_is_no_folder(run: Path, table: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(run.parent)
    Path("existing.txt").write_text("mine")
    quick = ["cluster", table, "-k", 3, "--encoder", "tfidf"]
    for more in ([], ["--overwrite"], ["--resume"]):
        done = call(*quick, "--out", "existing.txt", *more, code=2)
        assert says(done.output, "is a file; a run")
    with raises(UsageError, "is a file; a run"):
        coterie.load(run).save("existing.txt")
    assert Path("existing.txt").read_text() == "mine"
    assert says(call("cluster", "", code=2).output, "there is no file")


# Streams and messages ---------------------------------------------------------------------------


def test_a_stream_that_is_missing_is_empty(monkeypatch) -> None:
    from coterie.cli.streams import open_streams

    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    open_streams()
    sys.stderr.write("nobody hears it")
    sys.stdout.write("a")
    assert sys.stdin.buffer.read() == b""


def test_a_pipe_of_another_encoding_gets_utf8(monkeypatch, tmp_path: Path) -> None:
    from coterie.cli.streams import open_streams

    with (tmp_path / "out").open("w", encoding="latin-1") as file:
        monkeypatch.setattr(sys, "stdout", file)
        open_streams()
        file.write("中\n")
    assert (tmp_path / "out").read_text("utf-8") == "中\n"


def test_an_unknown_fault_is_one_line_and_a_log(run: Path, monkeypatch, tmp_path: Path) -> None:
    import tempfile

    import coterie.runs.store

    def broken(folder: Path) -> None:
        raise ZeroDivisionError("as never seen\nbefore")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(coterie.runs.store, "read_manifest", broken)
    done = commands.run("report", run, code=1)
    assert isinstance(done.exception, SystemExit)
    said = done.output.strip()
    assert "\n" not in said and "ZeroDivisionError: as never seen before" in said
    (log,) = tmp_path.glob("coterie-*.log")
    assert str(log) in said and "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("verb", ["edit", "predict"])
def test_a_full_disk_names_a_remedy_that_the_verb_has(verb, run: Path, table, monkeypatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    more = {"edit": ["rename: {2: New}"], "predict": [table, "--out", run.parent / "p.csv"]}
    done = call(verb, run, *more[verb], code=1)
    assert "disk is full" in done.output


# Endpoints --------------------------------------------------------------------------------------


@pytest.fixture
def raw_server() -> Iterator[Callable[[Callable], str]]:
    """A server that speaks bytes, and stops when the test ends."""
    ended, spoken = threading.Event(), []

    class Talk(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            with suppress(OSError):
                spoken[0](self.request, ended)

    def serve(speak: Callable[[socket.socket, threading.Event], None]) -> str:
        spoken.append(speak)
        return f"http://127.0.0.1:{server.server_address[1]}/v1"

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        yield serve
        ended.set()
        server.shutdown()


def drip_an_error(connection, ended) -> None:
    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n")
    while not ended.wait(0.05):
        connection.sendall(b"x")


def test_a_timeout_holds_whatever_the_server_does(raw_server) -> None:
    from coterie._util.http import EndpointError
    from coterie.describe.naming.endpoint import Endpoint

    threads = threading.active_count()
    url, begun = raw_server(drip_an_error), time.monotonic()
    with raises(EndpointError, "gave no answer in", "0.5"):
        Endpoint(url, timeout=0.5, tries=1).ask({"messages": []})
    assert time.monotonic() - begun < 2
    time.sleep(0.5)
    assert threading.active_count() <= threads + 2  # those of the server; ours has ended
