"""The page with very many marks in Chromium: file, first picture, frames while moving, memory.

    coterie-bench map --browser chromium --marks 20000 200000 --out results/map.jsonl

The texts are made up, in 60 clusters of very different sizes. ``layout`` is the time to place all
marks; frames are counted while the map is dragged to and fro for some seconds, and while it zooms.
Without a graphics card the browser draws WebGL on the processor.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from coterie.description import Cluster
from coterie.report import Points, ReportData, write_report
from coterie.report.folder import make_map
from coterie_bench.experiments import lines

SECONDS = 4.0  # of moving
NO_GL = (
    "HTMLCanvasElement.prototype.getContext = (plain => function (kind, ...more) {"
    "return kind === 'webgl' ? null : plain.call(this, kind, ...more); })"
    "(HTMLCanvasElement.prototype.getContext)"
)
# Frames that the browser draws, and the longest gap between two of them, while the map moves.
MOVE = """
new Promise(done => {
  const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
  const send = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind, {
    pointerId: 1, button: 0, clientX: x, clientY: y, bubbles: true }));
  canvas.setPointerCapture = () => {};
  canvas.focus();
  const middle = [box.left + box.width / 2, box.top + box.height / 2];
  const zooming = %s, begun = performance.now(), gaps = [];
  let last = begun;
  if (!zooming) send('pointerdown', ...middle);
  function step(now) {
    gaps.push(now - last);
    last = now;
    const turn = (now - begun) / 1000;
    if (turn > %f) {
      if (!zooming) send('pointerup', ...middle);
      gaps.sort((a, b) => a - b);
      return done({ frames: gaps.length / turn, worst: gaps[gaps.length - 1],
        usual: gaps[gaps.length >> 1] });
    }
    const [x, y] = middle, deltaY = Math.sin(turn * 2) > 0 ? -30 : 30;
    if (zooming) canvas.dispatchEvent(new WheelEvent('wheel', {
      deltaY, clientX: x, clientY: y, cancelable: true }));
    else send('pointermove', x + 150 * Math.sin(turn * 3), y + 90 * Math.cos(turn * 2));
    requestAnimationFrame(step);
  }
  requestAnimationFrame(step);
})
"""


def make_page(path: Path, marks: int) -> dict[str, Any]:
    """Write a page of made-up texts; how long it took, and how large it is."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, 61)
    labels = rng.choice(60, marks, p=shares / shares.sum())
    vectors = rng.normal(size=(60, 256))[labels] + rng.normal(size=(marks, 256))
    begun = time.process_time()
    found = make_map(vectors.astype(np.float32), labels, 0)
    laid_out = time.process_time() - begun
    words = np.array([f"word{i}" for i in range(500)])
    texts = [" ".join(row) for row in words[rng.integers(0, 500, (marks, 9))]]
    sizes = np.bincount(labels, minlength=60)
    clusters = [
        Cluster(i, f"Theme number {i}", int(sizes[i]), sizes[i] / marks, [], texts[:3])
        for i in range(60)
    ]
    points = Points(
        found["x"],
        found["y"],
        [row + 1 for row in found["rows"]],
        labels.tolist(),
        rng.random(marks).tolist(),
        texts,
        total=marks,
    )
    begun = time.process_time()
    write_report(path, ReportData("The map", [], clusters, points=points))
    return {
        "layout_seconds": round(laid_out, 2),
        "page_seconds": round(time.process_time() - begun, 2),
        "megabytes": round(path.stat().st_size / 1e6, 2),
    }


def measure(browser: Any, path: Path, painter: str) -> dict[str, Any]:
    """Open the page and move its map."""
    before = NO_GL if painter == "2d" else ""
    page = take_browser()[1](browser, path, width=1400, height=1000, before=before)
    state = "document.getElementById('canvas').mapState()"
    assert page.eval(state)["painter"] == painter
    timing = page.eval(
        "new Promise(done => requestAnimationFrame(() => done(["
        "performance.getEntriesByType('paint').map(e => e.startTime), "
        "performance.getEntriesByType('navigation')[0].loadEventEnd])))"
    )
    page.eval("document.getElementById('map').scrollIntoView()")
    page.call("Performance.enable")
    moved, zoomed = (page.eval(MOVE % (kind, SECONDS)) for kind in ("false", "true"))
    metrics = page.call("Performance.getMetrics")["metrics"]
    heap = next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize")
    drawn = page.eval(state)
    memory = browser_memory(browser.process.pid)
    page.close()
    return {
        "first_picture_seconds": round(max([*timing[0], timing[1]]) / 1000, 2),
        "drag": {key: round(value, 1) for key, value in moved.items()},
        "zoom": {key: round(value, 1) for key, value in zoomed.items()},
        "draw_ms": round(drawn["cost"], 1),
        "picture_moved": drawn["slow"],
        "heap_megabytes": round(heap / 1e6, 1),
        "memory_megabytes": {kind: round(size / 1e6) for kind, size in memory.items()},
    }


def browser_memory(pid: int) -> dict[str, int]:
    """Bytes of the browser's processes of each kind; shared pages count by their share."""
    parents, kinds = dict[int, int](), dict[int, str]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").split()
        except OSError:  # it has ended
            continue
        kind = next((w for w in words if w.startswith(b"--type=")), b"--type=browser")
        kinds[int(folder.name)] = kind.partition(b"=")[2].decode()
    ours, found = {pid}, dict[str, int]()
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    for one in ours:
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        size = 1024 * int(rollup.partition("\nPss:")[2].split()[0])
        found[kinds[one]] = found.get(kinds[one], 0) + size
    return {**dict(sorted(found.items())), "all": sum(found.values())}


def take_browser() -> tuple[type[Any], type[Any]]:
    """The browser of the tests."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from browser import Browser, Page

    return Browser, Page


def main() -> None:
    """Measure each number of marks with each painter, and add the lines to the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--marks", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--out", type=Path, default=Path("results/map.jsonl"))
    options = parser.parse_args()
    program = shutil.which(options.browser)
    if program is None:
        parser.error(f"--browser {options.browser} is no program here")
    with tempfile.TemporaryDirectory() as folder:
        for marks in options.marks:
            path = Path(folder) / f"{marks}.html"
            made = make_page(path, marks)
            for painter in ("webgl", "2d"):
                profile = Path(folder) / f"{marks}-{painter}"
                browser = take_browser()[0](program, str(profile))
                version = browser.call("Browser.getVersion")["product"]
                found = measure(browser, path, painter)
                browser.close()
                row = {"marks": marks, "painter": painter, **made, **found, "browser": version}
                lines.append(options.out, row)
                print(row)


if __name__ == "__main__":
    main()
