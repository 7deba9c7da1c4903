"""From a run to the page, and from the points to the script."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.arrays.tree import Tree
from coterie.describe import Cluster, Neighbor
from coterie.describe.columns import sort_into_periods
from coterie.page import Points, ReportData, render, without_texts
from coterie.page.points import EMPTY, encode_column, pack, safe_json, visible
from coterie.runs.clustering import Clustering
from coterie.runs.page_data import make_map, page_data

NASTY = "</script><!-- & \u2028 \u2029 \x00 \ud800"


@pytest.fixture
def run(tmp_path: Path) -> Clustering:
    """Six texts in two clusters and one without, beside columns whose names are also ours."""
    labels = np.array([0, 0, 0, 1, 1, 1, -1])
    table = pa.table({
        "id": [f"T{i}" for i in range(7)],
        "body": [*(f"refund {i}" for i in ("one", "two", "three")), "post one", "post two",
                 visible(NASTY), ""],
        "name": ["Ann", "Bob", "Ann", "Bob", "Ann", "Bob", "Ann"],
        "cluster": ["x", "y", "z", "u", "v", "w", "t"],
        "coterie_cluster": labels,
        "coterie_name": ["Refund"] * 3 + ["Post"] * 3 + ["(no text)"],
        "confidence": [0.9, 0.8, 0.7, 0.6, 0.5, 0.55, 0.0],
        "runner_up": [1, 1, 1, 0, 0, 0, None],
        "margin": [0.8, 0.6, 0.4, 0.2, 0.0, 0.1, 0.0],
    })  # fmt: skip
    vectors = np.array([[1, 0], [1, 0.1], [0.9, 0], [0, 1], [0.1, 1], [0, 0.9], [0, 0]])
    facts = {
        "method": "kmeans", "parameters": {"n_clusters": 2, "normalize": None},
        "data": {"rows": 7, "text_column": "body", "sha256": "abc", "notes": ["A note."]},
        "figures": {"confidence": 0.5, "close_calls": 0.1},
        "guard": None, "seconds": {"fit": 1.0}, "versions": {},
        "hardware": {}, "finished": "today",
    }  # fmt: skip
    clusters = [Cluster(0, "Refund", 3, 0.5, [("refund", 1.0)], ["refund one"]),
                Cluster(1, "Post", 3, 0.5, [("post", 1.0)], ["post one"])]  # fmt: skip
    places = make_map(vectors, labels, seed=0)
    tree = Tree((0, 1), ((2, 0, 1),), {"medium": 2}, 2)
    return Clustering(tmp_path, facts, table, clusters, tree, {c.id: c for c in clusters}, places)


def test_points_belong_to_their_rows(run: Clustering) -> None:
    points = page_data(run).points
    assert points is not None
    assert points.rows == [1, 2, 3, 4, 5, 6] and points.total == 6
    assert points.clusters == [0, 0, 0, 1, 1, 1]
    assert points.confidence == [0.9, 0.8, 0.7, 0.6, 0.5, 0.55]
    assert points.texts is not None and points.texts[4] == "post two"
    assert dict(points.columns) == {"name": ["Ann", "Bob", "Ann", "Bob", "Ann", "Bob"]}


def test_figures_are_those_of_the_manifest(run: Clustering) -> None:
    shown = {figure.name: figure.value for figure in page_data(run).quality}
    assert float(shown.pop("Silhouette")) > 0.8
    assert shown == {"Mean confidence": "0.50", "Close calls": "10%", "Evenness of sizes": "1.00"}


def test_a_run_without_a_map_has_a_page(run: Clustering) -> None:
    page = render(page_data(replace(run, map=None)))
    assert "<script" not in page and "Refund" in page and "Close calls" in page


def test_the_first_screen_comes_first(run: Clustering) -> None:
    dated = [replace(c, over_time=[("2026-01", 1), ("2026-02", 2)]) for c in run.clusters]
    page = render(page_data(replace(run, clusters=dated)))
    *parts, last = re.findall(r'<h2 id="([\w-]+)"', page)
    assert parts[:4] == ["about", "growing", "attention", "map-title"] and last == "settings"
    glance, how = page.split('id="map-title"')[0], page.split('id="settings"')[1]
    assert "50%" in glance and "refund one" in glance and glance.count('class="trend"') == 2
    assert "Mean confidence" in how and "Mean confidence" not in glance


def test_the_page_without_texts_holds_none(run: Clustering) -> None:
    data = page_data(run)
    whole, bare = render(data), render(without_texts(data))
    for private in ("refund two", "post two", "refund one", "Ann", "Bob"):
        assert private in whole and private not in bare
    assert "Refund" in bare and '"row":null' in bare


def numbers(packed: str, kind: str) -> list[int]:
    return np.frombuffer(base64.b64decode(packed), kind).tolist()


def test_the_embedded_data_reads_back() -> None:
    points = Points(
        [0, 1], [2, 300], [7, 70_000], [5, 4], [0.123, 1.0], [NASTY, "b" * 1000], total=2
    )
    clusters = [Cluster(4, "a", 1, 0.5, [], []), Cluster(5, NASTY, 1, 0.5, [], [])]
    page = render(ReportData("t", [], clusters, points=points))
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert embedded is not None and not re.search("[<>&\u2028\u2029]", embedded[1])
    found = json.loads(embedded[1])
    assert numbers(found["x"], "<u2") == [0, 1] and numbers(found["y"], "<u2") == [2, 300]
    assert numbers(found["row"], "<u4") == [7, 70_000]
    assert numbers(found["cluster"], "<u2") == [1, 0] and found["ids"] == [4, 5]  # places, numbers
    assert numbers(found["confidence"], "<u1") == [12, 100]
    assert found["text"][0] == visible(NASTY) and len(found["text"][1]) <= 302
    page.encode("utf-8")  # half a character would not be writable


def test_the_policy_allows_our_script_and_nothing_else() -> None:
    points = Points([0], [0], [1], [0], [1.0], ["<script>alert(1)</script>"], total=1)
    page = render(ReportData("t", [], [Cluster(0, "a", 1, 1.0, [], [])], points=points))
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None and f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'") and "eval" not in policy[1]
    assert "innerHTML" not in page and "document.write" not in page
    assert page.count("<script") == 2


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2028, 0x2066, 0xD800])
def test_no_acting_character_survives(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert len(shown) == 3 and chr(code) not in shown
    assert shown.isprintable()
    assert json.loads(safe_json(shown)) == shown


def test_columns_travel_with_all_their_values() -> None:
    values = [f"v{i:02}" for i in range(30) for _ in range(40 - i)] + [""] * 500
    kinds, codes = encode_column(values)
    assert kinds == [EMPTY, *(f"v{i:02}" for i in range(30))]
    assert [kinds[code] for code in codes] == [value or EMPTY for value in values]
    dates = [None, "2026-03-01", "2026-01-15", "2026-03-20"] * 300
    points = Points(
        [0] * 1200, [0] * 1200, list(range(1, 1201)), [0] * 1200, [0.5] * 1200, total=1200,
        columns={"channel": ["mail", "chat"] * 600}, dates=("sent", sort_into_periods(dates)),
    )  # fmt: skip
    clusters = [Cluster(0, "a", 1200, 1.0, [], [])]
    sent, channel = pack(points, clusters)["columns"]
    assert (channel["name"], channel["periods"]) == ("channel", 0)
    found = [sent["values"][code] for code in numbers(sent["codes"], "<u1")[:4]]
    assert found == [EMPTY, "2026-W09", "2026-W03", "2026-W12"]
    assert sent["periods"] == len(sent["values"]) - 1 == 10  # weeks without texts, too
    bare = without_texts(ReportData("t", [], clusters, points=points)).points
    assert bare is not None and pack(bare, clusters)["columns"] == []


def test_all_fields_of_a_cluster_are_shown() -> None:
    near = Neighbor(1, "Post <b>", 0.8, more=["refund"], less=["parcel"])
    full = Cluster(
        id=0, name="Refund", size=4, share=1.0, words=[("refund", 1.0)], examples=["central"],
        diverse=["far <i>"], borderline=["close <u>"], near=[near], parent=3,
        over_time=[("2026-01", 1), ("2026-02", 3)], by={"channel <s>": [("mail", 3), ("", 1)]},
        parent_name="All money",
    )  # fmt: skip
    other = Cluster(1, "Post", 1, 0.2, [], [], parent=3)
    page = render(ReportData("t", [], [full, other]))
    for part in ("far &lt;i&gt;", "close &lt;u&gt;", "Post &lt;b&gt;", "2026-01",
                 'more here <em dir="auto">refund</em>', 'more there <em dir="auto">parcel</em>',
                 "channel &lt;s&gt;", "75%", "(empty)", "All money",
                 "2026-02: 3"):  # fmt: skip
        assert part in page, part
    bare = render(without_texts(ReportData("t", [], [full])))
    assert not any(part in bare for part in ("central", "far &lt;i", "close &lt;u"))
    heights = [float(h) for h in re.findall(r'<rect [^>]*height="([\d.]+)"', page)]
    assert heights == [pytest.approx(32 / 3, abs=0.01), 32] * 2  # of all clusters, and of this one


def test_bars_are_as_long_as_clusters_are_large_and_long_texts_are_cut() -> None:
    clusters = [Cluster(0, "Refund", 7, 0.7, [], ["x " * 2500]), Cluster(1, "Late", 3, 0.3, [], [])]
    page = render(ReportData("10 texts", ["A sentence."], clusters, ["A note."]))
    assert re.findall(r'class="bar" style="width: ([\d.]+)%', page) == ["100.0", "42.9"]
    assert "x " * 200 not in page and "x …" in page
    assert "A sentence." in page and "A note." in page


def test_one_cluster_is_compared_with_no_other(topics, tmp_path: Path) -> None:
    """A page, a summary and messages that speak of one cluster, and of no similar ones."""
    run = coterie.cluster(topics[0], 1, method="kmeans", encoder="tfidf", folder=tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    shown = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    for word in ("imilar", "close call", "1 clusters", "random guess", "How good is it?"):
        assert word not in shown, word
    assert "All texts are in one cluster" in shown and "90 texts in 1 cluster" in shown
    assert repr(run) == "Run of 90 texts in 1 cluster"
    coterie.edit(tmp_path / "run", [{"split": 0}])
    summary = coterie.open_run(tmp_path / "run").manifest["summary"]
    assert any("close calls between two clusters" in sentence for sentence in summary)
