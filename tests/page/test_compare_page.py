"""The page of a comparison in a real browser: it fits, it is quiet, and texts stay texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.runs.comparison import Side, compare
from coterie.runs.comparison.page import write_comparison

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
    assert "49" not in page.text("#moved + p + ol")
