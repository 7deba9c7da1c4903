"""Merges and splits: probabilities by the equations, and no text that moves unasked."""

from dataclasses import replace

import numpy as np
import pytest

from coterie.arrays.assign import CenterAssigner, NeighborAssigner, probabilities
from coterie.errors import DataError
from coterie.models.edited import (
    EDGE,
    Delete,
    EditedAssigner,
    Merge,
    Split,
    edited,
    restore_assigner,
)
from said import raises


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)


@pytest.fixture
def assigner(vectors: np.ndarray) -> CenterAssigner:
    return CenterAssigner(vectors[:5], scale=3.0)


def parts_of(vectors: np.ndarray, n: int) -> CenterAssigner:
    return CenterAssigner(vectors[-n:], scale=2.0)


def labels(assigner, vectors) -> np.ndarray:
    return probabilities(assigner.logits(vectors)).argmax(axis=1)


def test_without_edits_nothing_changes(assigner, vectors) -> None:
    plain, same = assigner.logits(vectors), edited(assigner, 5).logits(vectors)
    assert np.allclose(probabilities(same), probabilities(plain), atol=1e-12)
    wrapped = edited(assigner, 5)
    assert edited(wrapped, 5) is wrapped


def test_a_merge_adds_probabilities_where_that_moves_no_text(assigner, vectors) -> None:
    p = probabilities(assigner.logits(vectors))
    merged = edited(assigner, 5).then(Merge((1, 3), 1))
    q = probabilities(merged.logits(vectors))
    assert q.shape == (300, 5) and merged.clusters == [0, 1, 2, 4]
    assert (q[:, 3] == 0).all() and np.allclose(q.sum(axis=1), 1)
    before = p.argmax(axis=1)
    assert (labels(merged, vectors) == np.where(before == 3, 1, before)).all()
    for row in range(300):
        both = p[row, 1] + p[row, 3]
        if before[row] in (1, 3) or both < p[row, before[row]] * (1 - 2 * EDGE):
            assert q[row, 1] == pytest.approx(both, abs=1e-9)
        else:  # the sum would have taken the text: it stays just behind
            assert q[row, 1] == pytest.approx(q[row, before[row]] * np.exp(-EDGE), rel=1e-9)
    taken = (p[:, 1] + p[:, 3] > p.max(axis=1)) & ~np.isin(before, (1, 3))
    assert taken.any()  # otherwise the case above was not tried


def test_a_split_divides_probabilities_and_moves_no_other_text(assigner, vectors) -> None:
    p = probabilities(assigner.logits(vectors))
    parts = parts_of(vectors, 3)
    share = probabilities(parts.logits(vectors))
    split = edited(assigner, 5).then(Split(2, (2, 5, 6), parts))
    q = probabilities(split.logits(vectors))
    before = p.argmax(axis=1)
    wanted = np.where(before == 2, np.array([2, 5, 6])[share.argmax(axis=1)], before)
    assert (labels(split, vectors) == wanted).all()
    assert np.allclose(q.sum(axis=1), 1)
    out = before != 2
    assert np.allclose(q[out][:, [2, 5, 6]], p[out][:, [2]] * share[out])
    raised = (before == 2) & (p[:, 2] * share.max(axis=1) < np.delete(p, 2, axis=1).max(axis=1))
    assert raised.any()  # a part alone would have lost these to another cluster


def test_a_deletion_leaves_the_other_probabilities_in_proportion(assigner, vectors) -> None:
    p = probabilities(assigner.logits(vectors))
    deleted = edited(assigner, 5).then(Delete(3))
    q = probabilities(deleted.logits(vectors))
    assert deleted.clusters == [0, 1, 2, 4] and (q[:, 3] == 0).all()
    for row in range(300):
        rest = [p[row, i] if i != 3 else 0.0 for i in range(5)]
        assert q[row] == pytest.approx([value / sum(rest) for value in rest])
    saved = {"kind": deleted.kind, **deleted.numbers()}
    with raises(DataError, "does not exist"):
        restore_assigner(deleted.arrays(), {**saved, "steps": [{"delete": 9}]}, {})
    with raises(DataError, "does not exist"):  # none would be left
        every = [{"delete": i} for i in range(5)]
        restore_assigner(deleted.arrays(), {**saved, "steps": every}, {})


def test_steps_follow_each_other(assigner, vectors) -> None:
    before = labels(assigner, vectors)
    steps = (
        Merge((4, 0), 4),
        Split(4, (4, 5), parts_of(vectors, 2)),
        Merge((1, 5), 1),
        Split(1, (1, 6), parts_of(vectors[:50], 2)),
    )
    chain = edited(assigner, 5).then(*steps)
    assert chain.clusters == [1, 2, 3, 4, 6] and chain.width == 7
    after = labels(chain, vectors)
    assert set(after) <= {1, 2, 3, 4, 6}
    for kept in (2, 3):
        assert ((after == kept) == (before == kept)).all()


