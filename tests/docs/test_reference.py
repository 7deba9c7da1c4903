"""The committed reference pages are what the code says."""

import runpy
from pathlib import Path

import pytest

import coterie

ROOT = Path(__file__).parents[2]
PAGES = runpy.run_path(str(ROOT / "tools" / "reference.py"))["PAGES"]


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_is_up_to_date(page: str) -> None:
    written = (ROOT / "docs" / "reference" / page).read_text("utf-8")
    assert written == PAGES[page](), "run: python tools/reference.py"


def test_every_public_name_has_an_entry() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    for name in set(coterie.__all__) - {"METHODS", "__version__"}:
        assert f"### {name}\n" in page or f"[`{name}`]" in page, name
