"""The page: complete, inert, self-contained."""

import re
from html.parser import HTMLParser
from pathlib import Path

from coterie.description import Cluster
from coterie.report import ReportData, render, write_report
from coterie.report.html import shorten

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)> & "quotes" \'single\''


class Reader(HTMLParser):
    """Collects tags, links and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.events: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src") and v]
        self.events += [k for k, _ in attrs if k.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def page(name: str = "Refund, money", example: str = "Where is my refund?") -> str:
    clusters = [Cluster(0, name, 7, 0.7, [("refund", 1.0)], [example]),
                Cluster(1, "Late", 3, 0.3, [("late", 0.5)], ["x" * 5000])]  # fmt: skip
    return render(
        ReportData("10 texts", ["A sentence."], clusters, ["A note."], {"method": "kmeans"})
    )


def test_everything_is_on_the_page() -> None:
    text = Reader(page()).text
    for part in ("10 texts", "A sentence.", "Refund, money", "70.0%", "Where is my refund?",
                 "A note.", "kmeans"):  # fmt: skip
        assert part in text


def test_bars_are_as_long_as_the_clusters_are_large() -> None:
    assert re.findall(r'class="bar" style="width: ([\d.]+)%', page()) == ["100.0", "42.9"]


def test_hostile_texts_are_shown_not_run() -> None:
    reader = Reader(page(HOSTILE, HOSTILE))
    assert "script" not in reader.tags and "img" not in reader.tags
    assert reader.events == []
    assert reader.text.count('<script>alert("x")</script>') == 3  # overview, heading, example


def test_the_page_needs_nothing_else() -> None:
    reader = Reader(page())
    assert all(link.startswith("#") for link in reader.links)
    assert "default-src 'none'" in page()
    assert "script" not in reader.tags and "link" not in reader.tags


def test_long_texts_are_cut_at_a_blank() -> None:
    assert shorten("one two three", 9) == "one two …"
    assert shorten("short", 9) == "short"
    assert "x" * 400 not in page()


def test_writing(tmp_path: Path) -> None:
    data = ReportData("t", [], [], [], {})
    write_report(tmp_path / "a" / "r.html", data)
    assert (tmp_path / "a" / "r.html").read_text("utf-8") == render(data)


def test_topics_are_on_the_page_where_there_are_any() -> None:
    cluster = Cluster(0, "Refund", 7, 1.0, [("refund", 1.0)], ["x"], [["money", "<b>"], ["card"]])
    reader = Reader(render(ReportData("t", [], [cluster])))
    assert "money, <b>" in reader.text and "card" in reader.text
    assert "ol" in reader.tags and "b" not in reader.tags
    assert "ol" not in Reader(page()).tags
