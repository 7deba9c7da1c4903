"""The site builds without a warning, loads nothing from elsewhere, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import coterie
from commands import commands
from coterie import encoders, engine, metrics

pytest.importorskip("sphinx", reason="the site needs: pip install 'coterie[docs]'")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
LARGEST_PICTURE = 200_000  # bytes


class Page(HTMLParser):
    """What a page loads, where it leads, which places it has, and what it says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.places: set[str] = set()
        self.said: list[str] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.places |= {found[key] for key in ("id", "name") if key in found}
        self.styles.append(found.get("style", ""))
        if tag == "a":
            self.leads.append(found.get("href", ""))
        elif tag == "link" and found.get("rel") not in ("index", "search", "next", "prev"):
            self.loads.append(found.get("href", ""))
        self.loads += [found[key] for key in ("src", "srcset", "poster", "data") if key in found]

    def handle_data(self, data: str) -> None:
        self.said.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, warm_python: list[str]) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [*warm_python, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(out / "trees"), str(DOCS), str(out / "html")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
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


def test_links_inside_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    checked = 0
    for file, page in pages.items():
        for address in page.leads:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or not address:
                continue
            goal = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert goal.exists(), f"{file}: {address}"
            fragment = unquote(parts.fragment)
            if fragment and goal.suffix == ".html":
                assert fragment in pages[goal].places, f"{file}: {address}"
            checked += 1
    assert checked > 500


def test_everything_public_has_an_entry(site: Path, pages: dict[Path, Page]) -> None:
    places = pages[site / "reference" / "python.html"].places
    assert {f"coterie.{name}" for name in coterie.__all__ if name != "__version__"} <= places
    for module in (encoders, engine):
        name = module.__name__.rpartition(".")[2]
        places = pages[site / "reference" / f"{name}.html"].places
        assert {f"{module.__name__}.{inner}" for inner in module.__all__} <= places
    scores = {
        n for n, v in vars(metrics).items() if getattr(v, "__module__", "") == metrics.__name__
    }
    public = {f"coterie.metrics.{name}" for name in scores if not name.startswith("_")}
    assert public <= pages[site / "reference" / "metrics.html"].places


def test_every_command_and_option_is_in_the_reference(site: Path, pages: dict[Path, Page]) -> None:
    page = pages[site / "reference" / "command-line.html"]
    said = set(re.findall(r"--?[a-z][a-z-]*", " ".join(page.said)))
    for verb, options in commands().items():
        assert verb == "coterie" or verb.replace(" ", "-") in page.places
        assert {o for o in options if o.startswith("-")} <= said | {"--help", "-h"}


SOURCES = sorted(p for p in DOCS.rglob("*.md") if p.name not in ("changes.md", "contributing.md"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_what_a_page_calls_missing_is_missing(source: Path) -> None:
    """``% absent: NAME`` stands beside each "not yet"; whoever builds it has to change the page."""
    known = commands()
    options = set().union(*known.values())
    for thing in re.findall(r"^% absent: (.+)$", source.read_text("utf-8"), re.MULTILINE):
        if thing.startswith("--"):
            assert thing not in options, f"{source}: {thing} exists now"
        elif thing.startswith("coterie "):
            assert thing not in known, f"{source}: {thing} exists now"
        else:
            assert re.fullmatch(r"coterie\.\w+", thing), f"{source}: {thing} cannot be checked"
            assert not hasattr(coterie, thing.removeprefix("coterie.")), f"{thing} exists now"


def test_pictures_are_small() -> None:
    pictures = [*DOCS.rglob("*.png"), *DOCS.rglob("*.svg")]
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < LARGEST_PICTURE, picture
