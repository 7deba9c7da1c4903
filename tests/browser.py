"""A real browser: the Chromium that is installed, driven by Playwright."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WEBGL = "--enable-unsafe-swiftshader"  # without a graphics card
PATIENCE = 60.0  # seconds


class Page:
    """A page of Playwright, with what it asked for and what it complained about."""

    def __init__(self, page: Any) -> None:
        self.page, self.requests, self.troubles = page, [], []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda said: self.troubles.append(f"{said.text} {said.location}"))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def text(self, selector: str) -> str:
        return str(self.page.text_content(selector))

    def box(self, selector: str) -> dict[str, float]:
        return dict(self.page.locator(selector).first.bounding_box())

    def drawn(self) -> None:
        """Wait until the page has drawn what it was told."""
        frames = (
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        self.page.evaluate(frames)

    def drag(self, path: list[tuple[float, float]]) -> None:
        self.page.mouse.move(*path[0])
        self.page.mouse.down()
        for spot in path[1:]:
            self.page.mouse.move(*spot)
        self.page.mouse.up()

    def until(self, true: Callable[[], object]) -> None:
        """Wait; the page may be loading anew meanwhile: then it cannot be asked."""
        from playwright.sync_api import Error

        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if true():
                    return
            except Error:
                pass
            self.page.wait_for_timeout(100)
        raise AssertionError("it does not happen")


@pytest.fixture(scope="module")  # its event loop is that of the thread as long as it runs
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium or Chrome is installed: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[WEBGL])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def contexts(browser: Any) -> Callable[..., Any]:
    """Contexts of Playwright by their options: making one takes longer than making a page."""
    return cache(lambda **options: browser.new_context(reduced_motion="reduce", **options))


@pytest.fixture
def visit(contexts: Callable[..., Any]) -> Iterator[Callable[..., Page]]:
    """Opens a file or an address; further options are those of a context of Playwright."""
    pages: list[Page] = []

    def open_page(
        place: Path | str, *, width: int = 1400, height: int = 1000, before: str = "", **more: Any
    ) -> Page:
        page = Page(contexts(**more).new_page())
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        if before:
            page.add_init_script(before)
        page.goto(place if isinstance(place, str) else place.as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
