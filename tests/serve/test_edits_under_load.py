"""No click is lost: a service that answers late or not at all, and two pages at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from browser import Page
from coterie.serve.app import Service

from .test_live_page import Live


class Late:
    """Answers to edits wait, or are lost: the service does them all the same, and at once."""

    def __init__(self) -> None:
        self.waits, self.lost = False, 0

    def __call__(self, service: Service) -> Callable[..., Any]:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            if not scope.get("path", "").endswith("/edits"):
                return await service(scope, receive, send)
            parts: list[Any] = []

            async def hold(part: Any) -> None:
                parts.append(part)

            await service(scope, receive, hold)
            while self.waits:
                await asyncio.sleep(0.05)
            if self.lost:
                self.lost -= 1
                raise ConnectionError
            for part in parts:
                await send(part)

        return answer


@pytest.fixture
def late() -> Late:
    return Late()


@pytest.fixture
def opened(
    start: Callable[..., Any], visit: Callable[..., Page], folder: Path, late: Late
) -> Callable[[], Live]:
    client = start(folder, around=late)
    return lambda: Live(visit(f"http://127.0.0.1:{client.port}/runs/tickets/"), client, "tickets")


def log(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "edits.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def settled(live: Live) -> None:
    """Wait until nothing waits and the page shows the run as it is."""
    live.page.until(lambda: live.page.locator("#live-queue .waiting").count() == 0)
    live.page.until(lambda: live.version() == live.get("/version")["version"])


@contextmanager
def unaware(live: Live) -> Iterator[None]:
    """The page does not hear what others do: its questions get the answer of before."""
    before = live.get("/version")
    live.page.route("**/version", lambda route: route.fulfill(json=before))
    yield
    live.page.unroute("**/version")


@pytest.mark.parametrize("seconds", [0, pytest.param(20, marks=pytest.mark.slow)])
def test_ten_quick_clicks_arrive_in_order(
    opened: Callable[[], Live], folder: Path, late: Late, seconds: float
) -> None:
    live, late.waits = opened(), True
    names = [f"Name {i}" for i in range(10)]
    for i, name in enumerate(names):
        live.choose(i % 4)
        live.page.fill("#live-name", name)
        live.page.click("#live-do-rename")
    assert live.page.locator("#live-queue li.waiting").count() == 10  # and the page says so
    assert live.text("#live-do-undo").endswith(" to Name 9")
    live.page.click("#live-do-undo")
    assert live.text("#live-do-undo").endswith(" to Name 8")
    live.page.wait_for_timeout(1000 * seconds)
    late.waits = False
    settled(live)
    done = [next(iter(e["edits"][0]["rename"].values())) for e in log(folder)[:10]]
    assert done == names and log(folder)[10]["undo"] == 10 and len(log(folder)) == 11
    assert live.names() == {0: "Name 8", 1: "Name 5", 2: "Name 6", 3: "Name 7"}
    assert live.text("#live-do-undo").endswith("to Name 8")
    live.quiet()


def test_an_answer_that_is_lost_is_asked_for_again(
    opened: Callable[[], Live], folder: Path, late: Late
) -> None:
    live, late.lost = opened(), 2
    live.choose(0)
    live.page.click("#live-do-split")
    live.said("it is sent again")
    live.choose(1)
    live.page.click("#live-do-lock")
    live.page.on("dialog", lambda dialog: dialog.accept())  # "leave the page?": it has edits
    live.page.reload(timeout=60_000)  # the queue stays
    settled(live)
    assert [list(e["edits"][0]) for e in log(folder)] == [["split"], ["lock"]]
    assert live.page.locator("#live-queue .done").count() == 2
    assert len(live.names()) == 5


def test_two_pages_see_each_other_and_do_not_overwrite(
    opened: Callable[[], Live], folder: Path
) -> None:
    one, other = opened(), opened()
    one.choose(0, 1)
    other.choose(1)
    other.page.fill("#live-name", "Gone")
    with unaware(other):
        one.page.click("#live-do-merge")
        other.page.until(lambda: one.get("/live")["logged"] == 1)
        other.page.click("#live-do-rename")
        other.said("failed: ")
    assert "another page merged 1 (" in other.text("#live-queue")
    assert other.page.input_value("#live-name") == "Gone"  # nothing that was typed is lost
    other.page.fill("#live-name", "")
    other.choose(2)
    other.page.click("#live-do-done")
    for live in (one, other):
        settled(live)
        live.page.until(lambda live=live: "1 of 3 done" in live.text("#live-count"))
        live.page.until(lambda live=live: sorted(live.shown()) == [0, 2, 3])
    one.said("Another page marked 2 (")
    one.page.until(lambda: one.text("#live-do-undo").startswith("Undo: marked 2 ("))
    assert [next(iter(e["edits"][0])) for e in log(folder)] == ["merge", "done"]


def test_undo_refuses_what_it_did_not_name(opened: Callable[[], Live], folder: Path) -> None:
    one, other = opened(), opened()
    one.choose(0)
    one.changed(one.click("do-lock"))
    other.page.until(lambda: other.text("#live-do-undo").startswith("Undo: locked 0 ("))
    settled(other)
    with unaware(other):
        one.choose(1)
        one.page.click("#live-do-lock")
        other.page.until(lambda: one.get("/live")["logged"] == 2)
        other.page.click("#live-do-undo")
    other.said("failed: the last change is another one by now (another page locked 1")
    assert len(log(folder)) == 2
    settled(one)


def test_the_number_of_clusters_is_kept(
    start: Callable[..., Any], visit: Callable[..., Page], grown: Path, tmp_path: Path
) -> None:
    import shutil

    client = start(Path(shutil.copytree(grown, tmp_path / "grown")))
    live = Live(visit(f"http://127.0.0.1:{client.port}/runs/grown/"), client, "grown")
    before = len(live.names())
    live.page.fill("#cut-number", str(before + 1))
    live.page.keyboard.press("Enter")
    live.page.until(lambda: live.page.is_visible("#live-keep"))
    live.changed(live.click("keep"))
    assert len(live.names()) == before + 1 == len(live.shown())
    assert live.page.input_value("#cut") == str(before + 1)
    assert not live.page.is_visible("#live-keep")
    assert live.text("#live-do-undo") == f"Undo: cut into {before + 1} clusters"
    live.changed(live.click("do-undo"))
    assert len(live.names()) == before
