"""The page with very many marks in Chromium: file, first picture, frames while moving, filters.

    coterie-bench map --marks 20000 200000 --out results/map.jsonl

The texts are made up: 60 clusters of very different sizes in a tree, two columns, dates. Frames are
counted while the map is dragged to and fro, and while it zooms. ``filter_ms`` and ``slider_ms`` are
the times from a click until the page has drawn what follows. Without a graphics card the browser
draws WebGL on the processor.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie.description import Cluster
from coterie.description.columns import sort_into_periods
from coterie.report import Points, ReportData, write_report
from coterie.report.folder import make_map
from coterie.tree import numbered
from coterie_bench.experiments import lines

SECONDS = 4.0  # of moving
CLUSTERS, BROAD = 60, 12
STATE = "document.getElementById('canvas').mapState()"
NO_GL = """
HTMLCanvasElement.prototype.getContext = (plain => function (kind, ...more) {
  return kind === 'webgl' ? null : plain.call(this, kind, ...more);
})(HTMLCanvasElement.prototype.getContext)
"""
# Frames that the browser draws, and the gaps between two of them, while the map moves.
MOVE = """
([zooming, seconds]) => new Promise(done => {
  const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
  const send = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind, {
    pointerId: 1, button: 0, clientX: x, clientY: y, bubbles: true }));
  canvas.setPointerCapture = () => {};
  canvas.focus();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const begun = performance.now(), gaps = [];
  let last = begun;
  if (!zooming) send('pointerdown', x, y);
  function step(now) {
    gaps.push(now - last);
    last = now;
    const turn = (now - begun) / 1000;
    if (turn > seconds) {
      if (!zooming) send('pointerup', x, y);
      gaps.sort((a, b) => a - b);
      return done({ frames: gaps.length / turn, worst: gaps[gaps.length - 1],
        usual: gaps[gaps.length >> 1] });
    }
    const deltaY = Math.sin(turn * 2) > 0 ? -30 : 30;
    if (zooming) canvas.dispatchEvent(new WheelEvent('wheel', {
      deltaY, clientX: x, clientY: y, cancelable: true }));
    else send('pointermove', x + 150 * Math.sin(turn * 3), y + 90 * Math.cos(turn * 2));
    requestAnimationFrame(step);
  }
  requestAnimationFrame(step);
})
"""
# Milliseconds from doing something until it is drawn.
TIMED = """
new Promise(done => {
  const begun = performance.now();
  %s;
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
})
"""
CLICK = "document.querySelectorAll('#filters button')[%d].click()"
SLIDE = (
    "const slider = document.querySelector('input[type=range]'); slider.value = %d;"
    "slider.dispatchEvent(new Event('input', { bubbles: true }))"
)


def make_page(path: Path, marks: int) -> dict[str, Any]:
    """Write a page of made-up texts; how long it took, and how large it is."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, CLUSTERS + 1)
    of = rng.choice(CLUSTERS, marks, p=shares / shares.sum())
    sizes = np.bincount(of, minlength=CLUSTERS)
    merges, last = [], list(range(CLUSTERS))
    while len(last) > 1:  # neighbours are merged in turn
        merges.append((last[0], last[1]))
        last = [*last[2:], CLUSTERS + len(merges) - 1]
    tree = numbered(merges, sizes, CLUSTERS)
    labels = np.array(tree.leaves)[of]
    begun = time.process_time()
    centers = rng.normal(size=(CLUSTERS, 256))
    placed = make_map((centers[of] + rng.normal(size=(marks, 256))).astype(np.float32), labels, 0)
    laid_out = time.process_time() - begun
    words = np.array([f"word{i}" for i in range(500)])
    texts = [" ".join(row) for row in words[rng.integers(0, 500, (marks, 9))]]
    nodes = {}
    for number in {union for union, _, _ in tree.merges[:-1]} | set(tree.leaves):
        size = int(sum(sizes[tree.leaves.index(leaf)] for leaf in tree.below(number)))
        nodes[number] = Cluster(number, f"Theme {number}", size, size / marks, [], texts[:3])
    tree = replace(tree, levels={"broad": BROAD, "fine": CLUSTERS}, at=CLUSTERS, nodes=nodes)
    months = [f"2026-{month:02}-10" for month in rng.integers(1, 13, marks)]
    columns = {
        "channel": rng.choice(["mail", "chat", "app"], marks).tolist(),
        "country": rng.choice(["DE", "FR", "IT", "US", "JP"], marks).tolist(),
    }
    points = Points(
        placed["x"], placed["y"], [row + 1 for row in placed["rows"]], labels.tolist(),
        rng.random(marks).tolist(), texts, columns, ("sent", sort_into_periods(months)), marks,
        leaves=labels.tolist(),
    )  # fmt: skip
    clusters = sorted((nodes[i] for i in tree.leaves), key=lambda c: -c.size)
    begun = time.process_time()
    write_report(path, ReportData("The map", [], clusters, points=points, tree=tree))
    return {
        "layout_seconds": round(laid_out, 2),
        "page_seconds": round(time.process_time() - begun, 2),
        "megabytes": round(path.stat().st_size / 1e6, 2),
    }


def measure(browser: Any, path: Path, painter: str) -> dict[str, Any]:
    """Open the page, move its map, and use its filters and its slider."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(120_000)
    if painter == "2d":
        page.add_init_script(NO_GL)
    page.goto(path.as_uri())
    found = page.evaluate(STATE)["painter"]
    paints = page.evaluate(
        "new Promise(done => requestAnimationFrame(() => done(["
        "...performance.getEntriesByType('paint').map(e => e.startTime), "
        "performance.getEntriesByType('navigation')[0].loadEventEnd])))"
    )
    page.evaluate("document.getElementById('map').scrollIntoView()")
    moved, zoomed = (page.evaluate(MOVE, [kind, SECONDS]) for kind in (False, True))
    filters = [page.evaluate(TIMED % (CLICK % i)) for i in (0, 1, 2, 0, 1, 2)]
    slides = [page.evaluate(TIMED % (SLIDE % n)) for n in (20, 40, 12, 30, 50)]
    drawn = page.evaluate(STATE)
    page.close()
    return {
        "painter": found,
        "first_picture_seconds": round(max(paints) / 1000, 2),
        "drag": {key: round(value, 1) for key, value in moved.items()},
        "zoom": {key: round(value, 1) for key, value in zoomed.items()},
        "filter_ms": [round(statistics.median(filters)), round(max(filters))],
        "slider_ms": [round(statistics.median(slides)), round(max(slides))],
        "draw_ms": round(drawn["cost"], 1),
        "picture_moved": drawn["slow"],
    }


def main() -> None:
    """Measure each number of marks with each painter, and add the lines to the results."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--marks", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--out", type=Path, default=Path("results/map.jsonl"))
    options = parser.parse_args()
    program = shutil.which(options.browser)
    if program is None:
        parser.error(f"--browser {options.browser} is no program here")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for marks in options.marks:
            path = Path(folder) / f"{marks}.html"
            made = make_page(path, marks)
            for painter in ("webgl", "2d"):
                browser = playwright.chromium.launch(
                    executable_path=program,
                    args=["--no-sandbox", "--enable-unsafe-swiftshader"],
                )
                found = measure(browser, path, painter)
                row = {"marks": marks, **made, **found, "browser": browser.version}
                browser.close()
                lines.append(options.out, row)
                print(row)


if __name__ == "__main__":
    main()
