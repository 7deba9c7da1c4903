"""A fitted model describes its clusters; the tree and outliers of a page in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.describe import Cluster
from coterie.page import Outlier, Outliers, Points, ReportData, cluster_tree, write_report

NASTY = "</summary><img src=x onerror=window.hacked=1>\x1b[31m"


def cluster(number: int, size: int, parent: int | None = None, name: str = "") -> Cluster:
    return Cluster(number, name or f"c{number}", size, size / 10, [("w", 1.0)], ["x"],
                   parent=parent)  # fmt: skip


LEVELS = [
    [cluster(0, 7, name="Large"), cluster(1, 3, name=NASTY)],
    [cluster(0, 4, 0, "Half"), cluster(1, 3, 0, "Alone"), cluster(2, 3, 1, "Rest")],
]
LEAVES = [cluster(0, 3, 0), cluster(1, 1, 0), cluster(2, 3, 1), cluster(3, 1, 2), cluster(4, 2, 2)]


def test_the_tree_is_sorted_and_holds_each_cluster_once() -> None:
    large, other = cluster_tree(LEVELS, LEAVES)
    assert (large.cluster.name, other.cluster.name) == ("Large", "Rest")
    assert [(b.cluster.name, b.leaf) for b in large.children] == [("Half", False), ("c2", True)]
    assert [b.cluster.id for b in large.children[0].children] == [0, 1]
    assert [b.cluster.id for b in other.children] == [4, 3]
    empty = [*LEAVES, cluster(5, 0)]
    assert cluster_tree(LEVELS, empty) == [large, other]


def test_tree_and_outliers_in_a_browser(visit: Callable[..., Any], tmp_path: Path) -> None:
    hostile = Outlier(NASTY, 0.91, 1, NASTY)
    points = Points([0, 5_000, 10_000], [0, 5_000, 10_000], [1, 2, 3], [0, 1, -1],
                    [0.5, 0.5, 0.4], ["a", "b", NASTY], total=3)  # fmt: skip
    levels = [LEVELS[0], [*LEVELS[1][:2], cluster(2, 1, 1), cluster(3, 2, 1)]]
    leaves = [*LEAVES[:3], cluster(3, 1, 2), cluster(4, 2, 3)]
    data = ReportData("t", [], leaves, points=points, levels=levels,
                      outliers=Outliers(1, 0.1, [hostile]))  # fmt: skip
    write_report(tmp_path / "p.html", data)
    for more in ({}, {"width": 400, "height": 850, "is_mobile": True}):
        page = visit(tmp_path / "p.html", **more)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        parts = "[...document.querySelectorAll('.tree details')]"
        assert page.evaluate(f"{parts}.map(d => d.open)") == [True, False, True]
        page.evaluate(f"{parts}[1].querySelector('summary').focus()")
        page.keyboard.press("Enter")
        assert page.evaluate(f"{parts}[1].open")
        assert page.evaluate("[...document.querySelectorAll('.tree a')].map(a => a.hash)") == [
            "#cluster-0", "#cluster-1", "#cluster-2", "#cluster-4", "#cluster-3",
        ]  # fmt: skip
        assert "nearest to" in page.text(".outliers")
        assert page.locator("#legend span").all_text_contents()[-1] == "(none of these)"
        page.evaluate("[...document.querySelectorAll('#legend button')].pop().click()")
        assert "1 text in “(none of these)”" in page.text("#focus-title")
        assert page.troubles == []
