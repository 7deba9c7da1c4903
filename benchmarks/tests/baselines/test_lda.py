"""LDA: shares as clusters, and the method."""

import numpy as np

from coterie.arrays.assign import make_assigner, probabilities
from coterie_bench.baselines.lda import ShareAssigner, fair_handicap


def test_shares_are_the_probabilities() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
    assigner = ShareAssigner(np.zeros(4), np.arange(4))
    np.testing.assert_allclose(probabilities(assigner.logits(shares)), shares)
    order = np.array([3, 1, 0, 2])
    moved = assigner.reordered(order)
    np.testing.assert_allclose(probabilities(moved.logits(shares)), shares[:, order])
    again = make_assigner(
        moved.arrays(), {"kind": moved.kind, **moved.numbers()}, {"shares": ShareAssigner}
    )
    np.testing.assert_array_equal(again.logits(shares), moved.logits(shares))


def test_by_hand() -> None:
    # Nobody's largest topic is the third; the second text lacks least: 0.5 against 0.4.
    shares = np.array([[0.9, 0.05, 0.05], [0.5, 0.1, 0.4], [0.1, 0.8, 0.1]])
    handicap = fair_handicap(shares)
    np.testing.assert_allclose(handicap, [0, 0, np.log(0.5 / 0.4)], atol=1e-5)
    assigner = ShareAssigner(handicap, np.arange(3))
    assert assigner.logits(shares).argmax(axis=1).tolist() == [0, 2, 1]


def test_every_topic_gets_a_text_and_none_is_raised_without_need() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        shares = rng.dirichlet(np.full(8, 0.1), size=30)
        handicap = fair_handicap(shares)
        labels = (np.log(np.maximum(shares, 1e-30)) + handicap).argmax(axis=1)
        assert len(set(labels.tolist())) == 8
        used = set(shares.argmax(axis=1).tolist())
        if len(used) == 8:
            assert not handicap.any()
