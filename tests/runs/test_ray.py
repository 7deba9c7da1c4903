"""Work on a Ray cluster: how machines are shared out, and workers, machines and commands that die.

The cluster is of two machines as Ray sees them, both on this one, with two CPUs each. Its processes
are real and are really killed. Ray is large, and so is not among what the tests bring along.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import content, run
from coterie import TwoStep
from coterie.errors import UsageError
from coterie.runs.engine import Share, _address, share_out
from said import raises, says

WORDS = ["apple plum", "pear fig", "car bus", "truck van"]
PARTS, ROWS = 10, 30_000  # each part is three chunks, and a second or so of work
WAIT = 120  # seconds; nothing here takes as long


@pytest.mark.parametrize(
    ("nodes", "workers", "wanted"),
    [
        ([2], None, Share(1, 2)),
        ([1, 1], None, Share(2, 1)),
        ([1, 1], 2, Share(2, 1)),
        ([1, 1], 1, Share(1, 1)),  # no machine has two
        ([8, 3], None, Share(2, 4)),  # the small one stays out
        ([8, 3], 3, Share(3, 3)),
        ([5, 5], 3, Share(3, 2)),  # three of three CPUs would not fit
        ([0, 4], 4, Share(4, 1)),  # a head without CPUs of its own
    ],
)
def test_machines_are_shared_out(nodes: list[int], workers: int | None, wanted: Share) -> None:
    share = share_out([{"CPU": float(n)} if n else {} for n in nodes], workers)
    assert share == wanted
    assert sum(n // share.cpus for n in nodes) >= share.workers


def test_a_worker_has_a_gpu_where_there_are_any() -> None:
    nodes = [{"CPU": 8.0, "GPU": 2.0}, {"CPU": 64.0}]
    assert share_out(nodes) == Share(2, 1, 1)
    with raises(UsageError, "the cluster has", "2", "GPUs"):
        share_out(nodes, 3)
    with raises(UsageError, "the cluster has", "3", "CPUs"):
        share_out([{"CPU": 3.0}], 0)
    with raises(UsageError, "--engine ray: the"):
        share_out([{}])


def test_a_cluster_that_is_not_there_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that only ``ray start`` wrote down, and that was killed, is not waited for."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    last = tmp_path / "ray" / "ray_current_cluster"
    last.parent.mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        with raises(UsageError, "start one with", str(address)):
            _address()
        monkeypatch.delenv("RAY_ADDRESS")
        assert _address() is None
        last.write_text(address, "utf-8")
        assert _address() == "local"
        taken.listen()
        assert _address() is None
    for other in ("auto", "local", "ray://127.0.0.1:1"):
        monkeypatch.setenv("RAY_ADDRESS", other)
        assert _address() is None


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 2, "include_dashboard": False},
    )
    made.other = made.add_node(num_cpus=2)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a corpus in parts, and what plain ``predict`` makes of each part."""
    folder = tmp_path_factory.mktemp("work")
    texts = [f"{words} number {i}" for i in range(60) for words in WORDS]
    TwoStep(4, encoder="tfidf", random_state=0).fit(texts).save(folder / "model")
    (folder / "parts").mkdir()
    (folder / "plain").mkdir()
    for k in range(PARTS):
        ids = range(k * ROWS, (k + 1) * ROWS)
        table = pa.table({"id": ids, "text": [texts[i * 7 % len(texts)] for i in ids]})
        name = f"part-{k:02}.parquet"
        pyarrow.parquet.write_table(table, folder / "parts" / name)
        run("predict", folder / "model", folder / "parts" / name,
                     "-o", folder / "plain" / name)  # fmt: skip
    return folder


def unfinished(out: Path) -> set[tuple[str, int]]:
    """Parts in work, or left by the dead, and the processes that began them."""
    found = set()
    for path in out.glob(".part-*.unfinished.*"):
        _, name, own, *_ = path.name.split(".")
        found.add((name, int(own.partition("-")[0])))
    return found


def whole(out: Path) -> list[Path]:
    return sorted(path for path in out.glob("part-*.parquet"))


class Killer(threading.Thread):
    """Waits until some parts are whole and two are half written, and strikes."""

    def __init__(self, out: Path, strike: object, whole: int = 3) -> None:
        super().__init__(daemon=True)
        self.out, self.strike, self.whole, self.struck = out, strike, whole, ""

    def run(self) -> None:
        end = time.monotonic() + WAIT
        while time.monotonic() < end and not self.struck:
            half = unfinished(self.out) if len(whole(self.out)) >= self.whole else set()
            if len(half) == 2:  # both workers are within a part
                name, process = min(half)
                self.strike(process)
                self.struck = name
            time.sleep(0.005)


