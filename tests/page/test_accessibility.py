"""Everybody can use the pages: axe-core finds nothing serious, and all fit a phone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie.runs.comparison.page import write_comparison
from coterie.serve.state import read_snapshot
from trees import nested_texts

AXE = Path(sys.prefix) / "axe.min.js"  # by tools/system.py
LOOKS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 390, "height": 844, "is_mobile": True},
}
SHOW = """() => {  // all that a person can bring up
    for (const id of ["open-all", "compare-open"]) document.getElementById(id)?.click();
    document.querySelector("#legend button")?.click();
    document.querySelectorAll("#live, #live-edit").forEach((part) => { part.hidden = false; });
    document.querySelector("#live-clusters input")?.click();
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a run after an update, what that changed, the page at work, and a comparison."""
    place = tmp_path_factory.mktemp("pages")
    texts = nested_texts()
    rows = [{"text": text, "day": f"2026-0{1 + i % 6}-01"} for i, text in enumerate(texts)]
    run = coterie.cluster(rows, encoder="tfidf", max_outliers="5%", folder=place / "run", seed=0)
    before = coterie.cluster(texts, 3, method="kmeans", encoder="tfidf", folder=place / "old")
    run.update([{**row, "text": f"{row['text']} again"} for row in rows[:20]])
    write_comparison(place / "compared.html", coterie.compare(before.folder, run.folder))
    (place / "live.html").write_bytes(read_snapshot("run", run.folder).page)
    return {
        "report": run.folder / "report.html",
        "changes": run.folder / "changes.html",
        "live": place / "live.html",
        "comparison": place / "compared.html",
    }


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["report", "changes", "live", "comparison"])
def test_nothing_shuts_people_out(
    visit: Callable[..., Any], pages: dict[str, Path], name: str, look: str
) -> None:
    page = visit(pages[name], bypass_csp=True, **LOOKS[look])
    page.evaluate(SHOW)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if not AXE.exists():
        pytest.skip("axe-core is not here: python tools/system.py test-all")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    grave = [
        (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert grave == []
