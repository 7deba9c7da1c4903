"""Options that cannot work: refused by their names, before anything is written."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from commands import commands, run
from coterie.cli import app
from coterie.cli.app import VERBS
from coterie.cli.options import RARE
from said import says

HUGE = "9" * 5000


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """35 texts, of which three come again in capitals."""
    lines = [f"message number {i} about topic{i % 5}" for i in range(10, 45)]
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["text", *lines, *(line.upper() for line in lines[:3])]))
    return path


def cluster(path: Path, *options: str, code: int = 0) -> str:
    """What ``cluster`` says; where it refuses, it has left nothing behind."""
    out = path.parent / "run"
    given = ["cluster", path, "--out", out, "--method", "kmeans", "--encoder", "tfidf", *options]
    said = run(*given, code=code).output
    assert out.exists() == (code == 0)
    return said


@pytest.mark.parametrize("clusters", ["36", "99999"])
def test_more_clusters_than_texts(texts: Path, clusters: str) -> None:
    """Fitting would find 35 texts: capitals are nothing to the encoder."""
    said = cluster(texts, "-k", clusters, code=3)
    assert says(said, "that is more than", "35 different texts")
    assert f"`n_clusters={clusters}`" in said


def test_levels_count_texts_as_fitting_does(texts: Path) -> None:
    said = cluster(texts, "--levels", "5,36", code=2)
    assert says(said, "clusters asked for, but there are only", "`levels`", "35")
    cluster(texts, "-k", "35")  # as many clusters as texts


@pytest.mark.parametrize(
    ("options", "named", "key"),
    [
        ("-k three", "n_clusters", "should be an integer or 'auto'"),
        ("-k 0", "n_clusters", "should be greater than or equal to 1"),
        ("-k ²", "n_clusters", "should be an integer"),
        (f"-k {HUGE}", "n_clusters", "should be an integer"),
        ("--levels 2,x", "levels", "should be an integer"),
        ("--levels 0,3", "levels", "should be greater"),
        ("--levels 5,5", "levels", "the numbers do"),
        ("--levels 2,20 -k 10", "levels", "clusters, more than"),
        ("-k 3 --max-outliers lots", "max_outliers", "should be a share"),
        ("-k 3 --max-outliers 60%", "max_outliers", "would allow more"),
        ("-k 3 --max-outliers 20", "max_outliers", "would allow more"),
        ("-k 3 --set write=xls", "write", "Did you mean 'xlsx'"),
        ("-k 3 --set write=,", "write", "such as xlsx,parquet"),
        ("-k 3 --set stepps=3", "stepps", "has no parameter"),
        ("-k 3 --set steps", "--set", "expected KEY=VALUE"),
        ("-k 3 --set n_init=0", "n_init", "should be an integer of"),
        ("-k 3 --set n_clusters=4", "n_clusters", "has no parameter"),
        ("-k 3 --set fit_sample=-1", "fit_sample", "should be greater"),
        ("-k 3 -m kmean", "method", "Did you mean 'kmeans'"),
        ("-k 3 --set preset=x", "preset", "should be one of"),
        ("-k 3 --device mps", "device", "should be auto, cpu"),
        ("-k 3 --device cuda:99", "device='cuda:99'", "torch sees no CUDA"),
        ("-k 3 -m ward --set views=x.csv", "views", "does not take it"),
    ],
)
def test_an_option_that_cannot_work_is_named(
    texts: Path, options: str, named: str, key: str
) -> None:
    found = cluster(texts, *options.split(" "), code=2)
    assert says(found, key) and named in re.sub(r"\s+", " ", found), found


@pytest.mark.parametrize(
    ("arguments", "code", "key"),
    [
        ("cluster nowhere.csv -k 3", 2, "there is no file"),
        ("cluster - -k 3", 2, "--out is needed when"),
        ("cluster FILE -k 3 -t txt", 3, "there is no column"),
        ("cluster FILE -k 3 --encoder no/such-model", 1, "or give the folder"),
        ("predict FOLDER FILE", 3, "holds no model (neither"),
        ("evaluate FILE -l topics", 3, "there is no column"),
        ("report FOLDER", 3, "holds no run: there"),
        ("methods scl", 2, "should be one of"),
    ],
)
def test_mistakes_have_a_message_and_a_code(
    texts: Path, arguments: str, code: int, key: str
) -> None:
    known = {"FILE": texts, "FOLDER": texts.parent}
    given = [known.get(argument, argument) for argument in arguments.split()]
    assert says(run(*given, code=code, stdin="a cat\n").output, key)
    assert [path.name for path in texts.parent.iterdir()] == ["texts.csv"]


def test_help_of_cluster_is_two_screens() -> None:
    said = CliRunner().invoke(app, ["cluster", "--help"], env={"COLUMNS": "80"}).output
    assert len(said.splitlines()) <= 100
    assert len(re.findall(r"^│ --[a-z]", said, re.MULTILINE)) <= 25  # --help is one of them
    listed = re.search(r"or (write.*?)\. Repeatable", re.sub(r"[│\s]+", " ", said))
    assert listed is not None and listed[1].split(", ") == list(RARE)


def test_the_list_of_verbs_says_what_each_says_of_itself() -> None:
    group = typer.main.get_command(app)
    for name, (_, said) in VERBS.items():
        command = group.get_command(None, name)
        assert command.hidden == (not said)
        assert not said or command.help.split("\n")[0] == said
    assert sum(bool(said) for _, said in VERBS.values()) <= 15
    page = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert all(f"coterie {name}" in page for name, (_, said) in VERBS.items() if not said)


def test_an_unknown_setting_is_told_the_known_ones_once(texts: Path) -> None:
    said = run("cluster", texts, "--set", "foo=1", code=2).stderr
    assert says(said, "auto has no parameter 'foo'")
    known = re.sub(r"\s+", " ", said).partition("Known: ")[2].rstrip(". ").split(", ")
    assert len(known) == len(set(known)) and set(known) >= set(RARE)
    assert not {"settings", "text_column", "folder"} & set(known)


PRINTING = set(VERBS) - {"serve"}  # whose answers are those of its requests


def test_all_verbs_can_be_quiet_and_those_that_print_do_so_as_json() -> None:
    known = {words.removeprefix("coterie ").strip(): found for words, found in commands().items()}
    assert all({"--quiet", "-q"} <= known[f"{name}"] for name in VERBS)
    assert all("--json" in known[name] for name in PRINTING)
    assert {"--verbose", "-v"} <= known["serve"]


@pytest.mark.parametrize(
    "arguments",
    [
        *(["NOWHERE"], ["FILE", "--keep", "NOWHERE"], ["FILE", "--themes", "NOWHERE"]),
        *(["predict", "NOWHERE", "FILE"], ["update", "NOWHERE", "FILE"], ["cut", "NOWHERE", "3"]),
        *(["edit", "NOWHERE", "--undo"], ["name", "NOWHERE", "--with", "http://localhost:1"]),
        *(["compare", "NOWHERE", "FILE"], ["stability", "NOWHERE"], ["report", "NOWHERE"]),
        *(["export", "NOWHERE"], ["evaluate", "NOWHERE", "-l", "x"], ["serve", "NOWHERE"]),
        *(["mask", "NOWHERE"], ["mask", "FILE", "--names", "NOWHERE"]),
    ],
    ids=" ".join,
)
def test_what_is_not_there_has_one_code(arguments: list[str], texts: Path) -> None:
    if arguments[0] not in VERBS:
        arguments = ["cluster", *arguments]
    places = {"NOWHERE": texts.with_name("nowhere"), "FILE": texts}
    said = run(*(places.get(one, one) for one in arguments), code=2).output
    assert "nowhere" in said and not texts.with_name("texts.clusters").exists()
