"""The page of a comparison in a real browser: it fits, it is quiet, and texts stay texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.comparison import Side, compare
from coterie.comparison.page import TALL, draw, render_comparison, write_comparison

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 2">',
    "{{ 7 * 7 }} ${window.hacked = 3} javascript:window.hacked=4",
    "null \x00, \x1b[31mred\x1b[0m, \u202eesrever, line\u2028separator",
    "'\"><svg onload=window.hacked=5><iframe src=//example.invalid>",
    "x" * 300_000,
]


def sides(k: int = 6, n: int = 400) -> tuple[Side, Side]:
    """Clusters of hostile names and texts; one of the first is split, some rows move."""
    rng = np.random.default_rng(0)
    before = np.sort(rng.integers(0, k, n))
    after = before.copy()
    after[(before == 0) & (rng.random(n) < 0.5)] = k
    after[rng.random(n) < 0.1] = 1
    after[:3] = -1
    names = {i: f"{i} {HOSTILE[i % len(HOSTILE)]}" for i in range(k + 1)}
    texts = [f"{i} {HOSTILE[i % len(HOSTILE)]}" for i in range(n)]
    return Side(HOSTILE[0], before, names, texts), Side(HOSTILE[4], after, names, texts)


@pytest.mark.parametrize(
    "look", [{"width": 1400}, {"width": 360, "is_mobile": True}, {"color_scheme": "dark"}]
)
def test_the_page_fits_is_quiet_and_runs_nothing(
    visit: Callable[..., Any], tmp_path: Path, look: dict[str, Any]
) -> None:
    write_comparison(tmp_path / "page.html", compare(*sides()))
    page = visit(tmp_path / "page.html", **look)
    assert page.troubles == []
    assert len(page.requests) == 1 and page.requests[0].startswith("file://")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    wide = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0
    assert page.evaluate("document.querySelectorAll('.flow path').length") >= 7
    assert "49" not in page.text("#moved + p + ol")


def test_labels_stand_beside_their_bars(visit: Callable[..., Any], tmp_path: Path) -> None:
    found = compare(*sides())
    write_comparison(tmp_path / "page.html", found)
    page = visit(tmp_path / "page.html")
    middles = page.evaluate(
        "(['.ends.before div', '.ends.after div', '.flow rect']).map(s => "
        "[...document.querySelectorAll(s)].map(e => (b => b.y + b.height / 2)"
        "(e.getBoundingClientRect())))"
    )
    before, after, bars = middles
    assert bars == pytest.approx([*before, *after], abs=1.5)


def test_bands_are_as_thick_as_their_rows_and_fill_their_bars() -> None:
    found = compare(*sides())
    picture = draw(found)
    assert picture is not None
    assert sum(bar.height for bar in picture.left) == pytest.approx(TALL)
    assert sum(bar.height for bar in picture.right) == pytest.approx(TALL)
    seen = sum(flow.count for flow in found.flows)
    for bars, key in ((picture.left, "a"), (picture.right, "b")):
        for bar in bars:
            rows = sum(f.count for f in found.flows if getattr(f, key) == bar.id)
            assert bar.count == rows and bar.height == pytest.approx(TALL * rows / seen)
        tops = [(bar.slot_top, bar.slot_top + bar.slot) for bar in bars]
        assert all(one[1] <= two[0] for one, two in pairwise(tops))
    assert len(picture.bands) == len(found.flows)
    for bars, key, place in ((picture.left, "a", 0), (picture.right, "b", 1)):
        for bar in bars:  # the bands of a bar lie one upon the other, from its top to its end
            tops = sorted(
                (ends(band.path)[place], band.flow.count)
                for band in picture.bands
                if getattr(band.flow, key) == bar.id
            )
            y = bar.top
            for top, count in tops:
                assert top == pytest.approx(y, abs=0.02)
                y += TALL * count / seen
            assert y == pytest.approx(bar.top + bar.height, abs=0.02)


def ends(path: str) -> tuple[float, float]:
    """Where the upper edge of a band begins on the left, and where it ends on the right."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
    return numbers[1], numbers[7]


def test_many_clusters_and_none_are_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 150, 3000), rng.integers(0, 150, 3000)
    html = render_comparison(compare(a, b))
    assert html.count("<path") < 1500 and len(html) < 400_000
    words = {0: {"late": 1.0}}
    one = Side("a", np.array([0]), {0: "A"}, texts=["x"], words=words)
    two = Side("b", np.array([0]), {0: "B"}, texts=["y"], words=words)
    found = compare(one, two)
    assert draw(found) is None and "most similar" in render_comparison(found)
