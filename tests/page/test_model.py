"""Outliers of a page in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.describe import Cluster
from coterie.page import Outlier, Outliers, Points, ReportData, write_report

NASTY = "</summary><img src=x onerror=window.hacked=1>\x1b[31m"


def cluster(number: int, size: int) -> Cluster:
    return Cluster(number, f"c{number}", size, size / 10, [("w", 1.0)], ["x"])


LEAVES = [cluster(0, 3), cluster(1, 1), cluster(2, 3), cluster(3, 1), cluster(4, 2)]


def test_outliers_in_a_browser(visit: Callable[..., Any], tmp_path: Path) -> None:
    hostile = Outlier(NASTY, 0.91, 1, NASTY)
    points = Points([0, 5_000, 10_000], [0, 5_000, 10_000], [1, 2, 3], [0, 1, -1],
                    [0.5, 0.5, 0.4], ["a", "b", NASTY], total=3)  # fmt: skip
    data = ReportData("t", [], LEAVES, points=points, outliers=Outliers(1, 0.1, [hostile]))
    write_report(tmp_path / "p.html", data)
    for more in ({}, {"width": 400, "height": 850, "is_mobile": True}):
        page = visit(tmp_path / "p.html", **more)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert "nearest to" in page.text(".outliers")
        assert page.locator("#legend span").all_text_contents()[-1] == "(none of these)"
        page.evaluate("[...document.querySelectorAll('#legend button')].pop().click()")
        assert "1 text in “(none of these)”" in page.text("#focus-title")
        assert page.troubles == []
