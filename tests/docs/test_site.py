"""The site builds without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from filelock import FileLock

pytest.importorskip("sphinx", reason="the site needs: pip install 'coterie[docs]'")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
LARGEST_PICTURE = 200_000  # bytes


class Page(HTMLParser):
    """What a page loads, and its styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.styles.append(found.get("style", ""))
        if tag == "link" and found.get("rel") not in ("index", "search", "next", "prev"):
            self.loads.append(found.get("href", ""))
        self.loads += [found[key] for key in ("src", "srcset", "poster", "data") if key in found]


@pytest.fixture(scope="module")
def site(shared: Path, warm_python: list[str]) -> Path:
    """Made by one process for all."""
    out = shared / "site"
    command = [*warm_python, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    with FileLock(f"{out}.lock"):
        if not (out / "made").exists():
            done = subprocess.run(
                [*command, "-d", str(out / "trees"), str(DOCS), str(out / "html")],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            (out / "made").touch()
    return out / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {file: Page(file.read_text("utf-8")) for file in sorted(site.rglob("*.html"))}
    assert len(found) > 20
    return found


def test_every_page_of_the_folder_is_on_the_site(site: Path) -> None:
    for source in DOCS.rglob("*.md"):
        assert (site / source.relative_to(DOCS)).with_suffix(".html").exists()


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        assert not [address for address in page.loads if ELSEWHERE.match(address)], file
        inline = re.findall(r"<style.*?</style>", file.read_text("utf-8"), re.DOTALL)
        styles = "\n".join([*page.styles, *inline])
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", styles), file
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import\s+(?:url|['\"])", text), sheet


def test_what_pages_load_is_there(site: Path, pages: dict[Path, Page]) -> None:
    for file, page in pages.items():
        for address in page.loads:
            path = unquote(urlsplit(address).path)
            if path and not address.startswith("data:"):
                assert (file.parent / path).resolve().exists(), f"{file}: {address}"


def test_pictures_are_small() -> None:
    pictures = [*DOCS.rglob("*.png"), *DOCS.rglob("*.svg"), *ROOT.glob("results/pictures/*.svg")]
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < LARGEST_PICTURE, picture
