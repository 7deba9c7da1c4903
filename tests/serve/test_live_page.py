"""The page at work in a real browser: found by meaning, edited with clicks and keys, kept."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie import open_run
from coterie.editing import edit
from coterie.serve.access import Tokens
from said import says

HOSTILE = '</script><img src=x onerror="window.hacked = 1">'


def wait_until(page: Any, true: Callable[[], bool]) -> None:
    """The page may be loading anew meanwhile: then it cannot be asked."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if true():
                return
        except AssertionError:
            pass
        time.sleep(0.05)
    raise AssertionError("it does not happen")


class Live:
    """The page of a service, with what the tests do to it."""

    def __init__(self, page: Any, client: Any) -> None:
        self.page, self.client = page, client

    def text(self, selector: str) -> str:
        return str(self.page.text(selector))

    def said(self, part: str) -> None:
        wait_until(self.page, lambda: part in self.text("#live-said"))

    def click(self, selector: str) -> None:
        """A real click in the middle of an element."""
        self.page.eval(
            f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})"
        )
        box = self.page.box(selector)
        self.page.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def space(self) -> None:
        key = {"key": " ", "code": "Space"}
        self.page.call("Input.dispatchKeyEvent", type="keyDown", text=" ", **key)
        self.page.call("Input.dispatchKeyEvent", type="keyUp", **key)
        self.page.settle()

    def choose(self, *clusters: int) -> None:
        for cluster in clusters:
            self.click(f"#live-clusters input[value='{cluster}']")

    def write(self, selector: str, text: str) -> None:
        self.page.eval(f"document.querySelector({json.dumps(selector)}).select()")
        self.page.write(text)

    def hits(self) -> list[str]:
        found = "[...document.querySelectorAll('#live-hits bdi')].map(b => b.textContent.trim())"
        return list(self.page.eval(found))

    def version(self) -> str:
        read = "JSON.parse(document.getElementById('data').textContent).live.version"
        return str(self.page.eval(read))

    def changed(self, act: Callable[[], None]) -> None:
        """Do something that changes the run, and wait for the page with its new state."""
        before = self.version()
        act()
        wait_until(self.page, lambda: self.version() != before)
        wait_until(self.page, lambda: self.version() == self.client.get("/version").json["version"])
        wait_until(self.page, lambda: not self.page.eval("document.getElementById('live').hidden"))
        self.page.settle()

    def quiet(self) -> None:
        ours = f"http://127.0.0.1:{self.client.port}/"
        assert all(url.startswith(ours) for url in self.page.requests())
        noise = [t for t in self.page.troubles() if "409" not in t and "favicon" not in t]
        assert noise == []


@pytest.fixture
def opened(
    visit: Callable[..., Any], start: Callable[..., Any], folder: Path
) -> Callable[..., Live]:
    def make(path: str = "/", **settings: Any) -> Live:
        client = start(folder, **settings)
        client.wait_for_vectors()
        live = Live(visit(f"http://127.0.0.1:{client.port}{path}"), client)
        wait_until(
            live.page, lambda: not live.page.eval("document.getElementById('live-edit').hidden")
        )
        return live

    return make


def names(client: Any) -> dict[int, str]:
    return {c["id"]: c["name"] for c in client.get("/clusters").json["clusters"]}


def test_search_by_meaning_shows_texts_and_their_neighbours(opened: Callable[..., Live]) -> None:
    live = opened()
    live.page.key("/")
    live.page.write("violin concert")
    live.page.key("Enter")
    live.said("texts by meaning and words")
    expected = live.client.get("/search?q=violin%20concert&limit=50").json["texts"]
    assert live.hits() == [t["text"] for t in expected]
    live.page.key("Escape")
    assert live.page.eval("document.activeElement.id") == ""
    assert live.page.eval("document.getElementById('live-query').value") == "violin concert"
    on_map = live.page.eval("[...document.querySelectorAll('#found bdi')].map(b => b.textContent)")
    assert set(on_map) == set(live.hits())
    live.click("#live-hits button")
    live.said("texts most similar to")
    near = live.client.get(f"/similar/{expected[0]['id']}?limit=50").json["texts"]
    assert live.hits() == [t["text"] for t in near]
    live.quiet()


