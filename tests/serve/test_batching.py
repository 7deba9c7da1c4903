"""One batch for many requests: in turn, bounded, and one bad text fails its own request alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from coterie.serve import batching
from coterie.serve.batching import Batcher
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics
from coterie.serve.queries import fuse


class Recorder:
    """Stands for a model: keeps the batches that it gets, and waits where it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go, self.begun = threading.Event(), threading.Event()

    def work(self, texts: list[str]) -> list[str]:
        self.batches.append(texts)
        self.begun.set()
        assert self.go.wait(30)
        if "bad" in texts:
            raise ValueError("a text that breaks the model")
        return [text.upper() for text in texts]


@asynccontextmanager
async def blocked(model: Recorder, timeout: float = 30) -> AsyncIterator[Callable[..., Any]]:
    """Requests to a batcher; a first one keeps the model busy until ``model.go``."""
    batcher = Batcher(Metrics(), timeout)
    running = asyncio.create_task(batcher.run())

    def ask(*texts: str, model: Recorder = model) -> asyncio.Task[list[str]]:
        return asyncio.create_task(batcher.ask(model.work, texts))

    first = ask("first")
    await asyncio.to_thread(model.begun.wait)
    try:
        yield ask
        model.go.set()
        with suppress(TimeoutError):
            await first
        assert batcher.queued == 0
    finally:
        model.go.set()
        running.cancel()
        await asyncio.wait([running])


def test_requests_take_turns_and_models_are_not_mixed() -> None:
    async def main() -> None:
        model, other = Recorder(), Recorder()
        other.go.set()
        async with blocked(model) as ask:
            large = ask(*(f"l{i}" for i in range(195)))
            elsewhere = ask("e", model=other)
            small = ask("s0", "s1")
            long = ask(*["x" * 20_000] * 3)
            await asyncio.sleep(0)
            model.go.set()
            assert await small == ["S0", "S1"]
            assert await large == [f"L{i}" for i in range(195)]  # in order
            assert await elsewhere == ["E"] and len(await long) == 3
        assert other.batches == [["e"]]
        assert model.batches[1] == ["l0", "s0", "x" * 20_000]
        assert max(map(len, model.batches)) == batching.BATCH

    asyncio.run(main())


def test_one_bad_text_fails_its_own_request_alone() -> None:
    async def main() -> None:
        model = Recorder()
        async with blocked(model) as ask:
            jobs = [ask(text) for text in ("a", "bad", "c")]
            await asyncio.sleep(0)
            model.go.set()
            assert await jobs[0] == ["A"] and await jobs[2] == ["C"]
            with pytest.raises(ValueError, match="breaks the model"):
                await jobs[1]

    asyncio.run(main())


def test_too_many_texts_are_refused_and_old_ones_given_up() -> None:
    async def main() -> None:
        model = Recorder()
        async with blocked(model, timeout=0.2) as ask:
            late = ask(*["x"] * batching.QUEUED)
            await asyncio.sleep(0)
            with pytest.raises(ServeError, match="texts are waiting"):
                await ask("y")
            with pytest.raises(TimeoutError):
                await late
        assert model.batches == [["first"]]

    asyncio.run(main())


def test_fusion_rewards_what_both_find() -> None:
    assert [place for place, _ in fuse([(1, 9.0), (2, 8.0)], [(2, 0.1), (3, 0.05)])] == [2, 1, 3]
    assert fuse([], []) == []
