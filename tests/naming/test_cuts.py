"""Names by a language model in a run with a merge tree: they stay when the cut moves."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import coterie
from commands import run
from coterie.clustering import read


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that shows the medium level of a merge tree, with a broad and a fine one."""
    rng = np.random.default_rng(0)
    themes, matters = "card loan parcel heating garden music", "lost late refund broken stolen"
    days = "monday tuesday winter summer".split()
    texts = [
        f"{theme} {matter} {rng.choice(days)} {theme}s {matter}"
        for theme in themes.split()
        for matter in matters.split()
        for _ in range(12)
    ]
    folder = tmp_path_factory.mktemp("grown") / "run"
    coterie.cluster(texts, encoder="tfidf", folder=folder, verbose=0)
    return folder


@pytest.fixture
def done(grown: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(grown, tmp_path / "run"))


def names(folder: Path) -> dict[int, str]:
    """Of all clusters, whatever cut shows them."""
    tree = read(folder).tree
    assert tree is not None
    return tree.names


def test_names_stay_when_the_cut_moves_and_no_cut_has_one_twice(server, done: Path) -> None:
    own = names(done)
    tree = read(done).tree
    run("name", done, "--with", server.url)  # the same name for all
    given = names(done)
    asked = {*tree.shown(), *tree.shown("broad")}
    assert {i for i in own if own[i] != given[i]} == asked
    for cut in ("fine", "broad", "medium"):
        run("cut", done, cut)
        assert names(done) == given
    run("cut", done, "fine")
    run("name", done, "--with", server.url)
    assert len({name.casefold() for name in names(done).values()}) == len(own)


def test_a_name_of_the_user_stays_in_every_cut(server, done: Path) -> None:
    coterie.edit(done, [{"rename": {2: "Mine"}}])
    run("cut", done, "fine")
    server.plan = [server.say("Mine")]
    run("name", done, "--with", server.url)
    found = names(done)
    assert found[2] == "Mine" and list(found.values()).count("Mine") == 1
    run("name", done, "--own-names")
    assert names(done)[2] == "Mine"


def test_own_names_come_back_on_every_level(server, done: Path) -> None:
    own = read(done).tree
    run("name", done, "--with", server.url)
    run("name", done, "--own-names")
    assert read(done).tree == own
