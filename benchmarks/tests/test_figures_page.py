"""The page of the figures shows what the numbers beside it and the lines in results/ say."""

import argparse
import re
from dataclasses import replace
from pathlib import Path

import pytest

from coterie_bench.figures import FIGURES, Picture, read_picture
from coterie_bench.figures.picture import Lines, Points, Table, mark_of

SENTENCE = re.compile(r"[A-Z][^.]{40,}\.", re.S)


@pytest.fixture
def script(load):
    return load("figures_page")


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
    for drawing in FIGURES.values():
        assert drawing.heading and drawing.claim.endswith(".")
        assert (drawing.lines is None) == bool(drawing.runs)


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
        (run,) = list(elsewhere.planned(name))[:1]
        run.folder(runs).mkdir(parents=True)
        (run.folder(runs) / f"{name}.json").write_text(picture.to_json(), "utf-8")
    elsewhere.make_page(runs)
    page = elsewhere.PAGE.read_text("utf-8")
    headings = re.findall(r"^## .+$", page, re.M)
    assert headings == ["## SCCL, Figure 4: distances over training",
                        "## DECCRL, Table 4: words of the topics"]  # fmt: skip
    assert "](../pictures/sccl-distances.svg)" in page and "| cluster |" in page
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
             "jobs": 2, "limit": None, "set": ["batch_size=20"]}  # fmt: skip
    return argparse.Namespace(**usual | more)


@pytest.mark.slow
def test_runs_are_made(script, tmp_path: Path, monkeypatch, capsys) -> None:
    pytest.importorskip("matplotlib", reason="figures need: pip install 'coterie[plots]'")
    runs = ({"dataset": "sample", "limit": 40, "settings": {"steps": 2}, "seeds": 2},)
    monkeypatch.setitem(FIGURES, "sccl-map", replace(FIGURES["sccl-map"], runs=runs))
    script.run_all(options(tmp_path, only="sccl-map"))
    said = capsys.readouterr().out
    for seed in (0, 1):
        assert re.search(rf"^sccl-map, sample, seed {seed}: exit code 0$", said, re.M)
        made = read_picture(tmp_path / "sccl-map" / f"sample-{seed}" / "sccl-map.json")
        assert made.title.endswith(f"40 texts, seed {seed}")


def curve(title: str, *values: float, about: str = "Run.") -> Picture:
    panel = Lines(x="step", y="NS", series={"a": [[i, v] for i, v in enumerate(values)]})
    return Picture(title=title, panels=[panel], about=about)


def test_seeds_become_mean_and_deviation(script) -> None:
    made = script.joined([curve("S \u2013 tweet, 9 texts, seed 0", 1.0, 4.0),
                          curve("S \u2013 tweet, 9 texts, seed 2", 3.0, 4.0, 9.0)])  # fmt: skip
    assert made.title == "S \u2013 tweet, 9 texts, seeds 0, 2" and made.about == "Run."
    # The sample deviation of 1 and 3 is the root of 2; the third place is of one run alone.
    assert made.panels[0].series["a"] == [[0, 2.0, pytest.approx(2**0.5)], [1, 4.0, 0.0]]


def test_data_sets_become_panels(script) -> None:
    one = curve("S \u2013 tweet, 9 texts, seed 0", 1.0)
    two = curve("S \u2013 agnews, 8 texts, seed 0", 2.0, about="Another.")
    made = script.joined([one, two])
    assert [panel.title for panel in made.panels] == ["tweet", "agnews"]
    assert made.title == "S \u2013 tweet, 9 texts, seed 0; agnews, 8 texts, seed 0"
    assert made.about == "Run. Another."
    assert script.joined([one]) == one


def test_of_maps_the_first_seed_is_shown(script) -> None:
    pictures = []
    for seed in (0, 1):
        dots = Points(x=[seed, 5], y=[0, 9], classes=[0, 1])
        one = curve(f"M \u2013 tweet, 9 texts, seed {seed}", 2.0 * seed)
        pictures.append(replace(one, panels=[dots, *one.panels]))
    dots, means = script.joined(pictures).panels
    assert dots.x == [0, 5] and means.series["a"] == [[0, 1.0, pytest.approx(2**0.5)]]


def test_seeds_of_tables_are_not_joined(script) -> None:
    table = [Picture(title=f"T \u2013 tweet, seed {seed}", panels=[Table(header=["a"], rows=[])])
             for seed in (0, 1)]  # fmt: skip
    with pytest.raises(ValueError, match="curves and maps alone"):
        script.joined(table)
