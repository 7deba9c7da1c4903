"""What new texts change, cluster by cluster."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.describe.drift import find_drift, read_share
from coterie.errors import UsageError
from said import raises

FRUIT = [f"{a} {b}" for a in ("red", "green", "ripe", "sweet") for b in ("apple", "pear", "plum")]
CARS = [f"{a} {b}" for a in ("fast", "slow", "old", "new") for b in ("car", "truck", "bus")]
NAMES = {0: "Fruit", 4: "Cars"}


def old() -> tuple[list[str], np.ndarray]:
    return FRUIT * 5 + CARS * 5, np.repeat([0, 4], 60)


def test_the_same_again_is_no_change() -> None:
    texts, labels = old()
    found = find_drift(texts, labels, texts[::5], labels[::5], NAMES, 1, False)
    assert [shift.change for shift in found.clusters] == ["", ""]
    assert not found.alarm
    assert found.share == 1 / 24
    assert all(not shift.entered and not shift.left for shift in found.clusters)


def test_what_grows_shrinks_and_is_new() -> None:
    texts, labels = old()
    boats = ["old boat sails"] * 12
    new = CARS * 4 + FRUIT[:2] + boats
    clusters = np.repeat([4, 0, 9], [48, 2, 12])
    found = find_drift(texts, labels, new, clusters, NAMES | {9: "Boats"}, 12, True)
    assert {s.name: s.change for s in found.clusters} == {
        "Boats": "new",
        "Cars": "grew",
        "Fruit": "shrank",
    }
    assert found.alarm
    assert found.clusters[0].name == "Boats"
    assert (found.texts, found.strange) == (62, 12)
    assert len(found.sentences()) >= 4
    assert found.to_dict()["alarm"] is True


def test_a_change_must_show_against_unseen_old_texts_as_well() -> None:
    """All fruit of the fit is in a cluster that no other text would be put into."""
    texts, labels = old()
    cars = np.full(60, 4)
    fits = {"unseen": np.full(120, 4)}, {"unseen": labels}
    found = [find_drift(texts, labels, CARS * 5, cars, NAMES, 0, False, **fit) for fit in fits]
    assert [{s.name: s.change for s in one.clusters} for one in found] == [
        {"Fruit": "", "Cars": ""},
        {"Fruit": "shrank", "Cars": "grew"},
    ]
    assert [one.loose for one in found] == [[0, 4], []]


def test_words_that_enter_and_leave() -> None:
    texts, labels = old()
    new = [f"{text} electric" for text in CARS if "old" not in text] * 8
    found = find_drift(texts, labels, new, np.full(len(new), 4), NAMES, 0, False)
    cars = next(shift for shift in found.clusters if shift.name == "Cars")
    assert "electric" in cars.entered
    assert "old" in cars.left


def test_rows_without_a_cluster_do_not_count() -> None:
    texts, labels = old()
    odd = np.where(np.arange(120) % 2, labels, -1)
    found = find_drift(texts, odd, texts, np.full(120, -1), NAMES, 0, False)
    assert found.texts == 0
    assert found.share == 0


@pytest.mark.parametrize("given", ["ten", "-1%", "101%", 1.5, "nan"])
def test_bad_shares(given: object) -> None:
    with raises(UsageError, "give a share from"):
        read_share(given)
