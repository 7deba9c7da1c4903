"""Figures: what is drawn is what was measured, and watching a training does not change it."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from coterie.arrays.neighbors import unit_rows
from coterie.errors import UsageError
from coterie_bench.analysis import average_precision, reciprocal_rank
from coterie_bench.data import Data
from coterie_bench.figures import Short, draw_all, papers
from coterie_bench.figures.picture import (
    Bars,
    Lines,
    Picture,
    Points,
    save,
)
from coterie_bench.figures.short import first_and_last

pytest.importorskip("matplotlib", reason="figures need: pip install 'coterie[plots]'")
FAST = {
    "encoder": "tfidf", "steps": 12, "batch_size": 30, "epochs": 4, "ae_steps": 10,
    "word_dim": 10, "refresh_epochs": 1, "head_lr": 0.01,
}  # fmt: skip


@pytest.fixture(scope="module")
def short(topics) -> Short:
    texts, labels = topics
    data = Data("topics", "0", texts, labels, 3, np.ones(len(texts), dtype=bool))
    return Short(data=data, parameters=FAST, device="cpu")


@pytest.mark.parametrize("method", ["sccl", "aecl", "deccrl", "adsl", "cluster-bert"])
def test_watching_changes_no_label_and_sees_start_and_end(short: Short, method: str) -> None:
    sizes: list[tuple[int, ...]] = []
    watched, alone = short.make(method), short.make(method)
    seen = short.trace(
        watched, lambda net, v: {"mode": float(sizes.append(v.shape) or net.training)}
    )
    alone.fit(short.data.texts)
    np.testing.assert_array_equal(watched.labels_, alone.labels_)
    np.testing.assert_allclose(watched.vectors_, alone.vectors_, rtol=1e-6)
    steps = [row["step"] for row in seen]
    assert steps[0] == 0 and steps == sorted(set(steps)) and len(steps) > 2
    assert steps[-1] == sum({r["stage"]: r["step"] for r in alone.history_.rows
                             if "terms" in r and r["stage"] != "autoencoder"}.values())  # fmt: skip
    assert {row["mode"] for row in seen} == {0.0}  # dropout is off while looking
    assert {size[0] for size in sizes} == {90}
    assert "stages" not in vars(watched)


def test_cosines_inside_classes() -> None:
    """By hand: two right angles and a pair of opposites; then against the loop."""
    v = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [-1.0, 0.0], [5.0, 5.0]])
    labels = torch.tensor([0, 0, 1, 1, 2])
    assert papers.cosine_inside(v, labels) == pytest.approx((0 + -1) / 2)
    rng = np.random.default_rng(0)
    v, labels = torch.from_numpy(rng.normal(size=(20, 4))), torch.from_numpy(rng.integers(0, 3, 20))
    total, pairs = 0.0, 0
    for i in range(20):
        for j in range(20):
            if i != j and labels[i] == labels[j]:
                total += float(v[i] @ v[j] / (v[i].norm() * v[j].norm()))
                pairs += 1
    assert papers.cosine_inside(v, labels) == pytest.approx(total / pairs)


def test_pairs_of_texts_are_counted_by_class(short: Short) -> None:
    before, after = (unit_rows(v) for v in first_and_last(short, "cluster-bert", "fast"))
    means, shares = (panel.series for panel in papers.cluster_bert_pairs(short).panels)
    alike = short.truth[:, None] == short.truth
    kinds = {"one class": alike & ~np.eye(len(alike), dtype=bool), "two classes": ~alike}
    for kind, own in kinds.items():
        for i, units in enumerate((before, after)):
            cosines = (units @ units.T)[own]  # all pairs; the figure draws some at random
            assert means[kind][i] == [i, pytest.approx(cosines.mean(), abs=0.01)]
            assert shares[kind][i] == [i, pytest.approx((cosines >= 0.5).mean(), abs=0.01)]


def test_ranking_equals_the_loop_and_a_value_by_hand() -> None:
    questions = papers.Questions(["q", "a", "b", "c"], [0], [[1, 2, 3]], [[0, 1, 1]])
    units = np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=np.float64)
    # cosines 0.8, 0, 0.6: the right ones are at places 3 and 2
    assert papers.rank(units, questions) == pytest.approx(
        {"MAP": 100 * (1 / 2 + 2 / 3) / 2, "MRR": 50}
    )
    rng = np.random.default_rng(0)
    units = rng.normal(size=(12, 4))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    rows = [[1, 2, 3, 4], [5, 6, 7, 8]]
    many = papers.Questions([""] * 12, [0, 9], rows, [[1, 0, 1, 0], [0, 0, 0, 1]])
    found = []
    for query, candidates, right in zip(many.queries, rows, many.right, strict=True):
        cosines = [float(units[i] @ units[query]) for i in candidates]
        found.append((average_precision(cosines, right), reciprocal_rank(cosines, right)))
    expected = [100 * sum(pair[i] for pair in found) / 2 for i in (0, 1)]
    assert list(papers.rank(units, many).values()) == pytest.approx(expected)


EVERY = Picture(
    title="all kinds", subtitle="seed 0", about="by hand", columns=2,
    panels=[
        Lines(x="step", y="ACC in %", series={"a": [[0, 1.0], [5, 2.123456789]]}, log=False),
        Lines(x="stage", y="NMI", series={"a": [[0, 1.0, 0.5]]}, ticks=["start"], title="t"),
        Bars(y="ACC in %", groups={"tweet": {"a": [1.0, 0.1]}}),
        Points(x=[1, 2], y=[3, 4], classes=[0, 1]),
    ],
)  # fmt: skip


def test_files_are_the_same_every_time(tmp_path: Path) -> None:
    written = [save(EVERY, folder, "f") for folder in (tmp_path / "a", tmp_path / "b")]
    for first, second in zip(*written, strict=True):
        assert first.read_bytes() == second.read_bytes()
    numbers, drawn = written[0]
    assert ElementTree.parse(drawn).getroot().tag.endswith("svg")
    panels = json.loads(numbers.read_text("utf-8"))["panels"]
    assert panels[0]["series"]["a"][1] == [5, 2.1235]  # what can be seen


def test_figures_that_need_a_run_say_so(tmp_path: Path) -> None:
    told: list[str] = []
    assert draw_all(tmp_path, tmp_path, only=["aecl-stray"], tell=told.append) == []
    assert told == ["aecl-stray (AECL, Figure 6) needs a run: name a data set with --dataset"]
    with pytest.raises(UsageError, match="Did you mean 'aecl-stray'"):
        draw_all(tmp_path, tmp_path, only=["aecl-stary"])
