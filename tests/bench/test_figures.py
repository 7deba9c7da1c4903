"""Figures: what is drawn is what was measured, and watching a training does not change it."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from coterie._errors import UsageError
from coterie.bench.data import Data, load_data
from coterie.bench.figures import FIGURES, Short, aecl, cut, deccrl, draw_all, sccl
from coterie.bench.figures import adsl as adsl_figures
from coterie.bench.figures import cluster_bert as cluster_bert_figures
from coterie.bench.figures.draw import draw_bars, new_figure, save
from coterie.bench.figures.lines import bars_of, curves_of
from coterie.bench.figures.maps import place
from coterie.bench.tables import Cell
from coterie.cli import app
from coterie.metrics import accuracy, cluster_distances

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


def line(label: str, method: str, dataset: str, seed: int, acc: float) -> dict:
    return {
        "label": label, "method": method, "preset": None, "parameters": {}, "dataset": dataset,
        "dataset_sha256": "0", "seed": seed, "scores": {"acc": acc, "nmi": acc / 2},
        "date": "2026-11-15", "commit": "abc", "hardware": {"cores": 2},
    }  # fmt: skip


@pytest.mark.parametrize("method", ["sccl", "aecl", "deccrl", "adsl"])
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


def test_distances_at_the_start_are_those_of_the_encoder(short: Short) -> None:
    seen = sccl.trace_distances(short)
    model = short.make("sccl", steps=0).fit(short.data.texts)
    expected = cluster_distances(model.vectors_, short.truth)
    assert seen[0]["intra true"] == pytest.approx(expected["intra"], rel=1e-5)
    assert seen[0]["inter true"] == pytest.approx(expected["inter"], rel=1e-5)
    assert seen[-1]["inter predicted"] != pytest.approx(seen[0]["inter predicted"], rel=1e-6)


def test_cosines_inside_classes() -> None:
    """By hand: two right angles and a pair of opposites; then against the loop."""
    v = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [-1.0, 0.0], [5.0, 5.0]])
    labels = torch.tensor([0, 0, 1, 1, 2])
    assert aecl.cosine_inside(v, labels) == pytest.approx((0 + -1) / 2)
    rng = np.random.default_rng(0)
    v, labels = torch.from_numpy(rng.normal(size=(20, 4))), torch.from_numpy(rng.integers(0, 3, 20))
    total, pairs = 0.0, 0
    for i in range(20):
        for j in range(20):
            if i != j and labels[i] == labels[j]:
                total += float(v[i] @ v[j] / (v[i].norm() * v[j].norm()))
                pairs += 1
    assert aecl.cosine_inside(v, labels) == pytest.approx(total / pairs)


def test_attention_is_shared_out(short: Short) -> None:
    seen = aecl.trace_stray(short)
    assert {row["stage"] for row in seen} == {"contrast"}
    for row in seen:
        assert row["NS"] + row["PS"] == pytest.approx(1) and 0 < row["PS"] < 1
    # Of 30 texts about a third are of one's own class: even attention gives PS near 1/3.
    assert seen[0]["PS"] == pytest.approx(1 / 3, abs=0.1)


def test_hard_labels_stay_those_of_the_start(short: Short) -> None:
    """NN+one never refreshes its labels, and looking at them is no reason to."""
    hard = replace(short, parameters={**FAST, "variant": "one"})
    seen = adsl_figures.trace_labels(hard)
    start = hard.make("adsl").fit(short.data.texts).start_labels_
    assert len(seen) > 3
    for row in seen:
        assert row["ACC"] == pytest.approx(100 * accuracy(short.data.labels, start))
    sure = hard.trace(hard.make("adsl"), lambda net, _: {"least": float(net.target.amax(1).min())})
    assert {row["least"] for row in sure} == {1.0}
    soft = adsl_figures.trace_labels(short)  # one refresh an epoch, none after the last
    assert [row["step"] for row in soft] == [0, 3, 6, 9, 12]


def test_stages_of_cluster_bert_are_in_order(short: Short) -> None:
    seen = cluster_bert_figures.trace_stages(short)
    assert [row["stage"] for row in seen] == ["start", "adapt", "cluster-1", "cluster-2", "harden"]
    assert all(0 <= row["nmi"] <= 1 and 0 <= row["acc"] <= 1 for row in seen)


def test_topics_have_a_row_for_each_cluster(short: Short) -> None:
    rows = deccrl.topic_table(short).splitlines()
    assert len(rows) == 2 + 3 and rows[0].startswith("| cluster | topic 1 |")
    assert len(rows[2].split("|")[2].split(",")) == deccrl.WORDS


def test_equal_vectors_share_a_point() -> None:
    v = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    v[7] = v[3]
    points = place(v)
    np.testing.assert_array_equal(points[7], points[3])
    assert len(np.unique(points, axis=0)) == 29


def test_bars_are_as_high_as_the_means() -> None:
    rows = [line("SCCL", "sccl", "tweet", 0, 0.8), line("SCCL", "sccl", "tweet", 1, 0.9),
            line("instances only", "sccl", "tweet", 0, 0.6)]  # fmt: skip
    figure = sccl.objectives(rows)
    acc, nmi = figure.axes
    assert [patch.get_height() for patch in acc.patches] == pytest.approx([85, 60])
    assert [patch.get_height() for patch in nmi.patches] == pytest.approx([42.5, 30])
    assert bars_of(rows[:2], "sccl", ["SCCL", "instances only"], "") is None  # nothing to compare
    assert sccl.strengths(rows) is None


def test_bars_that_are_missing_leave_a_gap() -> None:
    _, (axes,) = new_figure()
    a, b = Cell(1.0, 0.0, 1), Cell(2.0, 0.0, 1)
    draw_bars(axes, {"x": {"p": a, "q": b}, "y": {"q": a}}, "", "")
    centers = [patch.get_x() + patch.get_width() / 2 for patch in axes.patches]
    assert centers == pytest.approx([-0.2, 0.2, 1.2])


def test_sweeps_go_through_the_points() -> None:
    rows = [line(f"{t} topics", "deccrl", "stackoverflow", 0, t / 100) for t in (20, 1, 10)]
    rows.append(line("DECCRL", "deccrl", "stackoverflow", 0, 0.05))  # has 5
    (axes,) = deccrl.topics(rows).axes
    (curve,) = axes.lines
    assert list(curve.get_xdata()) == [1, 5, 10, 20] and axes.get_xscale() == "log"
    np.testing.assert_allclose(curve.get_ydata(), [1, 5, 10, 20])
    assert curves_of(rows[:1], "deccrl", {"topics": deccrl.TOPICS}, "") is None


def test_the_sensitivity_suite_has_what_its_figures_draw() -> None:
    from coterie.bench import SUITES

    entries = SUITES["sensitivity"].entries
    rows = [line(e.label, e.method, "stackoverflow", 0, 0.5) for e in entries]
    panels = [a.get_xlabel() for a in aecl.sensitivity(rows).axes]
    assert panels == ["contrast_weight", "label_weight", "entropy_weight", "balance_weight",
                      "contrast_epochs", "label_epochs"]  # fmt: skip
    (panel,) = adsl_figures.sharpness(rows).axes
    assert list(panel.lines[0].get_xdata()) == [1, 2, 5, 10, 20, 50]


def test_files_are_the_same_every_time(tmp_path: Path) -> None:
    written = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        figure, (axes,) = new_figure()
        axes.plot([1, 2], [3, 4])
        written.append(save(figure, folder, "f"))
    for first, second in zip(*written, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert ElementTree.parse(written[0][0]).getroot().tag.endswith("svg")


def test_a_part_of_the_sample_is_drawn(tmp_path: Path) -> None:
    part = cut(load_data("sample", None), 60, seed=1)
    assert len(part.texts) == 60 and "none" not in part.labels
    assert part.n_clusters == len(set(part.labels))
    settings = [f"{k}={v}" for k, v in FAST.items() if k != "encoder"]
    done = CliRunner().invoke(app, [
        "bench", "figures", "--dataset", "sample", "--limit", "60", "--encoder", "tfidf",
        "--out", str(tmp_path), "--results", str(tmp_path), "--device", "cpu",
        "--only", "sccl-map,sccl-distances,deccrl-silhouettes,aecl-similarity,sccl-objectives",
        *(word for s in settings for word in ("--set", s)),
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    drawn = ("sccl-map", "sccl-distances", "deccrl-silhouettes", "aecl-similarity")
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{n}.{s}" for n in drawn for s in ("svg", "png")
    }
    assert (
        "sccl-objectives (SCCL, Figure 3) has no lines: coterie bench sccl-ablations" in done.output
    )
    svg = (tmp_path / "deccrl-silhouettes.svg").read_text()
    assert "without CRL, with LSR" in svg and "silhouette" in svg


def test_figures_that_need_a_run_say_so(tmp_path: Path) -> None:
    told: list[str] = []
    assert draw_all(tmp_path, [], only=["aecl-stray"], tell=told.append) == []
    assert told == ["aecl-stray (AECL, Figure 6) needs a run: name a data set with --dataset"]
    with pytest.raises(UsageError, match="Did you mean 'aecl-stray'"):
        draw_all(tmp_path, [], only=["aecl-stary"])
    listed = CliRunner().invoke(app, ["bench", "figures", "--list"]).output
    assert all(name in listed for name in FIGURES)
