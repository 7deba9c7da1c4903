"""Options that cannot work: refused in the words of the command, before anything is written."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from by_key import raises, says
from coterie._validation import check_device
from coterie.cli import app
from coterie.cli.app import VERBS
from coterie.cli.cluster import SPELLED
from coterie.errors import UsageError, param
from coterie.methods import TwoStep

HUGE = "9" * 5000


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """35 texts, of which three come again in capitals."""
    lines = [f"message number {i} about topic{i % 5}" for i in range(10, 45)]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join([*lines, *(line.upper() for line in lines[:3])]))
    return path


def refused(path: Path, *options: str, code: int = 2) -> str:
    """What ``cluster`` says; it has left nothing behind."""
    out = path.parent / "run"
    arguments = ["cluster", str(path), "--out", str(out), "--method", "kmeans", *options]
    if "--encoder" not in options:
        arguments += ["--encoder", "tfidf"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)
    assert not out.exists()
    return result.output


@pytest.mark.parametrize("clusters", ["36", "38", "99999"])
def test_more_clusters_than_texts(texts: Path, clusters: str) -> None:
    """Fitting would find 35 texts: capitals are nothing to the encoder."""
    said = refused(texts, "-k", clusters, code=3)
    assert says(said, "cluster.few_texts", distinct=35)
    assert f"--clusters {clusters}" in said and "n_clusters" not in said


@pytest.mark.parametrize("finest", [36, 39])
def test_levels_count_texts_as_fitting_does(texts: Path, finest: int) -> None:
    said = refused(texts, "--levels", f"5,{finest}")
    assert says(said, "cluster.levels_few_texts", distinct=35) and "--levels" in said


def test_as_many_clusters_as_texts_is_enough(texts: Path) -> None:
    out = texts.parent / "run"
    options = ["-k", "35", "--method", "kmeans", "--encoder", "tfidf", "--out", str(out)]
    result = CliRunner().invoke(app, ["cluster", str(texts), *options])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-k", "²"], "--clusters should be a whole number"),
        (["-k", "٣"], "--clusters should be a whole number"),
        (["-k", HUGE], "--clusters should be a whole number"),
        (["-k", "0"], "--clusters should be a whole number"),
        (["--levels", f"5,{HUGE}"], "--levels"),
        (["-k", "3", "--set", "random_state=x"], "--seed should be an integer"),
        (["-k", "3", "--set", "random_state=[1]"], "--seed should be an integer"),
        (["-k", "3", "--device", "mps"], "--device should be auto, cpu or cuda"),
        (["-k", "3", "--device", "cuda:99"], "--device cuda:99: torch sees"),
        (["-k", "3", "--set", "n_init=0"], "--set n_init should be an integer of at least 1"),
        (["-k", "3", "--set", "max_length=" + "9" * 40], "--set max_length should be at most"),
        (["-k", "3", "--set", "n_clusters=4"], "--clusters is given twice"),
        (["-k", "3", "--set", "seed=1", "--set", "random_state=2"], "--seed 1 and random_state 2"),
        (["-k", "3", "--set", "mask=maybe"], "--mask should be true or false"),
        (["-k", "3", "--set", "fit_sample=-1"], "--set fit_sample should be an integer"),
    ],
)
def test_messages_speak_of_options(texts: Path, options: list[str], said: str) -> None:
    found = refused(texts, *options)
    assert said in re.sub(r"\s+", " ", found)
    assert not re.search(r"\b(device|n_clusters|random_state|encoder)=", found.split("got")[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["--encoding", "cp1252"], "--set encoding=cp1252"),
        (["--no-header"], "--set header=False"),
        (["--write", "tsv,jsonl"], "--set write=tsv,jsonl"),
        (["--fit-sample", "20"], "--set fit_sample=20"),
        (["--include-encoder"], "--set include_encoder=True"),
    ],
)
def test_an_option_that_goes_works_and_says_how_it_is_spelled_now(
    texts: Path, old: list[str], new: str
) -> None:
    texts.write_bytes("\n".join(["name", *(f"caf\xe9 {i}" for i in range(40))]).encode("cp1252"))
    command = ["cluster", str(texts), "-k", "3", "-m", "kmeans", "--encoder", "tfidf"]
    command += [] if "--encoding" in old else ["--set", "encoding=cp1252"]
    files = {}
    for name, options in (("old", old), ("new", new.split())):
        out = texts.parent / name
        result = CliRunner().invoke(app, [*command, "--out", str(out), *options])
        assert result.exit_code == 0, result.output
        assert (f"use {new}." in result.stderr) == (name == "old")
        files[name] = {p.name: p.read_bytes() for p in out.glob("assignments.*")}
    assert files["old"] == files["new"]


def test_help_of_cluster_is_two_screens() -> None:
    said = CliRunner().invoke(app, ["cluster", "--help"], env={"COLUMNS": "80"}).output
    assert len(said.splitlines()) <= 100
    assert len(re.findall(r"^│ --[a-z]", said, re.MULTILINE)) <= 25  # --help is one of them
    listed = re.search(r"or (effort.*?)\. Repeatable", re.sub(r"[│\s]+", " ", said))
    assert listed is not None and set(listed[1].split(", ")) == SPELLED


def test_the_list_of_verbs_says_what_each_says_of_itself() -> None:
    group = typer.main.get_command(app)
    for name, (_, said) in VERBS.items():
        command = group.commands[name]
        assert command.hidden == (not said)
        assert not said or command.help.split("\n")[0] == said
    assert sum(bool(said) for _, said in VERBS.values()) <= 16


def test_an_encoder_that_is_not_there_leaves_nothing_behind(texts: Path) -> None:
    said = refused(texts, "-k", "3", "--encoder", "nosuch/encoder", code=1)
    assert "--encoder nosuch/encoder" in said and "--encoder hub:nosuch/encoder" in said


def test_python_names_stay_in_python() -> None:
    with raises(UsageError, "argument.bad_device"):
        check_device("mps")
    with raises(UsageError, "argument.bad_seed"):
        TwoStep(2, encoder="tfidf", random_state="x").fit(["a cat", "a dog"])
    error = UsageError(f"{param('n_clusters', 3)} or {param('device')}.")
    assert str(error) == "n_clusters=3 or device."
    assert error.shown(lambda name, value: name.upper()) == "N_CLUSTERS or DEVICE."
