"""One batch for many requests: fair, bounded, and one bad text fails its own request alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coterie.serve.batching import Batcher
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics
from coterie.serve.queries import fuse
from said import raises


class Recorder:
    """Stands for a model: keeps the batches that it gets, and waits where it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go, self.begun = threading.Event(), threading.Event()
        self.go.set()

    def assess(self, texts: list[str]) -> Any:
        self.batches.append(texts)
        self.begun.set()
        assert self.go.wait(30)
        if "bad" in texts:
            raise ValueError("a text that breaks the model")
        return type("Seen", (), {"vectors": np.array([[len(t)] for t in texts]), "texts": texts})

    def columns(self, seen: Any) -> dict[str, list[Any]]:
        return {"cluster": [text.upper() for text in seen.texts]}


@pytest.fixture
def made() -> Any:
    running: list[Batcher] = []

    def make(**options: Any) -> Batcher:
        running.append(Batcher(Metrics(), **options))
        return running[-1]

    yield make
    for batcher in running:
        batcher.close()
        assert not batcher.alive


def blocked(batcher: Batcher, model: Recorder) -> Any:
    """A first request that keeps the model busy until ``model.go``."""
    model.go.clear()
    first = batcher.submit(model, ["first"])  # type: ignore[arg-type]
    assert model.begun.wait(30)
    return first


def test_a_large_request_does_not_hold_up_a_small_one(made: Callable[..., Batcher]) -> None:
    batcher, model = made(max_batch=10), Recorder()
    blocked(batcher, model)
    large = batcher.submit(model, [f"l{i}" for i in range(95)])
    small = batcher.submit(model, ["s0", "s1"])
    model.go.set()
    assert small.result(30).columns == {"cluster": ["S0", "S1"]}
    assert large.result(30).columns == {"cluster": [f"L{i}" for i in range(95)]}  # in order
    assert {"s0", "s1"} <= set(model.batches[1])
    assert max(map(len, model.batches)) == 10


def test_long_texts_hold_up_nobody_and_the_oldest_go_on(made: Callable[..., Batcher]) -> None:
    batcher, model = made(), Recorder()
    blocked(batcher, model)
    large = [batcher.submit(model, [f"{i}" * 20_000] * 3) for i in range(4)]
    small = batcher.submit(model, ["s"])
    model.go.set()
    assert small.result(30) and all(future.result(30) for future in large)
    assert model.batches[1] == ["0" * 20_000, "s"]
    assert [len(batch) for batch in model.batches[2:]] == [1] * 11


def test_runs_are_not_mixed(made: Callable[..., Batcher]) -> None:
    batcher, one, other = made(), Recorder(), Recorder()
    blocked(batcher, one)
    futures = [batcher.submit((one, other)[i % 2], [f"{i}"]) for i in range(6)]
    one.go.set()
    assert [f.result(30).columns["cluster"] for f in futures] == [[f"{i}"] for i in range(6)]
    assert other.batches == [["1", "3", "5"]]


def test_one_bad_text_fails_its_own_request_alone(made: Callable[..., Batcher]) -> None:
    batcher, model = made(), Recorder()
    blocked(batcher, model)
    futures = [batcher.submit(model, [text]) for text in ("a", "bad", "c")]
    model.go.set()
    assert futures[0].result(30).columns == {"cluster": ["A"]}
    assert futures[2].result(30).columns == {"cluster": ["C"]}
    with pytest.raises(ValueError, match="breaks the model"):
        futures[1].result(30)


def test_too_many_are_refused(made: Callable[..., Batcher]) -> None:
    batcher, model = made(max_queued=5), Recorder()
    blocked(batcher, model)
    batcher.submit(model, ["x"] * 4)
    with raises(ServeError, "texts are waiting", "4"):
        batcher.submit(model, ["y", "z"])
    assert [batcher.submit(model, ["one"]) for _ in range(3)]  # a search goes through
    model.go.set()


def test_a_batch_waits_for_requests_on_their_way(made: Callable[..., Batcher]) -> None:
    batcher, model = made(max_wait=20), Recorder()
    with batcher.arriving() as arrived:
        alone = batcher.submit(model, ["a"])
        assert not model.begun.wait(0.1)  # somebody is on the way
        second = batcher.submit(model, ["b"])
        arrived()
        assert alone.result(10) and second.result(10)
    assert model.batches == [["a", "b"]]
    batcher.submit(model, ["c"]).result(10)  # nobody is: at once


def test_background_work_goes_on_under_load_and_is_replaced(made: Callable[..., Batcher]) -> None:
    """Work that fails stops neither the other work nor the requests."""
    batcher, model, done = made(max_batch=1), Recorder(), threading.Event()

    def endless(steps: list[int]) -> Any:
        while True:
            steps.append(0)
            yield

    def short() -> Any:
        yield
        done.set()

    def broken() -> Any:
        yield
        raise ServeError(503, "not_ready", "")

    first = blocked(batcher, model)
    futures = [batcher.submit(model, [f"{i}"]) for i in range(200)]
    old: list[int] = []
    batcher.add_background("broken", broken())
    batcher.add_background("vectors", endless(old))
    batcher.add_background("vectors", short())
    model.go.set()
    assert done.wait(30) and old == []
    assert first.result(30) and all(future.result(30) for future in futures)
    order = [text for batch in model.batches for text in batch]
    assert order == ["first", *(f"{i}" for i in range(200))]


def test_a_close_ends_what_is_queued(made: Callable[..., Batcher]) -> None:
    batcher, model = made(), Recorder()
    blocked(batcher, model)
    waiting = batcher.submit(model, ["a"])
    closing = threading.Thread(target=batcher.close)
    closing.start()
    model.go.set()
    closing.join(30)
    assert waiting.result(0).columns == {"cluster": ["A"]}
    with raises(ServeError, "the service is stopping"):
        batcher.submit(model, ["b"])


def test_fusion_rewards_what_both_find() -> None:
    assert [place for place, _ in fuse([(1, 9.0), (2, 8.0)], [(2, 0.1), (3, 0.05)])] == [2, 1, 3]
    assert fuse([], []) == []
