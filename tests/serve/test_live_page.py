"""The page at work in a real browser: found by meaning, edited with clicks and keys, undone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import coterie
from browser import Page
from coterie.runs.editing import edit
from coterie.serve.access import Tokens

PATIENCE = 60_000  # milliseconds
HOSTILE = '</script><img src=x onerror="window.hacked = 1">'


class Live:
    """The page of a run of the service, with what the tests do to it."""

    def __init__(self, page: Page, client: Any) -> None:
        self.page, self.client = page, client
        page.until(lambda: page.is_visible("#live-edit"))

    def names(self) -> dict[int, str]:
        return {c["id"]: c["name"] for c in self.client.get("/clusters").json["clusters"]}

    def text(self, selector: str) -> str:
        return self.page.text(selector)

    def said(self, part: str) -> None:
        self.page.until(lambda: part in self.text("#live-said"))

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

    def version(self) -> str:
        return str(json.loads(self.text("#data"))["live"]["version"])

    def changed(self, act: Callable[[], object]) -> None:
        """Do something that changes the run, and wait for the page with its new state."""
        with self.page.expect_event("load", timeout=PATIENCE):
            act()
        self.page.until(lambda: self.version() == self.client.get("/version").json["version"])
        self.page.until(lambda: self.page.is_visible("#live-edit"))

    def click(self, button: str) -> Callable[[], None]:
        return partial(self.page.click, f"#live-{button}")

    def press(self, key: str) -> Callable[[], None]:
        return partial(self.page.keyboard.press, key)

    def quiet(self) -> None:
        ours = f"http://127.0.0.1:{self.client.port}/"
        assert all(url.startswith(ours) for url in self.page.requests)
        expected = ("422", "favicon")  # a refused edit
        assert [t for t in self.page.troubles if not any(part in t for part in expected)] == []


@pytest.fixture
def opened(start: Callable[..., Any], visit: Callable[..., Page]) -> Callable[[Path], Live]:
    def make(folder: Path) -> Live:
        client = start(folder)
        client.wait_for_vectors()
        return Live(visit(f"http://127.0.0.1:{client.port}/"), client)

    return make


def test_edits_with_clicks_and_keys_and_their_undo(
    opened: Callable[[Path], Live], folder: Path
) -> None:
    live = opened(folder)
    start = live.version()
    live.choose(1)
    live.page.fill("#live-name", "Fruit & <b>trees</b>")
    live.changed(live.click("do-rename"))
    assert live.names()[1] == "Fruit & <b>trees</b>"
    live.said("Done: renamed 1")
    assert "Fruit & <b>trees</b>" in live.text("#live-clusters")
    assert live.page.locator("#live-clusters input:checked").count() == 0
    live.choose(1, 2)
    assert live.page.is_disabled("#live-do-rename") and live.page.is_disabled("#live-do-split")
    live.changed(live.click("do-merge"))
    assert sorted(live.names()) == [0, 1, 3]
    live.page.focus("#live-clusters input >> nth=0")
    live.page.keyboard.press("Space")
    live.changed(live.press("s"))
    assert len(live.names()) == 4
    live.choose(1)
    taken = live.names()[3]
    live.page.fill("#live-name", taken)
    live.page.keyboard.press("Enter")
    live.said(taken)
    assert live.page.input_value("#live-name") == taken  # to be corrected
    live.page.keyboard.press("Escape")
    for title in ("split ", "merged 2 (", "renamed 1 ("):
        assert live.text("#live-do-undo").startswith(f"Undo: {title}")
        live.changed(live.press("u"))
    assert live.version() == start and live.page.is_disabled("#live-do-undo")
    live.quiet()


def test_texts_are_found_and_moved(opened: Callable[[Path], Live], folder: Path) -> None:
    live = opened(folder)
    live.find("violin concert")
    expected = live.client.get("/search?q=violin%20concert&limit=50").json["texts"]
    assert live.hits() == [t["text"] for t in expected]
    assert set(live.page.locator("#found bdi").all_text_contents()) == set(live.hits())
    live.page.click("#live-hits button >> nth=0")
    live.said("texts most similar to")
    near = live.client.get(f"/similar/{expected[0]['id']}?limit=50").json["texts"]
    assert live.hits() == [t["text"] for t in near]
    live.page.click("#live-hits input >> nth=0")
    live.page.reload()  # nothing that was selected or typed is lost
    live.page.until(live.hits)
    assert live.page.input_value("#live-query") == "violin concert"
    assert "1 text selected" in live.text("#live-texts")
    to = next(c for c in live.names() if c != near[0]["cluster"])
    live.page.until(lambda: live.page.is_visible("#live-edit"))
    live.page.select_option("#live-to", str(to))
    live.changed(live.click("do-move"))
    assert live.client.get(f"/similar/{near[0]['id']}").json["to"]["cluster"] == to
    live.page.click("#lasso")
    live.page.evaluate("document.getElementById('canvas').scrollIntoView({block: 'center'})")
    box = live.page.box("#canvas")
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.02)]
    live.page.drag(
        [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    )
    live.page.click("#live-take")
    assert "90 texts selected" in live.text("#live-texts")
    live.quiet()


def test_an_edit_of_what_another_has_changed_is_not_done(
    opened: Callable[[Path], Live], folder: Path
) -> None:
    live = opened(folder)
    before = live.client.get("/version").json
    live.page.route("**/version", lambda route: route.fulfill(json=before))  # it hears nothing
    live.choose(0)
    live.page.fill("#live-name", "My own name")
    edit(folder, [{"rename": {"2": "By another"}}])
    live.changed(live.click("do-rename"))
    live.said("Somebody else has changed the run")
    assert live.page.input_value("#live-name") == "My own name"  # nothing that was typed is lost
    assert live.names()[2] == "By another" and "My own name" not in live.names().values()
    live.page.unroute("**/version")
    edit(folder, [{"rename": {"2": "Again"}}])
    seen = live.version()
    live.page.until(lambda: live.client.get("/version").json["version"] != seen)
    live.page.until(lambda: live.page.is_visible("#live-news"))
    live.changed(live.click("reload"))
    assert "Again" in live.text("#live-clusters")
    folder.rename(folder.with_name("elsewhere"))
    live.page.until(lambda: "cannot be read any more" in live.text("#live-trouble"))
    assert str(folder.parent) not in live.text("#live-trouble")


def test_the_number_of_clusters_is_kept(
    opened: Callable[[Path], Live], grown: Path, tmp_path: Path
) -> None:
    live = opened(Path(shutil.copytree(grown, tmp_path / "grown")))
    before = len(live.names())
    live.page.fill("#cut-number", str(before + 1))
    live.page.keyboard.press("Enter")
    live.page.until(lambda: live.page.is_visible("#live-keep"))
    live.changed(live.click("keep"))
    assert len(live.names()) == before + 1
    assert live.page.input_value("#cut") == str(before + 1)
    assert not live.page.is_visible("#live-keep")
    live.changed(live.click("do-undo"))
    assert len(live.names()) == before


def test_hostile_texts_and_names_are_inert(
    opened: Callable[[Path], Live], topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = [*topics[0][:30], HOSTILE, f"violin {HOSTILE}"]
    coterie.cluster(texts, 3, method="kmeans", encoder="tfidf", folder=tmp_path / "hostile")
    edit(tmp_path / "hostile", [{"rename": {"0": HOSTILE, "1": "${window.hacked = 2} {{ 7 }}"}}])
    live = opened(tmp_path / "hostile")
    live.find("violin onerror")
    assert f"violin {HOSTILE}" in live.hits()
    live.choose(0)
    live.changed(live.click("do-split"))
    live.said(HOSTILE)
    assert live.page.evaluate("typeof window.hacked") == "undefined"
    assert live.page.locator("img").count() == 0
    live.quiet()


def test_a_reader_sees_no_tools_for_edits(
    browser: Any, start: Callable[..., Any], finished: Path
) -> None:
    read, edits = "r" * 20, "e" * 20
    client = start(finished, tokens=Tokens(read, edits))
    for token in (read, edits):
        login = {"username": "me", "password": token}
        with browser.new_context(http_credentials=login) as context:
            page = Page(context.new_page())
            page.goto(f"http://127.0.0.1:{client.port}/")
            page.until(lambda: page.is_visible("#live"))  # noqa: B023
            page.until(lambda: page.is_visible("#live-edit") == (token == edits))  # noqa: B023
