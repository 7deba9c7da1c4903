"""The service under load: how many requests it answers, how fast, and in how much memory.

    coterie-bench serve [--run FOLDER] [--seconds 20] [--rounds 3] [--out FILE]
    coterie-bench serve --clients 64 --texts 32
    coterie-bench serve --minutes 30 [--out FILE]
    coterie-bench serve --table results/serve.jsonl

A run is served by the command, as a user would (without ``--run``: the bundled messages, clustered
with the default method). 1, 8 and 64 clients ask for one text, or for 32 at a time, over
connections that stay open. Before and after each load the same texts are encoded alone, by the same
model in this process, while the service is idle: the ratios are of one run on one machine. Each
round takes all loads in turn, and medians over the rounds are reported.

``--minutes`` asks for that long: texts alone and in batches, searches and pages of texts by 16
clients, an edit and its undo every ten seconds, and reads the memory of the service meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie_bench import ROOT
from coterie_bench.experiments import lines

CLIENTS = (1, 8, 64)
SIZES = (1, 32)
EDIT_EVERY = 10.0  # seconds


class Service:
    """``coterie serve`` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "coterie", "serve", str(folder), "--port", "0"]
        command += ["--timeout", "600"]  # 2,048 texts at once wait long on a slow machine
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = next(line for line in self.process.stderr if line.startswith("serving"))
        self.port = int(line.partition("http://127.0.0.1:")[2].split()[0])

    def memory(self) -> int:
        """Bytes that it holds in memory."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text("ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Connection:
    """One connection that stays open."""

    async def open(self, port: int) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        self.writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        assert length is not None
        return int(answer.split(None, 2)[1]), await self.reader.readexactly(int(length[1]))

    def close(self) -> None:
        self.writer.close()


def bodies(texts: Sequence[str], size: int) -> list[bytes]:
    """Requests of so many texts each."""
    parts = [list(texts[i : i + size]) for i in range(0, len(texts) - size + 1, size)]
    return [json.dumps({"texts": part}).encode() for part in parts]


async def load(port: int, asked: Sequence[bytes], clients: int, seconds: float) -> dict[str, Any]:
    """Ask for some seconds; times of all answers, and how many were none."""
    end, taken, errors, number = time.perf_counter() + seconds, [], 0, 0

    async def client() -> None:
        nonlocal errors, number
        connection = Connection()
        await connection.open(port)
        while time.perf_counter() < end:
            body = asked[number % len(asked)]
            number += 1
            begun = time.perf_counter()
            status, _ = await connection.ask("POST", "/predict", body)
            if status == 200:
                taken.append(time.perf_counter() - begun)
            else:
                errors += 1
        connection.close()

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    took = time.perf_counter() - begun
    return {
        "requests_per_second": len(taken) / took,
        "p50_ms": 1000 * float(np.quantile(taken, 0.5)),
        "p99_ms": 1000 * float(np.quantile(taken, 0.99)),
        "requests": len(taken),
        "errors": errors,
    }


def alone(
    encode: Callable[[list[str]], Any], asked: Sequence[bytes], seconds: float
) -> list[float]:
    """Seconds that each request takes if its texts are only encoded."""
    parts = [json.loads(body)["texts"] for body in asked]
    end, taken = time.perf_counter() + seconds, []
    while time.perf_counter() < end or not taken:
        begun = time.perf_counter()
        encode(parts[len(taken) % len(parts)])
        taken.append(time.perf_counter() - begun)
    return taken


def measure_load(
    folder: Path, seconds: float, rounds: int, out: Path | None, loads: Sequence[tuple[int, int]]
) -> None:
    """Loads (texts, clients) in turn, round by round, each beside encoding alone."""
    from coterie._cache import no_cache

    run = coterie.open_run(folder)
    texts = [text for text in dict.fromkeys(run.texts) if text]
    # More than wait at once: a text that is in a batch twice is encoded once.
    texts += [f"{text} {number}" for number in (2, 3, 4) for text in texts]
    model, service = run.model, Service(folder)
    model.transform(texts[:64])
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    try:
        asyncio.run(load(service.port, bodies(texts, 8), 4, seconds))  # warm
        with no_cache():
            for _ in range(rounds):
                for size, clients in loads:
                    asked = bodies(texts, size)
                    before = alone(model.transform, asked, seconds / 2)
                    row = asyncio.run(load(service.port, asked, clients, seconds))
                    after = alone(model.transform, asked, seconds / 2)
                    both = np.array(before + after)
                    row["alone_texts_per_second"] = size * len(both) / both.sum()
                    row["alone_p50_ms"] = 1000 * float(np.quantile(both, 0.5))
                    row["alone_p99_ms"] = 1000 * float(np.quantile(both, 0.99))
                    row["texts_per_second"] = size * row["requests_per_second"]
                    row["of_alone"] = row["texts_per_second"] / row["alone_texts_per_second"]
                    found.setdefault((size, clients), []).append(row)
        for (size, clients), rows in found.items():
            keys = [key for key in rows[0] if key not in ("requests", "errors")]
            line = {"bench": "serve", "texts": size, "clients": clients, "rounds": rounds}
            line |= {key: round(statistics.median(r[key] for r in rows), 3) for key in keys}
            line |= {key: sum(r[key] for r in rows) for key in ("requests", "errors")}
            line |= {"load_average": os.getloadavg()[0], "rows": len(run.texts)}
            tell(line, out)
    finally:
        code = service.stop()
    assert code == 0


async def soak(service: Service, texts: Sequence[str], minutes: float) -> dict[str, Any]:
    """Everything at once for some minutes; the memory of the service meanwhile."""
    end, sizes, statuses = time.monotonic() + 60 * minutes, [], dict[int, int]()
    single, batches = bodies(texts, 1), bodies(texts, 32)
    asked = [
        lambda i: ("POST", "/predict", single[i % len(single)]),
        lambda i: ("POST", "/predict", batches[i % len(batches)]),
        lambda i: ("GET", f"/search?q=parcel%20{i % 50}", b""),
        lambda i: ("GET", f"/texts?offset={i % 900}&limit=20", b""),
    ]

    async def client(number: int) -> None:
        connection = Connection()
        await connection.open(service.port)
        turn = number
        while time.monotonic() < end:
            status, _ = await connection.ask(*asked[turn % len(asked)](turn))
            statuses[status] = statuses.get(status, 0) + 1
            turn += 1
        connection.close()

    async def editor() -> None:
        connection = Connection()
        await connection.open(service.port)
        while time.monotonic() < end:
            for body in ({"edits": [{"rename": {"0": f"Name {time.time()}"}}]}, {"undo": True}):
                status, _ = await connection.ask("POST", "/edits", json.dumps(body).encode())
                statuses[status] = statuses.get(status, 0) + 1
            await asyncio.sleep(min(EDIT_EVERY, max(0.0, end - time.monotonic())))
        connection.close()

    async def watcher() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(min(2.0, 6 * minutes))
            sizes.append(service.memory())

    await asyncio.gather(editor(), watcher(), *(client(i) for i in range(16)))
    tenth = max(1, len(sizes) // 10)
    begin = sizes[tenth : 3 * tenth] or sizes[:1]  # the first tenth is for warming up
    last = sizes[-2 * tenth :]
    return {
        "memory_at_begin": int(statistics.median(begin)),
        "memory_at_end": int(statistics.median(last)),
        "memory_peak": max(sizes),
        "growth": statistics.median(last) / statistics.median(begin) - 1,
        "requests": sum(statuses.values()),
        "errors": sum(count for status, count in statuses.items() if status != 200),
    }


def measure_memory(folder: Path, minutes: float, out: Path | None) -> None:
    """Whether the service grows."""
    texts = [text for text in coterie.open_run(folder).texts if text]
    service = Service(folder)
    try:
        found = asyncio.run(soak(service, texts, minutes))
    finally:
        code = service.stop()
    assert code == 0
    line = {"bench": "serve-memory", "minutes": minutes, **found}
    tell({**line, "growth": round(line["growth"], 4), "load_average": os.getloadavg()[0]}, out)


def tell(line: dict[str, Any], out: Path | None) -> None:
    print(json.dumps(line), flush=True)
    if out is not None:
        lines.append(out, line)


def table(found: list[lines.Row]) -> str:
    """The lines as a Markdown table, the last of each kind."""
    rows = {(r["texts"], r["clients"]): r for r in found if r["bench"] == "serve"}
    head = ["texts", "clients", "requests/s", "p50 ms", "p99 ms", "errors", "texts/s",
            "alone, texts/s", "of alone", "alone p50 ms"]  # fmt: skip
    body = [
        [
            str(size),
            str(clients),
            f"{r['requests_per_second']:.1f}",
            f"{r['p50_ms']:.1f}",
            f"{r['p99_ms']:.1f}",
            str(r["errors"]),
            f"{r['texts_per_second']:.1f}",
            f"{r['alone_texts_per_second']:.1f}",
            f"{r['of_alone']:.2f}",
            f"{r['alone_p50_ms']:.1f}",
        ]
        for (size, clients), r in sorted(rows.items())
    ]
    return lines.table(head, body)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, help="folder of a finished run")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--texts", type=int, nargs="+", default=SIZES, help="of each request")
    parser.add_argument("--minutes", type=float, help="measure memory for so long instead")
    parser.add_argument("--out", type=Path, help="append result lines here")
    parser.add_argument("--table", action="store_true", help="print the table, measure nothing")
    told = parser.parse_args(arguments)
    if told.table:
        print(table(lines.read(told.out or ROOT / "results" / "serve.jsonl")))
        return
    with tempfile.TemporaryDirectory(prefix="coterie-") as place:
        folder = told.run
        if folder is None:
            folder = Path(place) / "run"
            coterie.cluster("sample", folder=folder)
        if told.minutes is not None:
            measure_memory(folder, told.minutes, told.out)
        else:
            loads = [(size, clients) for size in told.texts for clients in told.clients]
            measure_load(folder, told.seconds, told.rounds, told.out, loads)
