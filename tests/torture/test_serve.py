"""The service is killed while it edits, and its disk is full: no edit that it told is lost."""

from __future__ import annotations

import http.client
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from commands import content
from coterie import open_run
from whole_runs import read_whole

KILLS = 40


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def post(port: int, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        kind = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), kind)
        found = connection.getresponse()
        return found.status, json.loads(found.read())
    finally:
        connection.close()


def wait_for(port: int, ended: threading.Thread) -> None:
    """Until the service answers, or was killed while it mended what the last kill left."""
    while ended.is_alive():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)


def next_edit(number: int) -> dict[str, Any]:
    """Quick edits and slow ones, that all are possible one after the other."""
    kind = number % 4
    if kind == 0:
        return {"edits": [{"rename": {"0": f"Name {number}"}}]}
    if kind == 1:
        return {"edits": [{"move": {"rows": [{"row": 1 + number % 20}], "to": 0}}]}
    if kind == 2:
        return {"edits": [{"split": 2}]}
    return {"undo": True}


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_no_edit_that_was_told_is_lost_by_a_kill(
    kills: int, killer: Any, fast_disk: Path, topics: tuple[list[str], list[str]]
) -> None:
    draw, place = random.Random(0), fast_disk / "place"
    place.mkdir()
    (place / "t.txt").write_text("\n".join(topics[0]) + "\n", "utf-8")
    command = ["cluster", "t.txt", "-k", "3", "-m", "kmeans", "--encoder", "tfidf", "-q"]
    assert killer.run(place, *command, "--out", "run") == 0, killer.said()
    run = place / "run"
    told = number = done = 0
    for kill in range(kills):
        port, moment, version, step = free_port(), draw.randrange(250), None, 0
        ended = threading.Thread(
            target=killer.run, args=(place, "serve", "run", "--port", str(port)),
            kwargs={"kill_at": moment},  # just before it changes a file for the n-th time
        )  # fmt: skip
        ended.start()
        wait_for(port, ended)
        with suppress(OSError, http.client.HTTPException):
            while ended.is_alive():
                body = next_edit(number)
                step, number = -1 if "undo" in body else 1, number + 1
                status, answer = post(port, "/edits", body)
                if status == 200:
                    told, done, version = told + step, done + 1, answer["version"]
                else:
                    assert status == 422, answer  # such as nothing to undo
        ended.join()
        read_whole(run)
        found = open_run(run)
        changes = len(found.manifest.get("changes", []))
        assert changes in (told, told + step), f"kill {kill}, before the change {moment}"
        if changes == told and version is not None:
            assert found.version == version
        told = changes  # the last may have been written and not told
    assert done > kills / 4


def test_a_full_disk_is_told_and_changes_nothing(finished_run: Path) -> None:
    """No file may be larger than some bytes: writing more fails as on a full disk."""
    before = content(finished_run)
    process = subprocess.Popen(
        [sys.executable, "-m", "coterie", "serve", str(finished_run), "--port", "0"],
        stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert process.stderr is not None
    line = next(line for line in process.stderr if line.startswith("serving"))
    port = int(line.partition("http://127.0.0.1:")[2].split()[0])
    for limit in (0, 2_000, 40_000):
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for body in ({"edits": [{"rename": {"0": "New"}}]}, {"edits": [{"merge": [0, 1]}]}):
            status, answer = post(port, "/edits", body)
            assert (status, answer["error"]["code"]) == (507, "serve.not_written"), answer
        assert post(port, "/predict", {"text": "ripe plum"})[0] == 200
        assert content(finished_run) == before
        assert [p.name for p in finished_run.parent.iterdir()] == [finished_run.name]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.fixture
def finished_run(tmp_path: Path, topics: tuple[list[str], list[str]]) -> Path:
    import coterie

    folder = tmp_path / "alone" / "run"
    coterie.cluster(topics[0], 3, method="kmeans", encoder="tfidf", folder=folder)
    return folder
