"""The page at work in a real browser: found by meaning, edited with clicks and keys, kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import coterie
from browser import Page
from coterie import open_run
from coterie.editing import edit
from coterie.serve.access import Tokens

from .conftest import running

PATIENCE = 60_000  # milliseconds
HOSTILE = '</script><img src=x onerror="window.hacked = 1">'


class Live:
    """The page of a run of the service, with what the tests do to it."""

    def __init__(self, page: Page, client: Any, run: str) -> None:
        self.page, self.client, self.run = page, client, run
        page.until(lambda: page.is_visible("#live-edit"))

    def get(self, path: str) -> Any:
        return self.client.get(f"/runs/{self.run}{path}").json

    def names(self) -> dict[int, str]:
        return {c["id"]: c["name"] for c in self.get("/clusters")["clusters"]}

    def text(self, selector: str) -> str:
        return self.page.text(selector)

    def said(self, part: str) -> None:
        self.page.until(lambda: part in self.text("#live-said") + self.text("#live-queue"))

    def choose(self, *clusters: int) -> None:
        for cluster in clusters:
            self.page.click(f"#live-clusters input[value='{cluster}']")

    def find(self, words: str) -> None:
        self.page.keyboard.press("/")
        self.page.keyboard.insert_text(words)
        self.page.keyboard.press("Enter")
        self.said("texts by")

    def hits(self) -> list[str]:
        found = "[...document.querySelectorAll('#live-hits bdi')].map(b => b.textContent.trim())"
        return list(self.page.evaluate(found))

    def shown(self) -> list[int]:
        """Clusters that the list shows."""
        boxes = "[...document.querySelectorAll('#live-clusters li:not([hidden]) input')]"
        return list(self.page.evaluate(f"{boxes}.map(b => Number(b.value))"))

    def focus(self, of: str = "id") -> str:
        return str(self.page.evaluate(f"document.activeElement.{of}"))

    def version(self) -> str:
        return str(json.loads(self.text("#data"))["live"]["version"])

    def changed(self, act: Callable[[], object]) -> None:
        """Do something that changes the run, and wait for the page with its new state."""
        with self.page.expect_event("load", timeout=PATIENCE):
            act()
        self.page.until(lambda: self.version() == self.get("/version")["version"])
        self.page.until(lambda: self.page.is_visible("#live-edit"))

    def click(self, button: str) -> Callable[[], None]:
        return partial(self.page.click, f"#live-{button}")

    def press(self, key: str) -> Callable[[], None]:
        return partial(self.page.keyboard.press, key)

    def quiet(self) -> None:
        ours = f"http://127.0.0.1:{self.client.port}/"
        assert all(url.startswith(ours) for url in self.page.requests)
        noise = [t for t in self.page.troubles if "409" not in t and "favicon" not in t]
        assert noise == []


@pytest.fixture(scope="module")
def served(
    finished: Path, topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, Path]]:
    """One service of three runs for all tests, and where the runs are."""
    home, texts = tmp_path_factory.mktemp("served"), topics[0]
    quick: dict[str, Any] = {"method": "kmeans", "encoder": "tfidf"}
    shutil.copytree(finished, home / "tickets")
    coterie.cluster(["violin " * 2_000, *texts], 3, folder=home / "long", **quick)
    hostile = [*texts[:30], HOSTILE, f"violin {HOSTILE}"]
    coterie.cluster(hostile, 3, folder=home / "hostile", **quick)
    edit(home / "hostile", [{"rename": {"0": HOSTILE, "1": "${window.hacked = 2} {{ 7 * 7 }}"}}])
    with running({name: home / name for name in ("tickets", "long", "hostile")}) as client:
        yield client, home


@pytest.fixture
def folder(served: tuple[Any, Path], finished: Path, tmp_path: Path) -> Path:
    """The run of the tickets as it was made, whatever the last test did to it."""
    (client, home), version = served, open_run(finished).version
    if (home / "tickets" / "edits.jsonl").exists() or open_run(home / "tickets").version != version:
        (home / "tickets").rename(tmp_path / "changed")
        shutil.copytree(finished, tmp_path / "fresh")
        (tmp_path / "fresh").rename(home / "tickets")
        # The version may be the same as before; what was logged is not.
        client.until(lambda: client.get("/runs/tickets/version").json["seen"].endswith("#0"))
        client.until(lambda: client.get("/runs/tickets/version").json["version"] == version)
    client.wait_for_vectors()
    return home / "tickets"


@pytest.fixture
def opened(visit: Callable[..., Page], served: tuple[Any, Path]) -> Callable[..., Live]:
    def make(run: str = "tickets", **more: Any) -> Live:
        client, _ = served
        return Live(visit(f"http://127.0.0.1:{client.port}/runs/{run}/", **more), client, run)

    return make


@pytest.fixture
def live(opened: Callable[..., Live], folder: Path) -> Live:
    return opened()


def test_search_by_meaning_shows_texts_and_their_neighbours(live: Live) -> None:
    live.find("violin concert")
    live.said("texts by meaning and words")
    expected = live.get("/search?q=violin%20concert&limit=50")["texts"]
    assert live.hits() == [t["text"] for t in expected]
    live.page.keyboard.press("Escape")
    assert live.focus() == "" and live.page.input_value("#live-query") == "violin concert"
    on_map = live.page.locator("#found bdi").all_text_contents()
    assert set(on_map) == set(live.hits())
    live.page.click("#live-hits button >> nth=0")
    live.said("texts most similar to")
    near = live.get(f"/similar/{expected[0]['id']}?limit=50")["texts"]
    assert live.hits() == [t["text"] for t in near]
    live.quiet()


def test_rename_merge_lock_and_undo_with_clicks(live: Live, folder: Path) -> None:
    start = live.version()
    live.choose(1)
    live.page.fill("#live-name", "Fruit & <b>trees</b>")
    live.changed(live.click("do-rename"))
    assert live.names()[1] == "Fruit & <b>trees</b>"
    live.said("done: renamed 1")
    assert live.page.locator("#live-clusters input:checked").count() == 0
    assert "Fruit & <b>trees</b>" in live.text("#live-clusters")
    live.choose(1)
    live.changed(live.click("do-lock"))
    assert "locked" in live.text("#live-clusters")
    live.choose(1)
    for blocked in ("rename", "split", "lock", "merge"):
        assert live.page.is_disabled(f"#live-do-{blocked}")
    live.changed(live.click("do-unlock"))
    live.choose(1, 2)
    live.changed(live.click("do-merge"))
    assert sorted(live.names()) == [0, 1, 3]
    for title in ("merged 2 (", "unlocked 1 (", "locked 1 (", "renamed 1 ("):
        assert live.text("#live-do-undo").startswith(f"Undo: {title}")
        live.changed(live.click("do-undo"))
    assert live.version() == start and live.page.is_disabled("#live-do-undo")
    assert len((folder / "edits.jsonl").read_text("utf-8").splitlines()) == 8
    live.quiet()


def test_keys_alone_are_enough(live: Live) -> None:
    locked = False
    live.page.focus("#live-clusters input >> nth=0")
    first = int(live.focus("value"))
    live.page.keyboard.press("Space")
    live.page.keyboard.press("r")
    assert live.focus() == "live-name" and live.focus("value") == live.names()[first]
    live.page.keyboard.insert_text("By keys")
    live.changed(live.press("Enter"))
    assert live.names()[first] == "By keys"
    for key in "l", "l", "s":  # locked, unlocked again, split
        live.page.focus("#live-clusters input >> nth=0")
        live.page.keyboard.press("Space")
        live.changed(live.press(key))
        assert ("locked" in live.text("#live-clusters")) == (key == "l" and not locked)
        locked = not locked
    assert len(live.names()) == 5
    live.changed(live.press("u"))
    assert len(live.names()) == 4
    live.quiet()


def test_clusters_are_marked_as_done(live: Live) -> None:
    start = live.version()
    assert "0 of 4 done" in live.text("#live-count") and live.page.is_disabled("#live-do-done")
    live.choose(1, 2)
    live.changed(live.click("do-done"))
    live.said("marked 1 (")
    assert "2 of 4 done" in live.text("#live-count") and len(live.shown()) == 4
    assert live.text("#live-clusters").count("· done") == 2
    live.page.click("#live-open")
    assert sorted(live.shown()) == [0, 3]
    live.page.reload()
    live.page.until(lambda: sorted(live.shown()) == [0, 3])
    assert "2 of 4 done" in live.text("#live-count")
    live.page.click("#live-open")
    live.choose(1)
    live.changed(live.click("do-reopen"))
    done = {c["id"]: c["done"] for c in live.get("/clusters")["clusters"]}
    assert done == {0: False, 1: False, 2: True, 3: False}
    for _ in range(2):
        live.changed(live.click("do-undo"))
    assert live.version() == start and "0 of 4 done" in live.text("#live-count")
    live.quiet()


def test_done_by_keys_goes_on_to_the_next(live: Live) -> None:
    live.page.click("#live-open")
    live.page.keyboard.press("Tab")
    order = live.shown()
    for key, expected in (("", 0), ("ArrowDown", 1)):
        live.page.keyboard.press(key) if key else None
        assert live.focus("value") == str(order[expected])
    live.page.keyboard.press("Space")
    live.changed(live.press("d"))
    assert live.shown() == [order[0], *order[2:]]
    assert live.focus("value") == str(order[2])  # where the list goes on
    for _ in range(2):
        live.page.keyboard.press("ArrowUp")
        assert live.focus("value") == str(order[0])
    live.quiet()


def test_texts_are_moved(live: Live) -> None:
    live.find("violin")
    hit = live.get("/search?q=violin&limit=50")["texts"][0]
    live.page.click("#live-hits input >> nth=0")
    assert "1 text selected" in live.text("#live-texts")
    to = next(c for c in live.names() if c != hit["cluster"])
    assert live.page.is_disabled("#live-do-move")
    live.page.keyboard.press("v")  # nothing moves before a cluster is chosen
    assert live.focus() == "live-to"
    live.page.keyboard.press(str(to))  # the name begins with the number
    assert live.page.input_value("#live-to") == str(to)
    live.page.keyboard.press("Escape")
    assert live.focus() != "live-to"
    live.changed(live.press("v"))
    found = live.get(f"/similar/{hit['id']}")["to"]
    assert found["cluster"] == to and found["confidence"] > 0.99
    assert "0 texts selected" in live.text("#live-texts")
    live.quiet()


def test_a_click_on_the_legend_and_a_lasso_select(live: Live) -> None:
    live.page.click("#legend button >> nth=0")
    assert live.page.locator("#live-clusters input:checked").count() == 1
    live.page.click("#lasso")
    live.page.evaluate("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    box = live.page.box("#canvas")
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.02)]
    live.page.drag(
        [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    )
    live.page.click("#live-take")
    assert "90 texts selected" in live.text("#live-texts")


def test_what_others_change_shows_up_and_work_is_not_lost(
    live: Live, opened: Callable[..., Live], folder: Path
) -> None:
    other = opened()
    other.choose(3)
    other.changed(other.click("do-done"))
    live.page.until(lambda: "1 of 4 done" in live.text("#live-count"))
    live.said("Another page marked 3 (")
    other.page.close()
    live.choose(0)
    live.page.fill("#live-name", "My own name")
    before = live.version()
    edit(folder, [{"rename": {"2": "By a third"}}])
    live.said("A command renamed 2 (")
    live.page.until(lambda: live.page.is_visible("#live-news"))
    assert live.version() == before  # no work is interrupted
    assert "By a third" in live.text("#live-clusters")
    live.changed(live.click("do-rename"))
    assert live.names()[0] == "My own name"
    live.quiet()


def test_a_selection_is_not_taken_to_another_run(
    live: Live, folder: Path, tmp_path: Path, topics: tuple[list[str], list[str]]
) -> None:
    live.find("violin")
    live.page.click("#live-hits input >> nth=0")
    live.choose(1)
    other = tmp_path / "other"
    coterie.cluster(topics[0][::-1], 3, method="kmeans", encoder="tfidf", folder=other)
    folder.rename(tmp_path / "first")
    other.rename(folder)
    live.page.until(lambda: "0 of 3 done" in live.text("#live-count"))
    assert "0 texts selected" in live.text("#live-texts")
    assert "0 of 3 done" in live.text("#live-count")
    assert live.page.locator("#live-clusters input:checked").count() == 0
    assert live.page.input_value("#live-query") == "violin"


def test_long_texts_and_many_selected_rows(opened: Callable[..., Live]) -> None:
    live = opened("long")
    live.find("violin")
    assert max(map(len, live.hits())) == 501
    # A lasso around 200,000 marks of long texts must not be more than the session holds.
    live.page.evaluate(
        "document.dispatchEvent(new CustomEvent('coterie:focus', { detail: { cluster: null, rows: "
        "Array.from({ length: 200000 }, (_, i) => [i + 1, 'x'.repeat(200)]) } }))"
    )
    live.page.click("#live-take")
    live.page.reload()
    live.page.until(lambda: "200000 texts selected" in live.text("#live-texts"))


def test_a_run_that_is_gone_is_told(live: Live, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    live.said("The run cannot be read any more")
    assert str(folder.parent) not in live.text("#live-said")
    assert live.client.post("/runs/tickets/predict", {"text": "violin"}).status == 200
    folder.with_name("elsewhere").rename(folder)
    live.said("The run can be read again")
    live.choose(1)
    live.changed(live.click("do-lock"))
    live.quiet()


@pytest.mark.parametrize("width", [1400, 375])
def test_long_names_leave_the_tools_in_shape(
    opened: Callable[..., Live], folder: Path, width: int
) -> None:
    edit(folder, [{"rename": {"0": "W" * 100, "1": "\u202ereversed \u202c" + "word " * 18}}])
    version = open_run(folder).version
    live = opened(width=width, is_mobile=width < 400)
    live.page.until(lambda: live.version() == version)
    page = live.page
    page.until(lambda: page.is_visible("#live-edit"))
    inside = "(b => b.scrollWidth <= b.clientWidth)(document.getElementById('live-clusters'))"
    assert page.evaluate(inside)  # the list goes down, not to the side
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame, to = page.box("#live"), page.box("#live-to")
    assert to["x"] + to["width"] <= frame["x"] + frame["width"]
    heads = "[...document.querySelectorAll('thead th')].map(c => c.offsetHeight)"
    assert max(page.evaluate(heads)) < 45  # one line, or hidden on a phone: no word is broken
    label = page.evaluate("document.getElementById('live-to').closest('label').offsetHeight")
    assert label < 3 * page.box("#live-drop")["height"]


def test_nothing_is_lost_on_reload(live: Live) -> None:
    live.find("violin")
    live.page.click("#live-hits input >> nth=0")
    live.choose(2)
    live.page.fill("#live-name", "A draft")
    live.page.reload()
    live.page.until(live.hits)
    assert live.page.input_value("#live-name") == "A draft"
    assert live.page.input_value("#live-query") == "violin"
    assert live.page.is_checked("#live-clusters input[value='2']")
    assert "1 text selected" in live.text("#live-texts")
    assert live.page.is_checked("#live-hits input >> nth=0")


def test_a_refused_edit_says_why(live: Live) -> None:
    live.choose(0)
    taken = live.names()[1]
    live.page.fill("#live-name", taken)
    live.page.click("#live-do-rename")
    live.said("failed: ")
    assert taken in live.text("#live-queue")
    assert live.page.input_value("#live-name") == taken  # to be corrected
    assert live.names()[0] != taken


def test_hostile_texts_and_names_are_inert(opened: Callable[..., Live]) -> None:
    live = opened("hostile")
    live.find("violin onerror")
    assert f"violin {HOSTILE}" in live.hits()
    live.choose(0)
    live.changed(live.click("do-lock"))
    live.said(f"locked 0 ({HOSTILE})")
    assert live.page.evaluate("typeof window.hacked") == "undefined"
    assert live.page.locator("img").count() == 0
    live.quiet()


def test_a_reader_sees_no_tools_for_edits(
    browser: Any, start: Callable[..., Any], finished: Path
) -> None:
    read, edits = "r" * 20, "e" * 20
    tokens = Tokens.find({"COTERIE_READ_TOKEN": read, "COTERIE_EDIT_TOKEN": edits})
    client = start(finished, tokens=tokens)
    for token in (read, edits):
        login = {"username": "me", "password": token}
        with browser.new_context(http_credentials=login) as context:
            page = Page(context.new_page())
            page.goto(f"http://127.0.0.1:{client.port}/")
            page.until(lambda: page.is_visible("#live"))  # noqa: B023
            page.until(lambda: page.is_visible("#live-edit") == (token == edits))  # noqa: B023
