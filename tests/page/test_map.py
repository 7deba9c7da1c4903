"""The map's names, its density, and the filters beside it, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.arrays.tree import numbered
from coterie.describe import Cluster
from coterie.describe.columns import sort_into_periods
from coterie.page import Points, ReportData, write_report

STATE = "document.getElementById('canvas').mapState()"
CHANNELS = ["mail", "chat", "app"]


def report(tree: bool = True, total: int = 0) -> ReportData:
    """Forty heaps of ten to 49 texts: 8 themes of five, as a tree or alone.

    Every third text is a mail; text ``i`` of a heap was sent in the month ``i % 6`` of 2026.
    """
    draw = np.random.default_rng(0)
    sizes = np.arange(49, 9, -1)
    merges, rows = [], []
    for theme in range(8):  # first the five heaps of each theme, then the themes
        last = theme
        for part in range(1, 5):
            merges.append((last, theme + 8 * part))
            last = 40 + len(merges) - 1
        rows.append(last)
    last = rows[0]
    for other in rows[1:]:
        merges.append((last, other))
        last = 40 + len(merges) - 1
    grown = numbered(merges, sizes, 40)
    of = np.repeat(np.arange(40), sizes)
    angle, ring = of % 8 * np.pi / 4, 0.25 + of // 8 * 0.18
    x = 5000 + 4000 * ring * np.cos(angle) + draw.normal(0, 60, len(of))
    y = 5000 + 4000 * ring * np.sin(angle) + draw.normal(0, 60, len(of))
    x, y = ((v - v.min()) * 10_000 / np.ptp(v) for v in (x, y))
    first = np.cumsum(sizes) - sizes
    months = [f"2026-{(i - first[heap]) % 6 + 1:02}-10" for i, heap in enumerate(of.tolist())]
    n = len(of)
    leaf = [grown.leaves[heap] for heap in of.tolist()]
    nodes = {}
    for number in {union for union, _, _ in grown.merges[:-1]} | set(grown.leaves):
        size = sum(int(sizes[grown.leaves.index(leaf)]) for leaf in grown.below(number))
        name = f"Name of number {number}, which is long"
        nodes[number] = Cluster(number, name, size, size / n, [], ["x"])
    shown = {"broad": 8, "fine": 40}
    grown = replace(grown, levels=shown, at=40)
    points = Points(
        x.astype(int).tolist(), y.astype(int).tolist(), list(range(1, n + 1)), leaf, [0.5] * n,
        [f"text {i}" for i in range(n)], total=total or n, leaves=leaf if tree else None,
        columns={"channel": [CHANNELS[i % 3] for i in range(n)]},
        dates=("sent", sort_into_periods(months)),
    )  # fmt: skip
    clusters = sorted((nodes[i] for i in grown.leaves), key=lambda c: -c.size)
    return ReportData("t", [], clusters, points=points, tree=grown if tree else None, nodes=nodes)


@pytest.fixture
def opened(visit: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def make(data: ReportData, part: str = "", **more: Any) -> Any:
        write_report(tmp_path / "page.html", data)
        page = visit((tmp_path / "page.html").as_uri() + part, **more)
        page.evaluate("document.getElementById('map').scrollIntoView()")
        page.drawn()
        return page

    return make


def names(page: Any) -> list[dict[str, Any]]:
    page.drawn()
    found = list(page.evaluate(STATE)["names"])
    for i, one in enumerate(found):
        for other in found[:i]:
            apart = [abs(one[a] - other[a]) >= (one[s] + other[s]) / 2
                     for a, s in (("x", "width"), ("y", "height"))]  # fmt: skip
            assert any(apart), (one, other)
    return found


@pytest.mark.parametrize(("kind", "width"), [("tree", 1400), ("tree", 390), ("flat", 1400)])
def test_names_do_not_overlap_and_follow_the_zoom(
    opened: Callable[..., Any], kind: str, width: int
) -> None:
    data = report(tree=kind == "tree")
    page = opened(data, width=width)
    fine = {cluster.id for cluster in data.clusters}
    far = [name for name in names(page) if not name["fills"]]
    assert 3 <= len(far) <= 28
    assert all("…" not in line for name in far for line in name["lines"])
    if kind == "tree":
        assert any(name["id"] not in fine for name in far)  # of a coarser cut
    for _ in range(3):
        page.evaluate("document.getElementById('zoom-in').click()")
    near = names(page)
    assert near and {name["id"] for name in near} != {name["id"] for name in far}
    for _ in range(3):
        page.evaluate("document.getElementById('zoom-in').click()")
    assert {name["id"] for name in names(page)} <= fine
    assert page.troubles == []


def test_finer_names_where_there_is_room_and_a_click_selects(opened: Callable[..., Any]) -> None:
    page = opened(report(), "#cut=8")
    assert len(names(page)) == 8
    named = names(page)[0]
    box = page.box("#canvas")
    page.mouse.click(box["x"] + named["x"], box["y"] + named["y"])
    assert f"number {named['id']}," in page.text("#focus-title")
    page.keyboard.press("Escape")
    for _ in range(3):
        page.evaluate("document.getElementById('zoom-in').click()")
    finer = names(page)
    assert finer and all(name["id"] != named["id"] for name in finer)
    page.mouse.click(box["x"] + finer[0]["x"], box["y"] + finer[0]["y"])  # of no cluster shown
    assert f"number {finer[0]['id']}," in page.text("#focus-title")
    assert not page.is_visible("#focus-link") and page.troubles == []


BARS = """[...document.querySelectorAll('.chart')].map(chart => Object.fromEntries(
    [...chart.querySelectorAll('button:not(.more)')].map(b => [
        b.querySelector('span') ? b.querySelector('span').textContent : b.ariaLabel.split(':')[0],
        Number(b.querySelector('small') ? b.querySelector('small').textContent
            : b.ariaLabel.match(/: (\\d+)/)[1])])))"""
ROWS = """[...document.querySelectorAll('.overview tbody tr')].map(r => [
    Number(r.dataset.cluster), [r.querySelector('.count').textContent,
    r.querySelector('.percent').textContent, r.querySelector('.bar').style.width]])"""
LEGEND = "[...document.querySelectorAll('#legend small')].map(x => Number(x.textContent))"
LINE = "document.querySelector('#map .filtered').innerText.split('\\n')[0]"


SAVED = """new Promise(done => {
    URL.createObjectURL = blob => { blob.text().then(done); return 'blob:none'; };
    HTMLAnchorElement.prototype.click = () => {}; document.getElementById('%s').click(); })"""


def _middle(bar: Any) -> tuple[float, float]:
    box = bar.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def slide(page: Any, n: int) -> None:
    page.evaluate(f"(r => {{ r.value = {n}; r.dispatchEvent(new Event('input')); }})(cut)")
    page.until(lambda: len(page.evaluate(ROWS)) == n)


def counts(page: Any) -> dict[int, int]:
    return {number: int(count) for number, (count, _, _) in page.evaluate(ROWS)}


def test_filters_combine_and_the_page_follows(opened: Callable[..., Any]) -> None:
    data = report()
    points = data.points
    assert points is not None and points.dates is not None
    channel, period, weeks = (
        np.array(points.columns["channel"]),
        points.dates[1].of_row,
        points.dates[1].names,
    )
    leaf, n = np.array(points.clusters), len(channel)
    page = opened(data)
    assert not page.is_visible("#map .filtered")

    page.locator(".values button", has_text="mail").click()
    page.locator(".values button", has_text="chat").click()
    talk = np.isin(channel, ["mail", "chat"])
    assert page.evaluate(LINE) == f"{talk.sum()} of {n:,} texts: channel = mail or chat"
    pressed = page.locator(".values [aria-pressed=true] span").all_inner_texts()
    assert pressed == ["mail", "chat"]

    bars, full = page.locator(".bars button"), sorted(set(period.tolist()))
    page.drag([_middle(bars.nth(full[i])) for i in (1, 2, 3)])
    late = (period >= full[1]) & (period <= full[3])
    kept = talk & late
    said = f"sent = {weeks[full[1]]} to {weeks[full[3]]}; channel = mail or chat"
    assert page.evaluate(LINE) == f"{kept.sum()} of {n:,} texts: {said}"
    sent, by_channel = page.evaluate(BARS)  # each by the other filter
    assert by_channel == {c: int((late & (channel == c)).sum()) for c in CHANNELS}
    assert sent == {w: int((talk & (period == i)).sum()) for i, w in enumerate(weeks)}

    own = {c.id: int((kept & (leaf == c.id)).sum()) for c in data.clusters}
    assert counts(page) == own
    assert [*counts(page).values()] == sorted(own.values(), reverse=True)
    assert dict(page.evaluate(ROWS))[0][1] == f"{100 * own[0] / kept.sum():.1f}%"
    assert sorted(page.evaluate(LEGEND)) == sorted(own.values())
    assert page.locator("#focus-title").inner_text() == f"{kept.sum()} texts where {said}"
    assert page.evaluate(SAVED % "svg").count("<path") == kept.sum() + 5  # marks and areas
    assert page.troubles == []


def test_filters_and_the_slider_are_in_the_address(opened: Callable[..., Any]) -> None:
    data = report()
    tree, points = data.tree, data.points
    assert tree is not None and points is not None
    mail = np.array(points.columns["channel"]) == "mail"
    page = opened(data)
    before = page.evaluate(ROWS)
    page.locator(".values button", has_text="mail").click()
    slide(page, 8)
    cut = np.array([tree.cut(8)[leaf] for leaf in points.clusters])
    wanted = {i: int((mail & (cut == i)).sum()) for i in tree.shown(8)}
    assert counts(page) == wanted
    page.locator("#legend button").first.click()  # a cluster, and of it what the filters leave
    largest = max(tree.shown(8), key=lambda i: data.nodes[i].size)
    assert page.text("#focus-title").startswith(f"{wanted[largest]} texts in “")
    assert page.evaluate(BARS)[1]["chat"] == int((~mail & (cut == largest)).sum()) // 2
    csv = page.evaluate(SAVED % "download")
    assert csv.count("\n") - 1 == wanted[largest] and '"sent","channel","text"' in csv
    page.until(lambda: page.url.endswith("#cut=8&filter.channel=mail"))
    again = opened(data, "#cut=8&filter.channel=mail&clusters")
    assert counts(again) == wanted and again.input_value("#cut") == "8"
    page.keyboard.press("Escape")
    page.locator("#map .filtered button").click()
    slide(page, 40)
    page.until(lambda: page.evaluate(ROWS) == before)
    page.until(lambda: page.url.endswith("#"))
    assert page.troubles == again.troubles == []
