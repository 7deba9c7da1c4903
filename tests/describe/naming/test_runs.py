"""``coterie name`` on flat runs and on runs with a merge tree: everywhere, and taken back."""

import json
import shutil
from pathlib import Path

import pytest

import coterie
from commands import rows, run
from coterie.runs.store import read

HOSTILE = ["Early <script>alert(1)</script>", "=cmd()\x1b[2J two", "Three"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    folder = tmp_path_factory.mktemp("names")
    coterie.cluster(topics[0], 3, encoder="tfidf", folder=folder / "run", verbose=0)
    return folder / "run"


@pytest.fixture
def done(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that shows the medium level of a merge tree, with a broad and a fine one."""
    themes, matters = "card loan parcel heating garden music", "lost late refund broken stolen"
    texts = [
        f"{theme} {matter} {day} {theme}s {matter}"
        for theme in themes.split()
        for matter in matters.split()
        for day in "monday tuesday winter summer morning evening june july noon night".split()
    ]
    folder = tmp_path_factory.mktemp("grown") / "run"
    coterie.cluster(texts, encoder="tfidf", folder=folder, verbose=0)
    return folder


def names(folder: Path) -> list[str]:
    return [cluster.name for cluster in read(folder).clusters]


def test_a_run_gets_names_everywhere_and_undo_takes_them_back(
    server, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.describe.naming.namer.AT_ONCE", 1)  # answers in order
    own, clusters = names(done), (done / "clusters.json").read_bytes()
    server.plan = [server.say(name, f"Texts about <b>{name[0]}</b>.") for name in HOSTILE]
    run("name", done, "--with", server.url)
    given = names(done)
    assert set(given) == {HOSTILE[0], "cmd() [2J two", "Three"}
    assert all(row["name"] == given[int(row["cluster"])] for row in rows(done))
    page = (done / "report.html").read_text()
    assert "&lt;script&gt;alert(1)" in page and "<script>alert(1)" not in page
    assert "Texts about &lt;b&gt;T" in page and "tiny at" in page
    facts = json.loads((done / "manifest.json").read_text())["names"]
    assert facts["before"] == {str(i): name for i, name in enumerate(own)}
    run("edit", done, "--undo")
    assert names(done) == own and (done / "clusters.json").read_bytes() == clusters


def test_show_request_sends_nothing_and_shows_all(server, done: Path) -> None:
    command = ["name", done, "--with", server.url, "--model", "m", "--language", "German"]
    shown = run(*command, "--prompt", "Like shelves in a shop.", "--show-request")
    assert server.seen == []
    bodies = [json.loads(line) for line in shown.stdout.splitlines()]
    told = bodies[0]["messages"][0]["content"]
    assert told.startswith("Like shelves in a shop. Answer with JSON") and "in German." in told
    run(*command, "--prompt", "Like shelves in a shop.")
    assert sorted(map(str, server.seen)) == sorted(map(str, bodies))


def test_names_of_the_user_stay(server, done: Path) -> None:
    coterie.edit(done, [{"rename": {1: "Mine"}}])
    server.plan = [server.say("Mine")]
    run("name", done, "--with", server.url)
    assert names(done)[1] == "Mine" and len({name.casefold() for name in names(done)}) == 3
    assert len(server.seen) == 3  # two clusters, and the union of two on the broad level


def test_what_was_answered_before_a_failure_is_kept(server, done: Path) -> None:
    own = names(done)
    server.plan = [server.by_word, server.fail(400)]
    result = run("name", done, "--with", server.url, "--model", "m", code=1)
    assert "400" in result.output and len(set(names(done)) & set(own)) >= 2


def test_in_a_merge_tree_names_stay_when_the_cut_moves(server, grown: Path, tmp_path) -> None:
    done = Path(shutil.copytree(grown, tmp_path / "run"))
    before, tree = read(done).all_names, read(done).tree
    server.plan = [server.say("One name for all")]
    run("name", done, "--with", server.url)
    given = read(done).all_names
    asked = {*tree.shown(), *tree.shown("broad")}
    assert {i for i in given if before[i] != given[i]} == asked
    assert len({name.casefold() for name in given.values()}) == len(given)
    for cut in ("fine", "broad"):
        run("cut", done, cut)
        assert read(done).all_names == given
    run("edit", done, "--undo")
    run("edit", done, "--undo")
    run("edit", done, "--undo")
    assert (read(done).all_names, read(done).tree) == (before, tree)


def test_levels_of_a_flat_run_are_named(server, topics, tmp_path: Path) -> None:
    out = tmp_path / "run"
    coterie.cluster(topics[0], encoder="tfidf", folder=out, levels=(2, 3), verbose=0)
    run("name", out, "--with", server.url)
    level = coterie.Run(out).levels[0]
    assert len(server.seen) == 4  # one group holds two clusters; the other is called as its one
    assert {group.name for group in level} & set(names(out)) and all(
        group.name.startswith("About") for group in level
    )


@pytest.mark.parametrize("url", ["nonsense", "http://u:p@x/v1"])
def test_bad_usage(done: Path, url: str) -> None:
    run("name", done, "--with", url, code=2)


def test_what_is_no_finished_run(tmp_path: Path) -> None:
    run("name", tmp_path, "--with", "http://localhost:1/v1", code=3)