def check(work: Path, out: Path) -> dict:
    """Every row once, in its place, labelled as by plain ``predict``; the manifest."""
    assert [p.name for p in whole(out)] == [p.name for p in whole(work / "plain")]
    assert unfinished(out) == set()
    ids: list[int] = []
    for path in whole(out):
        found = pyarrow.parquet.ParquetFile(path).read()
        plain = pyarrow.parquet.ParquetFile(work / "plain" / path.name).read()
        assert found.column_names == plain.column_names
        for name in ("id", "text", "cluster", "name", "runner_up", "outlier"):
            assert found[name].equals(plain[name]), f"{path.name}: {name}"
        for name in ("confidence", "margin", "outlier_score"):
            assert found[name].to_pylist() == pytest.approx(plain[name].to_pylist(), abs=2e-4)
        ids += found["id"].to_pylist()
    assert ids == list(range(PARTS * ROWS))
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "done"
    assert manifest["counts"]["rows"] == PARTS * ROWS
    return manifest


@pytest.mark.slow
def test_a_worker_killed_half_way_costs_no_row(cluster: object, work: Path) -> None:
    out = work / "killed"
    killer = Killer(out, lambda process: os.kill(process, signal.SIGKILL))
    killer.start()
    run("predict", work / "model", work / "parts", "-o", out,
                 "--engine", "ray", "--workers", 2)  # fmt: skip
    assert killer.struck
    check(work, out)


@pytest.mark.slow
def test_ctrl_c_stops_all_workers_and_keeps_whole_parts(work: Path) -> None:
    """In a process of its own, which starts a cluster of its own."""
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    out = work / "interrupted"
    command = [sys.executable, "-m", "coterie", "predict", work / "model", work / "parts",
               "-o", out, "--engine", "ray", "--workers", "1"]  # fmt: skip
    environment = {**os.environ, "RAY_ADDRESS": "local"}
    child = subprocess.Popen(
        [str(word) for word in command],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell may ignore it
    )
    end = time.monotonic() + WAIT
    while not (half := unfinished(out)) or len(whole(out)) < 2:
        assert time.monotonic() < end and child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=WAIT)
    assert child.returncode == 130, said
    there = len(whole(out))
    assert 2 <= there < PARTS
    assert says(
        said,
        "--resume continues with",
        format(there, ","),
        format(PARTS, ","),
        str(str(out.resolve())),
    )
    assert json.loads((out / "manifest.json").read_text())["status"] == "interrupted"
    ((_, process),) = half
    while time.monotonic() < end and Path(f"/proc/{process}").exists():
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert unfinished(out) == set()


@pytest.mark.slow
def test_a_part_that_kills_every_worker_is_given_up(
    cluster: object, work: Path, tmp_path: Path
) -> None:
    """Whoever begins the last part is shot; the others are labelled all the same."""
    stop = threading.Event()
    shot: set[int] = set()

    def shoot() -> None:
        while not stop.wait(0.005):
            for name, process in unfinished(tmp_path / "out"):
                if name == "part-09" and process not in shot:
                    shot.add(process)
                    os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=shoot, daemon=True)
    thread.start()
    result = run("predict", work / "model", work / "parts" / "part-0[789].parquet",
                 "-o", tmp_path / "out", "--engine", "ray", code=3)  # fmt: skip
    stop.set()
    thread.join()
    assert says(result.output, "files could not", "1", "3", "part-09", "workers were lost")
    assert len(shot) == 3
    assert [path.name for path in whole(tmp_path / "out")] == ["part-07.parquet", "part-08.parquet"]
    assert list((tmp_path / "out").glob(".*")) == []


ASKED = ["-k", 4, "--encoder", "tfidf-svd", "--method", "kmeans", "--max-outliers", "3%", "-q",
         "--set", "fit_sample=2000"]  # fmt: skip