def test_numbers_may_be_others_than_columns(assigner, vectors) -> None:
    placed = EditedAssigner(assigner, (7, 2, 9, 3, 11))
    p = probabilities(placed.logits(vectors))
    assert p.shape == (300, 12) and placed.clusters == [2, 3, 7, 9, 11]
    assert (p.argmax(axis=1) == np.array([7, 2, 9, 3, 11])[labels(assigner, vectors)]).all()
    assert (p[:, [0, 1, 4, 5, 6, 8, 10]] == 0).all()


def test_clusters_in_use_are_always_ahead_of_retired_ones(vectors) -> None:
    certain = CenterAssigner(vectors[:5] * 100, scale=1e-4)
    p = probabilities(edited(certain, 5).then(Merge((1, 3), 1)).logits(vectors))
    assert (p[:, [0, 1, 2, 4]] > 0).all() and (p[:, 3] == 0).all()


def test_everything_may_be_merged(assigner, vectors) -> None:
    one = edited(assigner, 5).then(Merge((2, 0, 1, 3, 4), 2))
    assert (labels(one, vectors) == 2).all()
    assert np.allclose(probabilities(one.logits(vectors))[:, 2], 1)


@pytest.mark.parametrize("kind", ["centers", "neighbors"])
def test_a_saved_rule_gives_the_same_logits(kind, assigner, vectors) -> None:
    inner = (
        assigner if kind == "centers" else NeighborAssigner(vectors[:50], np.arange(50) % 5, 2.0)
    )
    steps = (
        Split(1, (1, 5), parts_of(vectors, 2)),
        Merge((0, 5), 0),
        Split(0, (0, 6), parts_of(vectors[:80], 2)),
        Delete(6),
    )
    chain = edited(inner, 5).then(*steps)
    again = restore_assigner(chain.arrays(), {"kind": chain.kind, **chain.numbers()}, {})
    assert np.array_equal(again.logits(vectors), chain.logits(vectors))
    assert again.clusters == chain.clusters


CUT = {0: 9, 1: 9, 2: 2, 3: 7, 4: 7}


def test_a_cut_adds_probabilities_and_the_own_cluster_leads(assigner, vectors) -> None:
    shown = replace(edited(assigner, 5), cut=CUT)
    assert shown.clusters == [2, 7, 9] and shown.leaves == [0, 1, 2, 3, 4]
    p, q = (probabilities(a.logits(vectors)) for a in (assigner, shown))
    assert q.shape == (300, 10) and (q[:, [0, 1, 3, 4, 5, 6, 8]] == 0).all()
    led = 0
    for row in range(300):
        sums = {9: p[row, 0] + p[row, 1], 2: p[row, 2], 7: p[row, 3] + p[row, 4]}
        own = CUT[int(p[row].argmax())]
        assert q[row].argmax() == own
        if sums[own] < max(sums.values()):  # the sum of another is larger: it stays just behind
            led += 1
            sums[own] = max(sums.values()) * np.exp(EDGE)
        total = sum(sums.values())
        assert [q[row, i] for i in sums] == pytest.approx([s / total for s in sums.values()])
    assert led  # otherwise the case above was not tried


def test_a_cut_follows_steps_and_may_come_alone(assigner, vectors) -> None:
    steps = Merge((1, 3), 6), Split(2, (2, 5), parts_of(vectors, 2))
    finest = edited(assigner, 5).then(*steps)
    shown = replace(finest, cut={0: 0, 6: 8, 4: 8, 2: 0, 5: 5})
    before, after = labels(finest, vectors), labels(shown, vectors)
    assert {*before} <= {*shown.leaves} == {0, 2, 4, 5, 6} and shown.clusters == [0, 5, 8]
    assert (after == [shown.cut[i] for i in before]).all()
    assert np.array_equal(shown.finest_logits(vectors), finest.logits(vectors))
    saved = {"kind": shown.kind, **shown.numbers()}
    again = restore_assigner(shown.arrays(), saved, {})
    assert np.array_equal(again.logits(vectors), shown.logits(vectors)) and again.cut == shown.cut
    with raises(DataError, "cut", "other clusters"):
        restore_assigner(shown.arrays(), {**saved, "cut": [[0, 0], [6, 8]]}, {})


@pytest.mark.parametrize("confidence", [0.6, 0.9])
def test_confidence_is_set_for_the_clusters_that_are_shown(assigner, vectors, confidence) -> None:
    cut = {0: 7, 1: 7, 2: 2, 3: 3, 4: 3}
    before = replace(edited(assigner, 5), cut=cut)
    after = before.calibrated(vectors, confidence)
    assert abs(probabilities(after.logits(vectors)).max(axis=1).mean() - confidence) < 1e-3
    assert np.array_equal(labels(after, vectors), labels(before, vectors))
    assert before.calibrated(vectors, 0.0).sharpness == pytest.approx(1e-3)  # as flat as it gets
    arrays, numbers = after.arrays(), {"kind": after.kind, **after.numbers()}
    again = restore_assigner(arrays, numbers, {})
    assert np.allclose(again.logits(vectors), after.logits(vectors))
