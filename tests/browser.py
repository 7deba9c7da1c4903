"""A real browser, driven by the DevTools protocol over a pipe: no test dependency."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--remote-debugging-pipe", "--force-prefers-reduced-motion",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
]  # fmt: skip
PATIENCE = 60.0  # seconds


class Browser:
    """One headless browser; ``call`` sends a command and collects the events on the way."""

    def __init__(self, program: str, folder: str) -> None:
        there, self.out = os.pipe()
        self.into, back = os.pipe()

        def hand_over() -> None:  # the browser reads from 3 and writes to 4
            first, second = os.dup(there), os.dup(back)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={folder}"], preexec_fn=hand_over, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there)
        os.close(back)
        self.rest, self.number = b"", 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self.events.append(answer)

    def read(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready = select.select([self.into], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, "the browser does not answer"
            block = os.read(self.into, 1 << 20)
            assert block, "the browser has ended"
            self.rest += block
        message, self.rest = self.rest.split(b"\0", 1)
        return dict(json.loads(message))

    def close(self) -> None:
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.out)
        os.close(self.into)


class Page:
    """An opened file or address: look at it, click, type."""

    def __init__(self, browser: Browser, path: Path | str, *, width: int, height: int, **more: Any):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)
        self.session = attached["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        phone = bool(more.get("phone"))
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, mobile=phone,
                  deviceScaleFactor=1)  # fmt: skip
        scheme = "dark" if more.get("dark") else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media="", features=features)
        if not more.get("script", True):
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        if more.get("before"):
            self.call("Page.addScriptToEvaluateOnNewDocument", source=more["before"])
        self.call("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        self.wait_for_load()

    def wait_for_load(self) -> None:
        while not any(event["method"] == "Page.loadEventFired" for event in self.events()):
            self.browser.events.append(self.browser.read())
        self.settle()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def events(self) -> list[dict[str, Any]]:
        return [e for e in self.browser.events if e.get("sessionId") == self.session]

    def eval(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)  # fmt: skip
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        return str(self.eval(f"document.querySelector({json.dumps(selector)}).textContent"))

    def settle(self) -> None:
        """Wait until the page has drawn, and the search has stopped waiting for more letters."""
        time.sleep(0.25)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        self.mouse("Moved", x, y)
        for kind in ("Pressed", "Released"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.settle()

    def key(self, key: str) -> None:
        more = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        code = {"Enter": 13, "Tab": 9, "Escape": 27}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                  **more)  # fmt: skip
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.settle()

    def write(self, text: str) -> None:
        self.call("Input.insertText", text=text)
        self.settle()

    def box(self, selector: str) -> dict[str, float]:
        return dict(self.eval(
            f"(b => ({{x: b.x, y: b.y, width: b.width, height: b.height}}))"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        ))  # fmt: skip

    def troubles(self) -> list[str]:
        """Console messages, uncaught errors and refused loads so far."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(e["params"]) for e in self.events() if e["method"] in kinds]

    def requests(self) -> list[str]:
        sent = [e for e in self.events() if e["method"] == "Network.requestWillBeSent"]
        return [str(e["params"]["request"]["url"]) for e in sent]

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium or Chrome is installed: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    pages: list[Page] = []

    def open_page(path: Path | str, *, width: int = 1400, height: int = 1000, **more: Any) -> Page:
        pages.append(Page(browser, path, width=width, height=height, **more))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