OWN = {"manifest.json", "report.html"}  # say when and how long


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight parts of different texts, and the run that one process makes of them."""
    folder = tmp_path_factory.mktemp("clustered")
    (folder / "parts").mkdir()
    for k in range(8):
        ids = range(k * 12_000, (k + 1) * 12_000)
        texts = [f"{WORDS[i % 4]} {i * 7919 % 997} and {i % 89}" for i in ids]
        dates = [f"2026-{i % 12 + 1:02}-01" for i in ids]
        table = pa.table({"id": ids, "text": texts, "sent": dates, "kind": [i % 5 for i in ids]})
        pyarrow.parquet.write_table(table, folder / "parts" / f"part-{k:02}.parquet")
    run("cluster", folder / "parts", *ASKED, "--out", folder / "local")
    return folder


def same(folder: Path, out: Path) -> None:
    """All files are, to the byte, those that one process makes."""
    mine, theirs = content(out), content(folder / "local")
    assert mine.keys() == theirs.keys()
    assert [name for name in mine.keys() - OWN if mine[name] != theirs[name]] == []
    one, other = (json.loads(files["manifest.json"]) for files in (mine, theirs))
    for key in ("summary", "figures", "data", "fit_sample", "outliers"):
        assert one[key] == other[key]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_any_number_of_workers_makes_the_same_run(
    cluster: object, folder: Path, workers: int
) -> None:
    out = folder / f"by-{workers}"
    run("cluster", folder / "parts", *ASKED, "--out", out, "--engine", "ray", "--workers", workers)
    same(folder, out)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "worker", "worker", "node"])
def test_a_lost_worker_or_machine_changes_nothing(
    cluster: object, folder: Path, tmp_path: Path, victim: str
) -> None:
    def strike(process: int) -> None:
        if victim == "worker":
            os.kill(process, signal.SIGKILL)
        else:
            cluster.remove_node(cluster.other, allow_graceful=False)

    killer = Killer(tmp_path / "out" / "assignments", strike, whole=2)
    killer.start()
    asked = ["--engine", "ray", "--workers", 2]
    run("cluster", folder / "parts", *ASKED, "--out", tmp_path / "out", *asked)
    if victim == "node":
        cluster.other = cluster.add_node(num_cpus=2)
    assert killer.struck
    same(folder, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("done", [0, 1, 2, 3, 4, 5])
def test_a_killed_command_is_resumed_to_the_same_files(
    folder: Path, tmp_path: Path, done: int
) -> None:
    """The command and the cluster it started; files that were whole stay as they are."""
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "coterie", "cluster", folder / "parts", *ASKED, "--out", out]
    words = [str(word) for word in [*command, "--engine", "ray", "--workers", 2]]
    child = subprocess.Popen(words, env={**os.environ, "RAY_ADDRESS": "local"})
    end = time.monotonic() + WAIT
    while not unfinished(out / "assignments") or len(whole(out / "assignments")) < done:
        assert time.monotonic() < end and child.poll() is None
        time.sleep(0.005)
    child.kill()
    child.wait()
    time.sleep(1)  # a worker may outlive the command for a moment
    kept = {path: path.stat().st_mtime_ns for path in whole(out / "assignments")}
    run("cluster", folder / "parts", *ASKED, "--out", out, "--resume")  # by this process
    assert len(kept) >= done
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    same(folder, out)


@pytest.mark.slow
def test_an_update_on_a_cluster_is_that_of_one_process(
    cluster: object, folder: Path, tmp_path: Path
) -> None:
    """Of which new clusters are a part, that the workers read from the changed model."""
    new = [f"boat anchor {i} and {i % 89}" for i in range(9_000)]
    table = pa.table({"id": range(len(new)), "text": new, "sent": ["2026-02-01"] * len(new)})
    table = table.append_column("kind", pa.array([0] * len(new)))
    (tmp_path / "new").mkdir()
    for k in range(3):
        part = table.slice(k * 3_000, 3_000)
        pyarrow.parquet.write_table(part, tmp_path / "new" / f"part-{k:02}.parquet")
    for name, asked in {"one": [], "many": ["--engine", "ray", "--workers", 2]}.items():
        shutil.copytree(folder / "local", tmp_path / name)
        run("update", tmp_path / name, tmp_path / "new", *asked)
    one, many = content(tmp_path / "one"), content(tmp_path / "many")
    assert one.keys() == many.keys() and "assignments/update-0001/part-02.parquet" in one
    own = {*OWN, "edits.jsonl", "changes.html", "earlier/0001/changed.json"}
    assert [name for name in one.keys() - own if one[name] != many[name]] == []
    said = [json.loads(files["manifest.json"]) for files in (one, many)]
    assert said[0]["data"]["rows"] == 105_000
    assert said[0]["figures"] == said[1]["figures"] and said[0]["summary"] == said[1]["summary"]
