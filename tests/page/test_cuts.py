"""The slider of the page: every cut of a tree is in the file, and the page follows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.arrays.tree import Tree, numbered
from coterie.describe import Cluster
from coterie.describe.summary import make_overview
from coterie.page import Points, ReportData, render, without_texts, write_report
from coterie.page.looks import looks
from coterie.page.page import SHADES, SHAPES
from coterie.runs.page_data import page_data
from coterie.runs.store import read

SIZES = np.array([5, 4, 3, 3, 2, 2, 1, 1])  # texts of the eight finest clusters
# Places that are joined, nearest first: four clusters in the medium cut.
JOINED = [(0, 1), (2, 3), (4, 5), (8, 6), (9, 10), (11, 7), (12, 13)]
NASTY = "</script><script>window.hacked = 1</script>"


def described(tree: Tree, of_leaf: dict[int, int]) -> dict[int, Cluster]:
    total = sum(of_leaf.values())
    nodes = {}
    for number in {union for union, _, _ in tree.merges[:-1]} | set(tree.leaves):
        size = sum(of_leaf[leaf] for leaf in tree.below(number))
        name = NASTY if number == 2 else f"Name {number}"
        nodes[number] = Cluster(
            number, name, size, size / total, [(f"word{number}", 1.0)], [f"example of {number}"]
        )
    return nodes


def report(shown: int = 4) -> ReportData:
    """A page of 21 texts in eight finest clusters and one outlier, each text with its number."""
    tree = numbered(JOINED, SIZES, 4)
    tree = replace(tree, levels={"broad": 2, "medium": 4, "fine": 8}, at=shown)
    nodes = described(tree, dict(zip(tree.leaves, SIZES.tolist(), strict=True)))
    leaves = [leaf for leaf, n in zip(tree.leaves, SIZES, strict=True) for _ in range(n)]
    n, cut = len(leaves) + 1, tree.cut(shown)
    points = Points(
        [(i * 7919) % 10_001 for i in range(n)], [(i * 104_729) % 10_001 for i in range(n)],
        rows=list(range(1, n + 1)), clusters=[*(cut[leaf] for leaf in leaves), -1],
        confidence=[0.5] * n, texts=[*(f"text of {leaf}" for leaf in leaves), "alone"],
        total=n, leaves=[*leaves, -1],
    )  # fmt: skip
    clusters = [replace(nodes[i], borderline=["a close call"]) for i in tree.shown(shown)]
    glance = make_overview({}, clusters, tree, nodes)
    return ReportData(
        "21 texts", ["One."], clusters, overview=glance, points=points, tree=tree, nodes=nodes
    )


def test_every_cut_is_in_the_file_and_nothing_in_it_acts() -> None:
    data = report()
    page = render(data)
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert embedded is not None and page.count("<script") == 2
    cuts = json.loads(embedded[1])["cuts"]
    packed = Tree(tuple(cuts["leaves"]), tuple(map(tuple, cuts["merges"])), cuts["levels"], 2)
    assert data.tree is not None and cuts["shown"] == 4
    for n in range(2, data.tree.finest + 1):
        assert packed.cut(n) == data.tree.cut(n)
        for number in packed.shown(n):  # each is described once, in the list or beside it
            assert page.count(f'<article id="cluster-{number}"') == 1
            assert page.count(f'<tr data-cluster="{number}"') == 1
    sizes = {number: size for number, _, size, *_ in cuts["nodes"]}
    assert sizes == {number: node.size for number, node in data.nodes.items()}
    bare = render(without_texts(data))
    assert "example of" in page and "example of" not in bare and "text of" not in bare
    assert 'id="cut"' not in render(replace(data, tree=None))


def test_the_page_of_a_run_has_its_tree(topics, tmp_path: Path) -> None:
    """Marks have the leaves of the table, but for outliers, and clusters come by size."""
    folder = tmp_path / "run"
    run = coterie.cluster(
        topics[0], method="auto", encoder="tfidf", max_outliers=0.05, folder=folder
    )
    for at in (run.tree.at, run.tree.finest):
        coterie.cut(folder, at)
        data = page_data(read(folder))
        assert data.cuts is not None and data.points is not None and data.points.leaves is not None
        cut = {**data.cuts.cut(), -1: -1}
        assert [cut[leaf] for leaf in data.points.leaves] == list(data.points.clusters)
        sizes = [cluster.size for cluster in data.clusters]
        assert sizes == sorted(sizes, reverse=True)
        assert 'id="cut"' in (folder / "report.html").read_text("utf-8")


def random_tree(leaves: int, medium: int, seed: int) -> tuple[Tree, dict[int, Cluster]]:
    draw = np.random.default_rng(seed)
    sizes, free, merges = draw.integers(1, 100, leaves), [*range(leaves)], []
    for union in range(leaves, 2 * leaves - 1):
        one, other = (free.pop(int(draw.integers(len(free)))) for _ in range(2))
        merges.append((one, other))
        free.append(union)
    tree = numbered(merges, sizes, medium)
    return tree, described(tree, dict(zip(tree.leaves, sizes.tolist(), strict=True)))


@pytest.mark.parametrize("seed", range(5))
def test_each_cluster_has_one_look_which_is_a_shade_of_its_theme(seed: int) -> None:
    tree, nodes = random_tree(60, 27, seed)
    tree = replace(tree, levels={"broad": 7, "medium": 27, "fine": 60})
    found = looks(tree, nodes)
    for n in range(2, 8):  # the fewer, the more must their colours differ
        assert len({found[number].color for number in tree.shown(n)}) == n
    for theme in tree.shown("broad"):
        inside = [number for number in tree.nodes_in(theme) if number in found]
        assert {found[number].color for number in inside} == {found[theme].color}
        for n in range(7, 61):
            cut = [found[number] for number in tree.shown(n) if number in inside]
            assert len(set(cut)) == len(cut) or len(cut) > SHADES * len(SHAPES)
    for number, parts in tree.inside().items():  # one part keeps the look
        assert number not in found or found[number] in [found[part] for part in parts]


LEGEND = """[...document.querySelectorAll('#legend button')].map(b => [
    b.querySelector('span').textContent, Number(b.querySelector('small').textContent),
    getComputedStyle(b.querySelector('svg')).color, b.querySelector('path').getAttribute('d')])"""
ROWS = """[...document.querySelectorAll('.overview tbody tr')].map(r => [
    Number(r.cells[0].textContent), r.querySelector('a').textContent,
    Number(r.cells[2].textContent), getComputedStyle(r.querySelector('svg')).color])"""
EXAMPLES = "[...document.querySelectorAll('#articles .examples li')].map(x => x.textContent)"
MARKS = """new Promise(done => {
    URL.createObjectURL = blob => { blob.text().then(done); return 'blob:none'; };
    HTMLAnchorElement.prototype.click = () => {};
    document.getElementById('svg').click(); })"""


@pytest.fixture
def opened(visit: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def make(data: ReportData, part: str = "", **more: Any) -> Any:
        write_report(tmp_path / "page.html", data)
        return visit((tmp_path / "page.html").as_uri() + part, **more)

    return make


def slide(page: Any, n: int) -> None:
    page.evaluate(
        f"(r => {{ r.value = {n}; r.dispatchEvent(new Event('input')); }})"
        "(document.getElementById('cut'))"
    )
    page.drawn()


def test_the_page_follows_the_slider(opened: Callable[..., Any]) -> None:
    data = report()
    assert data.tree is not None
    tree, page = data.tree, opened(data)
    seen: dict[str, set[tuple[str, str]]] = {}
    for n in [4, *range(2, 9), 4]:
        slide(page, n)
        wanted = sorted((data.nodes[i] for i in tree.shown(n)), key=lambda c: (-c.size, c.id))
        legend, rows = page.evaluate(LEGEND), page.evaluate(ROWS)
        assert [tuple(line[:2]) for line in legend] == [
            *((c.name, c.size) for c in wanted), ("(none of these)", 1),
        ]  # fmt: skip
        assert [tuple(row[:3]) for row in rows] == [(c.id, c.name, c.size) for c in wanted]
        assert [row[3] for row in rows] == [line[2] for line in legend[:-1]]
        examples = [text for text in page.evaluate(EXAMPLES) if text != "a close call"]
        assert examples == [f"example of {c.id}" for c in wanted]
        groups = re.findall(r"<g fill=.*?</g>", page.evaluate(MARKS))  # marks of one look
        assert sorted(group.count("<path") for group in groups) == sorted(x[1] for x in legend)
        for name, _, color, shape in legend:
            seen.setdefault(name, set()).add((color, shape))
        widths = page.evaluate(
            "[...document.querySelectorAll('.overview .bar')].map(b => b.style.width)"
        )
        assert widths[0] == "100%"
        hidden = page.evaluate("document.querySelector('.of-shown').hidden")
        assert hidden == (n == 4)
    assert all(len(looked) == 1 for looked in seen.values())  # in every cut alike
    assert page.evaluate("typeof window.hacked") == "undefined" and page.troubles == []


def test_keys_buttons_and_the_address(opened: Callable[..., Any]) -> None:
    page = opened(report())
    pressed = "[...document.querySelectorAll('.cut [aria-pressed=true]')].map(b => b.textContent)"
    count = "document.querySelectorAll('#legend button').length - 1"
    assert page.evaluate(pressed) == ["Medium 4"]
    page.focus("#cut")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(count) == 5
    page.until(lambda: page.url.endswith("#cut=5"))
    assert page.get_attribute("#cut", "aria-valuetext") == "5 clusters"
    page.keyboard.press("Home")
    assert page.evaluate(count) == 2 and page.evaluate(pressed) == ["Broad 2"]
    for typed, n in (("6", 6), ("99", 8), ("", 8), ("1", 8)):
        page.fill("#cut-number", typed)
        page.keyboard.press("Enter")
        assert page.evaluate(count) == n and page.input_value("#cut-number") == str(n)
    page.click("#cut-back")
    assert page.evaluate(count) == 4
    page.until(lambda: page.url.endswith("#"))  # as before: an edit may change the number
    again = opened(report(), "#cut=7&clusters")
    assert again.evaluate(count) == 7 and again.input_value("#cut") == "7"
    assert again.evaluate("scrollY") > 0
    data = report()
    assert data.tree is not None
    coarse = next(number for number in data.nodes if number not in data.tree.shown(4))
    link = opened(report(), f"#cluster-{coarse}")  # opens a cut that shows the cluster
    assert link.evaluate(f"document.getElementById('cluster-{coarse}') !== null")
    assert link.input_value("#cut") != "4"


def test_a_page_at_work_is_edited_in_its_own_cut_only(
    visit: Callable[..., Any], tmp_path: Path
) -> None:
    live = {"version": "1", "made": "now", "changes": []}
    live["clusters"] = [{"id": i, "name": str(i), "size": 1} for i in range(4)]
    (tmp_path / "page.html").write_text(render(report(), live), "utf-8")
    page = visit((tmp_path / "page.html").as_uri() + "#cut=6")
    page.evaluate("document.getElementById('live-edit').hidden = false")  # as the service allows it
    for n in (5, 4, 3):
        slide(page, n)
        assert page.evaluate("document.getElementById('live-edit').disabled") == (n != 4)
        assert page.is_visible("#live-keep") == (n != 4)
    assert page.text("#live-keep") == "Keep these 3 clusters"


def test_without_scripts_the_clusters_of_the_run_are_shown(opened: Callable[..., Any]) -> None:
    page = opened(report(6), java_script_enabled=False)
    assert page.locator(".overview tbody tr").count() == 6
    assert page.locator("article").count() == 6 and not page.is_visible(".cut")