def test_rename_merge_lock_and_undo_with_clicks(opened: Callable[..., Live], folder: Path) -> None:
    live = opened()
    start = open_run(folder).version
    live.choose(1)
    live.write("#live-name", "Fruit & <b>trees</b>")
    live.changed(lambda: live.click("#live-do-rename"))
    assert names(live.client)[1] == "Fruit & <b>trees</b>"
    live.said("renamed 1")
    assert live.page.eval("document.querySelector(\"#live-clusters input[value='1']\").checked")
    assert "Fruit & <b>trees</b>" in live.text("#live-clusters")
    live.changed(lambda: live.click("#live-do-lock"))
    assert "locked" in live.text("#live-clusters")
    for blocked in ("rename", "split", "lock", "merge"):
        assert live.page.eval(f"document.getElementById('live-do-{blocked}').disabled")
    live.changed(lambda: live.click("#live-do-unlock"))
    live.choose(2)
    live.changed(lambda: live.click("#live-do-merge"))
    assert sorted(names(live.client)) == [0, 1, 3]
    for _ in range(4):
        live.changed(lambda: live.click("#live-do-undo"))
    assert live.version() == start
    lines = (folder / "edits.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 8
    live.quiet()


def test_keys_alone_are_enough(opened: Callable[..., Live]) -> None:
    live = opened()
    live.page.eval("document.querySelector('#live-clusters input').focus()")
    first = int(live.page.eval("document.activeElement.value"))
    live.space()
    live.page.key("r")
    assert live.page.eval("document.activeElement.id") == "live-name"
    assert live.page.eval("document.activeElement.value") == names(live.client)[first]
    live.page.write("By keys")
    live.changed(lambda: live.page.key("Enter"))
    assert names(live.client)[first] == "By keys"
    live.page.eval("document.activeElement.blur()")
    live.changed(lambda: live.page.key("l"))
    assert "locked" in live.text("#live-clusters")
    live.changed(lambda: live.page.key("l"))  # unlocked again
    live.changed(lambda: live.page.key("s"))
    assert len(names(live.client)) == 5
    live.changed(lambda: live.page.key("u"))
    assert len(names(live.client)) == 4
    live.quiet()


def shown(live: Live) -> list[int]:
    """Clusters that the list shows."""
    boxes = "[...document.querySelectorAll('#live-clusters li:not([hidden]) input')]"
    return list(live.page.eval(f"{boxes}.map(b => Number(b.value))"))


def test_clusters_are_marked_as_done(opened: Callable[..., Live], folder: Path) -> None:
    live = opened()
    start = open_run(folder).version
    assert "0 of 4 done" in live.text("#live-count")
    assert live.page.eval("document.getElementById('live-do-done').disabled")
    live.choose(1, 2)
    live.changed(lambda: live.click("#live-do-done"))
    live.said("marked 1 (")
    assert "2 of 4 done" in live.text("#live-count") and len(shown(live)) == 4
    assert live.text("#live-clusters").count("· done") == 2
    live.click("#live-open")
    assert sorted(shown(live)) == [0, 3]
    live.page.browser.events.clear()
    live.page.call("Page.reload")
    live.page.wait_for_load()
    wait_until(live.page, lambda: sorted(shown(live)) == [0, 3])
    assert "2 of 4 done" in live.text("#live-count")
    live.click("#live-open")
    live.choose(1)
    live.changed(lambda: live.click("#live-do-reopen"))
    assert {c["id"]: c["done"] for c in live.client.get("/clusters").json["clusters"]} == {
        0: False, 1: False, 2: True, 3: False,
    }  # fmt: skip
    for _ in range(2):
        live.changed(lambda: live.click("#live-do-undo"))
    assert live.version() == start and "0 of 4 done" in live.text("#live-count")
    live.quiet()


def test_done_by_keys_goes_on_to_the_next(opened: Callable[..., Live]) -> None:
    live = opened()
    live.click("#live-open")
    live.page.key("Tab")
    order = shown(live)
    focused = partial(live.page.eval, "Number(document.activeElement.value)")
    assert focused() == order[0]
    live.page.key("ArrowDown")
    assert focused() == order[1]
    live.space()
    live.changed(lambda: live.page.key("d"))
    assert shown(live) == [order[0], *order[2:]]
    assert focused() == order[2]  # where the list goes on
    live.page.key("ArrowUp")
    assert focused() == order[0]
    live.page.key("ArrowUp")
    assert focused() == order[0]
    live.quiet()


def test_others_see_what_is_done(opened: Callable[..., Live], visit: Callable[..., Any]) -> None:
    live = opened()
    other = Live(visit(f"http://127.0.0.1:{live.client.port}/"), live.client)
    live.choose(3)
    live.changed(lambda: live.click("#live-do-done"))
    wait_until(other.page, lambda: "1 of 4 done" in other.text("#live-count"))
    other.said("Somebody has changed the run. This is its new state. Last edit: marked 3 (")


def test_texts_are_moved(opened: Callable[..., Live]) -> None:
    live = opened()
    live.page.key("/")
    live.page.write("violin")
    live.page.key("Enter")
    live.said("texts by")
    hit = live.client.get("/search?q=violin&limit=50").json["texts"][0]
    live.click("#live-hits input")
    assert "1 text selected" in live.text("#live-texts")
    to = next(c for c in names(live.client) if c != hit["cluster"])
    assert live.page.eval("document.getElementById('live-do-move').disabled")
    live.page.key("v")  # nothing moves before a cluster is chosen
    assert live.page.eval("document.activeElement.id") == "live-to"
    live.page.key(str(to))  # the name begins with the number
    assert live.page.eval("document.getElementById('live-to').value") == str(to)
    live.page.key("Escape")
    assert live.page.eval("document.activeElement.id") != "live-to"
    live.changed(lambda: live.page.key("v"))
    found = live.client.get(f"/similar/{hit['id']}").json["to"]
    assert found["cluster"] == to and found["confidence"] > 0.99
    assert "0 texts selected" in live.text("#live-texts")
    live.quiet()


def test_a_click_on_the_legend_and_a_lasso_select(opened: Callable[..., Live]) -> None:
    live = opened()
    live.click("#legend button")
    ticked = "[...document.querySelectorAll('#live-clusters input:checked')].map(i => i.value)"
    assert len(live.page.eval(ticked)) == 1
    box = live.page.box("#canvas")
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.02)]
    live.click("#lasso")
    live.page.eval("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    box = live.page.box("#canvas")
    path = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    live.page.mouse("Pressed", *path[0], button="left", clickCount=1)
    for spot in path[1:]:
        live.page.mouse("Moved", *spot, button="left", buttons=1)
    live.page.mouse("Released", *path[-1], button="left", clickCount=1)
    live.page.settle()
    live.click("#live-take")
    assert "90 texts selected" in live.text("#live-texts")


def test_what_others_change_shows_up_and_work_is_not_lost(
    opened: Callable[..., Live], folder: Path
) -> None:
    live = opened()
    live.page.eval("document.activeElement.blur()")
    live.changed(lambda: edit(folder, [{"rename": {"3": "By somebody else"}}]))
    live.said("Somebody has changed the run")
    assert "By somebody else" in live.text("#live-clusters")
    live.choose(0)
    live.write("#live-name", "My own name")
    before = live.version()
    edit(folder, [{"rename": {"2": "By a third"}}])
    wait_until(live.page, lambda: not live.page.eval("document.getElementById('live-news').hidden"))
    assert live.version() == before  # no work is interrupted
    live.click("#live-do-rename")
    live.said("Somebody was faster")
    assert "My own name" not in names(live.client).values()
    live.changed(lambda: live.click("#live-reload"))
    assert live.page.eval("document.getElementById('live-name').value") == "My own name"
    assert "By a third" in live.text("#live-clusters")
    live.changed(lambda: live.click("#live-do-rename"))
    assert names(live.client)[0] == "My own name"
    live.quiet()


def test_a_selection_is_not_taken_to_another_run(
    opened: Callable[..., Live], folder: Path, tmp_path: Path, topics: tuple[list[str], list[str]]
) -> None:
    live = opened()
    live.page.key("/")
    live.page.write("violin")
    live.page.key("Enter")
    live.said("texts by")
    live.click("#live-hits input")
    live.choose(1)
    other = tmp_path / "other"
    coterie.cluster(topics[0][::-1], 3, method="kmeans", encoder="tfidf", folder=other)
    folder.rename(tmp_path / "first")
    other.rename(folder)
    wait_until(live.page, lambda: shows(live.page, "live-news", True))
    live.changed(lambda: live.click("#live-reload"))
    assert "0 texts selected" in live.text("#live-texts") and "0 of 3 done" in live.text(
        "#live-count"
    )
    assert live.page.eval("document.querySelectorAll('#live-clusters input:checked').length") == 0
    assert live.page.eval("document.getElementById('live-query').value") == "violin"


def test_long_texts_and_many_selected_rows(
    visit: Callable[..., Any], start: Callable[..., Any], tmp_path: Path,
    topics: tuple[list[str], list[str]],
) -> None:  # fmt: skip
    folder = tmp_path / "long"
    coterie.cluster(["violin " * 2_000, *topics[0]], 3, method="kmeans", encoder="tfidf",
                    folder=folder)  # fmt: skip
    client = start(folder)
    client.wait_for_vectors()
    live = Live(visit(f"http://127.0.0.1:{client.port}/"), client)
    live.page.key("/")
    live.page.write("violin")
    live.page.key("Enter")
    live.said("texts by")
    assert max(map(len, live.hits())) == 501
    # A lasso around 200,000 marks of long texts must not be more than the session holds.
    live.page.eval(
        "document.dispatchEvent(new CustomEvent('coterie:focus', { detail: { cluster: null, rows: "
        "Array.from({ length: 200000 }, (_, i) => [i + 1, 'x'.repeat(200)]) } }))"
    )
    live.click("#live-take")
    live.page.browser.events.clear()
    live.page.call("Page.reload")
    live.page.wait_for_load()
    wait_until(live.page, lambda: "200000 texts selected" in live.text("#live-texts"))


def test_who_was_slower_is_told_and_loses_nothing(
    opened: Callable[..., Live], visit: Callable[..., Any]
) -> None:
    live = opened()
    live.choose(2)
    other = Live(visit(f"http://127.0.0.1:{live.client.port}/"), live.client)
    wait_until(other.page, lambda: shows(other.page, "live-edit", True))
    other.choose(3)
    live.page.call("Page.bringToFront")
    live.page.eval("document.getElementById('live-do-done').click()")
    other.page.eval("document.getElementById('live-do-done').click()")
    wait_until(live.page, lambda: "1 of 4 done" in live.text("#live-count"))
    other.said("Somebody was faster")
    other.page.call("Page.bringToFront")
    time.sleep(3)  # longer than the page waits between two questions
    other.said("Somebody was faster")
    other.click("#live-reload")
    wait_until(other.page, lambda: "1 of 4 done" in other.text("#live-count"))
    other.page.settle()
    other.changed(lambda: other.click("#live-do-done"))  # its cluster is still selected
    assert "2 of 4 done" in other.text("#live-count")


def test_a_run_that_is_gone_is_told(opened: Callable[..., Live], folder: Path) -> None:
    live = opened()
    folder.rename(folder.with_name("elsewhere"))
    live.said("The run cannot be read any more")
    assert str(folder.parent) not in live.text("#live-said")
    assert live.client.post("/predict", {"text": "violin"}).status == 200
    folder.with_name("elsewhere").rename(folder)
    live.said("The run can be read again")
    live.choose(1)
    live.changed(lambda: live.click("#live-do-lock"))
    live.quiet()


@pytest.mark.parametrize("width", [1400, 375])
def test_long_names_leave_the_tools_in_shape(
    visit: Callable[..., Any], start: Callable[..., Any], folder: Path, width: int
) -> None:
    edit(folder, [{"rename": {"0": "W" * 100, "1": "\u202ereversed \u202c" + "word " * 18}}])
    client = start(folder)
    page = visit(f"http://127.0.0.1:{client.port}/", width=width, phone=width < 400)
    wait_until(page, partial(shows, page, "live-edit", True))
    inside = "(b => b.scrollWidth <= b.clientWidth)(document.getElementById('live-clusters'))"
    assert page.eval(inside)  # the list goes down, not to the side
    assert page.eval("document.documentElement.scrollWidth <= innerWidth")
    frame, to = page.box("#live"), page.box("#live-to")
    assert to["x"] + to["width"] <= frame["x"] + frame["width"]
    heads = "[...document.querySelectorAll('thead th')].map(c => c.offsetHeight)"
    assert 0 < max(page.eval(heads)) < 45  # one line: no word is broken
    line = page.box("#live-drop")["height"]
    label = page.eval("document.getElementById('live-to').closest('label').offsetHeight")
    assert label < 3 * line


def test_nothing_is_lost_on_reload(opened: Callable[..., Live]) -> None:
    live = opened()
    live.page.key("/")
    live.page.write("violin")
    live.page.key("Enter")
    live.said("texts by")
    live.click("#live-hits input")
    live.choose(2)
    live.write("#live-name", "A draft")
    live.page.browser.events.clear()
    live.page.call("Page.reload")
    live.page.wait_for_load()
    wait_until(live.page, lambda: bool(live.hits()))
    assert live.page.eval("document.getElementById('live-name').value") == "A draft"
    assert live.page.eval("document.getElementById('live-query').value") == "violin"
    assert live.page.eval("document.querySelector(\"#live-clusters input[value='2']\").checked")
    assert "1 text selected" in live.text("#live-texts")
    assert live.page.eval("document.querySelector('#live-hits input').checked")


def test_a_refused_edit_says_why(opened: Callable[..., Live]) -> None:
    live = opened()
    live.choose(0)
    live.write("#live-name", names(live.client)[1])  # taken
    live.click("#live-do-rename")
    wait_until(live.page, lambda: says(live.text("#live-said"), "already; choose another", "1"))
    assert live.page.eval("document.getElementById('live-name').value")  # to be corrected


def test_hostile_texts_and_names_are_inert(
    visit: Callable[..., Any], start: Callable[..., Any], tmp_path: Path,
    topics: tuple[list[str], list[str]],
) -> None:  # fmt: skip
    folder = tmp_path / "hostile"
    coterie.cluster([*topics[0][:30], HOSTILE, f"violin {HOSTILE}"], 3, method="kmeans",
                    encoder="tfidf", folder=folder)  # fmt: skip
    edit(folder, [{"rename": {"0": HOSTILE, "1": "${window.hacked = 2} {{ 7 * 7 }}"}}])
    client = start(folder)
    client.wait_for_vectors()
    live = Live(visit(f"http://127.0.0.1:{client.port}/"), client)
    live.page.key("/")
    live.page.write("violin onerror")
    live.page.key("Enter")
    live.said("texts by")
    assert f"violin {HOSTILE}" in live.hits()
    live.choose(0)
    live.changed(lambda: live.click("#live-do-lock"))
    live.said(f"locked 0 ({HOSTILE})")
    assert live.page.eval("typeof window.hacked") == "undefined"
    assert live.page.eval("document.querySelectorAll('img').length") == 0
    live.quiet()


def test_a_reader_sees_no_tools_for_edits(
    visit: Callable[..., Any], start: Callable[..., Any], folder: Path
) -> None:
    tokens = Tokens.find({"COTERIE_READ_TOKEN": "r" * 20, "COTERIE_EDIT_TOKEN": "e" * 20})
    client = start(folder, tokens=tokens)
    for token, edits in (("r" * 20, False), ("e" * 20, True)):
        page = visit("about:blank")
        login = base64.b64encode(f"me:{token}".encode()).decode()
        page.call("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {login}"})
        page.browser.events.clear()
        page.call("Page.navigate", url=f"http://127.0.0.1:{client.port}/")
        page.wait_for_load()
        wait_until(page, partial(shows, page, "live", True))
        wait_until(page, partial(shows, page, "live-edit", edits))


def shows(page: Any, part: str, wanted: bool) -> bool:
    return page.eval(f"document.getElementById('{part}').hidden") != wanted
