"""Tables in the documentation are those of the lines in results/."""

import pytest

from coterie_bench.experiments.pages import method_part


@pytest.fixture
def script(load):
    return load("fill")


def test_every_page_shows_the_newest_tables(script) -> None:
    pages = dict(script.made())
    assert len(pages) > 15
    for page, new in pages.items():
        assert page.read_text("utf-8") == new, f"{page.name} is out of date: run make tables"


def test_a_mark_inside_a_line_is_filled_there(script) -> None:
    filled = script.fill("- gains <!-- dev-gain -->9<!-- end --> points", [])
    assert filled == script.fill(filled, []) and "\n" not in filled and "-->9<" not in filled


def row(label: str, seed: int, acc: float, start: float, **more) -> dict:
    return {
        "label": label, "method": "aecl", "preset": None, "parameters": {}, "dataset": "tweet",
        "dataset_sha256": "0", "seed": seed, "scores": {"acc": acc, "nmi": acc},
        "start_scores": {"acc": start, "nmi": start}, "date": "2026-11-15", "commit": "abc",
        "guard": {"fired": seed == 1, "reason": ""}, "hardware": {"cores": 2}, **more,
    }  # fmt: skip


def test_a_methods_table_by_hand(script) -> None:
    rows = [row("AECL, default", 0, 0.7, 0.6), row("AECL, default", 1, 0.8, 0.7)]
    lines = method_part(rows, ["aecl"], "aecl").splitlines()
    assert lines[0] == "| data set | start | AECL, default | in papers, ACC / NMI |"
    assert lines[2] == (
        "| tweet | 65.0 / 65.0 | **75.0 ± 7.1** / **75.0 ± 7.1** (2, 1‡) | 80.46 / 87.60 |"
    )
    assert "5, 2‡: in two of the five runs the guard returned" in lines[-1]
    left = [{**r, "trained_scores": {"acc": 0.2, "nmi": 0.3}} for r in rows]
    assert "| **65.0** / **65.0** | 20.0 ± 0.0 / 30.0 ± 0.0 (2, 1‡) |" in method_part(
        left, ["aecl"], "aecl"
    )
    worse = [{**r, "scores": {"acc": 0.1, "nmi": 0.9}} for r in rows]
    assert "| **65.0** / 65.0 | 10.0 ± 0.0 / **90.0 ± 0.0** (2, 1‡) |" in method_part(
        worse, ["aecl"], "aecl"
    )
    own = [row("AECL, default", 0, 0.7, 0.6, views_source="own")]
    assert "Augmented texts are our own on tweet." in method_part(own, ["aecl"], "aecl")
    assert method_part([], ["aecl"], "aecl") == (
        "There are no result lines yet: `coterie-bench aecl --data DIR` makes them.\n"
    )
