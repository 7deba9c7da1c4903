"""Two clusters side by side on the page: the same words and shares as in Python, and no texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.describe import Cluster
from coterie.page import Points, ReportData, without_texts, write_report
from coterie.runs.comparison.clusters import contrast, weigh_words

HOSTILE = "parcel <img src=x onerror=window.hacked=1>"
TEXTS = [*["refund please today"] * 9, "refund of the parcel", *["parcel lost again"] * 9, HOSTILE]
BY = {"channel": [[("web", 8), ("mail", 2)], [("web", 1), ("mail", 9)]],
      "shop": [[("north", 5), ("south", 5)], [("north", 6), ("south", 4)]]}  # fmt: skip


@pytest.fixture
def report() -> ReportData:
    clusters = [
        Cluster(i, name, 10, 0.5, [("word", 1.0)], [], by={c: BY[c][i] for c in BY},
                over_time=[("2026-01", 9 - 8 * i), ("2026-02", 1 + 8 * i)])
        for i, name in enumerate(["Money", "Post"])
    ]  # fmt: skip
    points = Points(
        [*range(20)], [*range(20)], rows=[*range(1, 21)], clusters=[0] * 10 + [1] * 10,
        confidence=[0.9] * 20, texts=TEXTS, total=20,
    )  # fmt: skip
    return ReportData("20 texts", ["One."], clusters, points=points)


@pytest.fixture
def opened(visit: Callable[..., Any], tmp_path: Path) -> Callable[[ReportData], Any]:
    def make(data: ReportData) -> Any:
        write_report(tmp_path / "page.html", data)
        page = visit(tmp_path / "page.html")
        page.evaluate("document.querySelector('#cluster-0 button.versus').click()")
        page.select_option("#compare-b", "1")
        return page

    return make


def tables(page: Any) -> dict[str, list[list[str]]]:
    """Rows of each table by its title, without the bars."""
    out = {}
    for table in page.query_selector_all("#compare table"):
        head, *lines = table.query_selector_all("tr")
        cells = [[c.inner_text().strip() for c in r.query_selector_all("th, td")] for r in lines]
        out[head.query_selector("th").inner_text()] = cells
    return out


def test_the_panel_shows_what_python_finds(report: ReportData, opened) -> None:
    page = opened(report)
    found = tables(page)
    words = {
        "refund": (10, 0),
        "please": (9, 0),
        "today": (9, 0),
        "parcel": (1, 10),
        "lost": (0, 9),
    }
    gaps = weigh_words(*(np.array(side) for side in zip(*words.values(), strict=True)), 10, 10)
    order = [word for _, word in sorted(zip(-gaps, words, strict=True)) if words[word][0] > 1]
    assert [line[0] for line in found["Words more in 0"]] == order
    assert [line[0] for line in found["Words more in 1"]][:1] == ["parcel"]
    assert found["Words more in 1"][0] == ["parcel", "10% (1)", "100% (10)", ""]
    pairs = [(dict(BY["channel"][0])[v], dict(BY["channel"][1])[v]) for v in ("web", "mail")]
    wanted = contrast(["web", "mail"], *map(np.array, zip(*pairs, strict=True)), 10, 10)
    assert found["channel"] == [
        [c.value, f"{10 * c.a}% ({c.a})", f"{10 * c.b}% ({c.b})", "could be chance" * c.chance]
        for c in wanted
    ]
    assert "shop" not in found and "shop: the differences could be chance." in page.text("#compare")
    assert [line[0] for line in found["Over time"]] == ["2026-01", "2026-02"]
    lists = [ul.inner_text().splitlines() for ul in page.query_selector_all("#compare ul")]
    assert lists[0][0] == TEXTS[0] and lists[1][0] in (TEXTS[10], HOSTILE)  # typical
    assert lists[2][0] == TEXTS[9]  # of Money, nearest to Post
    assert page.evaluate("window.hacked") is None and page.troubles == []
    page.select_option("#compare-a", "1")
    assert "two different" in page.text("#compare-shown")


def test_a_page_without_texts_compares_counts(report: ReportData, opened) -> None:
    page = opened(without_texts(report))
    assert {*tables(page)} == {"channel", "Over time"}
    assert page.troubles == [] and not page.query_selector("#compare li")
