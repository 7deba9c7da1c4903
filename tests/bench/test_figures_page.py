"""The page of the figures shows what the numbers beside it and the lines in results/ say."""

import argparse
import re
from pathlib import Path

import pytest

from coterie.bench.figures import FIGURES, Picture, read_picture
from coterie.bench.figures.picture import Lines, Table, mark_of

SENTENCE = re.compile(r"[A-Z][^.]{40,}\.", re.S)


@pytest.fixture
def script(load):
    return load("figures")


def test_figures_from_lines_are_the_newest(script) -> None:
    for name, text in script.from_lines().items():
        file = script.PICTURES / f"{name}.json"
        shown = file.read_text("utf-8") if file.exists() else None
        assert shown == text, f"{name} is out of date: run make tables"


def test_drawings_are_those_of_the_numbers_beside_them(script) -> None:
    assert script.there()
    for file in script.PICTURES.iterdir():
        assert file.stem in script.there(), f"{file.name} belongs to no figure"
    for name in script.there():
        picture = read_picture(script.PICTURES / f"{name}.json")
        if not isinstance(picture.panels[0], Table):
            drawn = (script.PICTURES / f"{name}.svg").read_text("utf-8")
            assert mark_of(picture) in drawn, f"{name}.svg is out of date: run make tables"


def test_the_page_has_a_section_for_each_figure(script) -> None:
    page = script.PAGE.read_text("utf-8")
    assert script.arranged(page) == page, "the page is out of date: run make tables"
    assert re.findall(r"<!-- figure: (\S+) -->", page) == script.there()


def test_every_section_says_what_one_sees(script) -> None:
    """What the paper claims is made from the script; what follows the mark, a person writes."""
    sections = re.split(r"^(?=## )", script.PAGE.read_text("utf-8"), flags=re.M)[1:]
    assert len(sections) == len(script.there())
    for section in sections:
        found = script.MARK.search(section)
        assert SENTENCE.search(found[2]), f"{script.PAGE}: say below {found[1]} what one sees"


def test_every_figure_has_a_heading_a_claim_and_its_runs_a_plan(script) -> None:
    assert script.TOLD.keys() == FIGURES.keys()
    assert all(claim.endswith(".") for _, claim in script.TOLD.values())
    assert script.PLANS.keys() == {n for n, drawing in FIGURES.items() if drawing.lines is None}


@pytest.fixture
def elsewhere(script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The script with a page and pictures of its own."""
    monkeypatch.setattr(script, "PAGE", tmp_path / "figures.md")
    monkeypatch.setattr(script, "PICTURES", tmp_path / "papers")
    monkeypatch.setattr(script, "RESULTS", tmp_path / "results")
    script.PAGE.write_text("# Figures\n\nAbout them.\n", "utf-8")
    return script


def test_numbers_of_runs_are_taken_over_and_hand_written_words_stay(
    elsewhere, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="figures need: pip install 'coterie[plots]'")
    line = Lines(x="step", y="ACC in %", series={"a": [[0, 1.0], [1, 2.0]]})
    words = Picture(title="Words", panels=[Table(header=["cluster"], rows=[["0"]])], about="Run.")
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, picture in (("deccrl-words", words),
                          ("sccl-distances", Picture(title="SCCL", panels=[line]))):  # fmt: skip
        (runs / f"{name}.json").write_text(picture.to_json(), "utf-8")
    elsewhere.make_page(runs)
    page = elsewhere.PAGE.read_text("utf-8")
    headings = re.findall(r"^## .+$", page, re.M)
    assert headings == ["## SCCL, Figure 4: distances over training",
                        "## DECCRL, Table 4: words of the topics"]  # fmt: skip
    assert "](pictures/papers/sccl-distances.svg)" in page and "| cluster |" in page
    assert {f.name for f in elsewhere.PICTURES.iterdir()} == {
        "sccl-distances.json", "sccl-distances.svg", "deccrl-words.json"
    }  # fmt: skip

    mine = "What I saw.\n\nAnd more."
    place = page.index("<!-- end -->") + len("<!-- end -->")
    elsewhere.PAGE.write_text(f"{page[:place]}\n\n{mine}{page[place:]}", "utf-8")
    elsewhere.make_page()  # without runs: numbers that are there stay
    again = elsewhere.PAGE.read_text("utf-8")
    assert again.count(mine) == 1 and again.index(mine) < again.index("## DECCRL")
    assert again.replace(f"{mine}\n\n", "") == page

    (elsewhere.PICTURES / "deccrl-topics.json").write_text(words.to_json(), "utf-8")
    elsewhere.make_page()  # its lines are gone, so it goes, too
    assert not (elsewhere.PICTURES / "deccrl-topics.json").exists()
    assert elsewhere.PAGE.read_text("utf-8") == again


def options(out: Path, **more) -> argparse.Namespace:
    usual = {"data": None, "out": out, "only": None, "device": "cpu", "encoder": "tfidf",
             "jobs": 1, "seconds": 120.0, "limit": None, "set": ["batch_size=20"]}  # fmt: skip
    return argparse.Namespace(**usual | more)


@pytest.mark.slow
def test_runs_are_made_and_timed(script, tmp_path: Path, monkeypatch, capsys) -> None:
    pytest.importorskip("matplotlib", reason="figures need: pip install 'coterie[plots]'")
    monkeypatch.setattr(script, "PLANS", {"sccl-map": script.Plan("sample", 40, {"steps": 2})})
    script.run_all(options(tmp_path))
    said = capsys.readouterr().out
    assert re.search(r"^sccl-map: \d+ s, exit code 0$", said, re.M)
    assert "40 texts" in read_picture(tmp_path / "sccl-map.json").title


def test_runs_end_when_the_time_is_over(script, tmp_path: Path, monkeypatch, capsys) -> None:
    plan = script.Plan("sample", 900, {"steps": 10**6})
    monkeypatch.setattr(script, "PLANS", {"sccl-map": plan, "sccl-distances": plan})
    script.run_all(options(tmp_path, seconds=0.5))
    said = capsys.readouterr().out
    assert re.search(r"^sccl-map: \d+ s, out of time$", said, re.M)
    assert "not begun: sccl-distances" in said and not list(tmp_path.iterdir())
