"""Figures: what is drawn is what was measured, and watching a training does not change it."""

import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from coterie.arrays.metrics import accuracy, silhouette
from coterie.arrays.neighbors import unit_rows
from coterie.errors import DataError, UsageError
from coterie_bench.analysis import average_precision, cluster_distances, reciprocal_rank
from coterie_bench.cli import app
from coterie_bench.data import Data
from coterie_bench.figures import FIGURES, Short, draw_all, papers, redraw
from coterie_bench.figures.papers import bars_of
from coterie_bench.figures.picture import (
    COLORS,
    OTHERS,
    Bars,
    Histogram,
    Lines,
    Picture,
    Points,
    Table,
    draw,
    mark_of,
    read_picture,
    save,
)
from coterie_bench.figures.short import as_points, draw_beside, first_and_last

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


def test_distances_at_the_start_are_those_of_the_encoder(short: Short) -> None:
    seen = papers.trace_distances(short)
    model = short.make("sccl", steps=0).fit(short.data.texts)
    expected = cluster_distances(model.vectors_, short.truth)
    assert seen[0]["intra true"] == pytest.approx(expected["intra"], rel=1e-5)
    assert seen[0]["inter true"] == pytest.approx(expected["inter"], rel=1e-5)
    assert seen[-1]["inter predicted"] != pytest.approx(seen[0]["inter predicted"], rel=1e-6)


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


def test_attention_is_shared_out(short: Short) -> None:
    seen = papers.trace_stray(short)
    assert {row["stage"] for row in seen} == {"contrast"}
    for row in seen:
        assert 0 < row["NS"] < 1
    # Of 30 texts about a third are of one's own class: even attention gives NS near 2/3.
    assert seen[0]["NS"] == pytest.approx(2 / 3, abs=0.1)


@pytest.mark.slow
def test_hard_labels_stay_those_of_the_start(short: Short) -> None:
    """NN+one never refreshes its labels, and looking at them is no reason to."""
    hard = replace(short, parameters={**FAST, "variant": "one"})
    seen = papers.trace_labels(hard)
    start = hard.make("adsl").fit(short.data.texts).start_labels_
    assert len(seen) > 3
    for row in seen:
        assert row["ACC"] == pytest.approx(100 * accuracy(short.data.labels, start))
    sure = hard.trace(hard.make("adsl"), lambda net, _: {"least": float(net.target.amax(1).min())})
    assert {row["least"] for row in sure} == {1.0}
    soft = papers.trace_labels(short)  # one refresh an epoch, none after the last
    assert [row["step"] for row in soft] == [0, 3, 6, 9, 12]


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


def test_maps_beside_each_other_have_the_silhouette_of_the_classes(short: Short) -> None:
    short = replace(short, parameters=FAST | {"views": "charswap"})
    presets = {"aecl": "official-code"}
    picture = draw_beside(short, {"sccl": "SCCL", "aecl": "AECL"}, "Both", 20, presets)
    *maps, compact = picture.panels
    assert [panel.title for panel in maps] == ["before training", "SCCL", "AECL"]
    assert all(len(panel.x) == 20 for panel in maps)
    for label, method in (("SCCL", "sccl"), ("AECL", "aecl")):
        pair = first_and_last(short, method, presets.get(method))
        values = [silhouette(vectors, short.truth) for vectors in pair]
        assert compact.series[label] == [[i, pytest.approx(v)] for i, v in enumerate(values)]


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


def test_retrieval_is_followed_with_and_without_reconstruction(short: Short) -> None:
    with pytest.raises(UsageError, match="another data set"):
        papers.cluster_bert_retrieval(short)
    told: list[str] = []
    assert draw_all(Path(), Path(), short, only=["cluster-bert-retrieval"], tell=told.append) == []
    assert told[0].endswith("needs another data set: name it with --other")
    texts = [" ".join(text.split()[1:]) for text in short.data.texts]  # others, of the same words
    other = replace(short.data, name="others", texts=texts)
    quick = replace(short, other=other, parameters={**FAST, "lr": 0.05})
    picture = papers.cluster_bert_retrieval(quick)
    assert [panel.y for panel in picture.panels] == ["NMI in %", "ACC in %", "MAP in %", "MRR in %"]
    assert "queries of others, not trained on" in picture.subtitle
    for panel in picture.panels:
        whole, without = panel.series.values()
        assert whole[0] == pytest.approx(without[0])  # the start is the same
        assert all(0 <= value <= 100 for _, value in [*whole, *without])
    ranked = picture.panels[2].series
    assert ranked["ClusterBERT"][-1] != ranked["ClusterBERT"][0]
    assert ranked["ClusterBERT"][-1] != ranked["without reconstruction"][-1]


def test_maps_color_the_largest_classes_and_keep_places() -> None:
    labels = np.array([0, 1, 1, 2, 2, 2])
    places = np.array([[0, 0], [10, 0], [0, 5], [10, 5], [5, 5], [5, 0]], dtype=np.float32)
    panel = as_points(places, labels, "here")
    assert panel.classes == [2, 1, 1, 0, 0, 0]  # 0 is the largest
    assert panel.x == [0, 1000, 0, 1000, 500, 500] and panel.y == [0, 0, 500, 500, 500, 0]
    many = Points(x=list(range(9)), y=[0] * 9, classes=list(range(9)))
    (dots,) = draw(Picture(title="", panels=[many])).axes[0].collections
    from matplotlib.colors import to_hex

    drawn = {int(x): to_hex(c) for (x, _), c in zip(dots.get_offsets(), dots.get_facecolors(),
                                                     strict=True)}  # fmt: skip
    assert [drawn[i] for i in range(9)] == [color.lower() for color in (*COLORS, OTHERS)]
    assert int(dots.get_offsets()[0][0]) == 8  # grey lies below


def test_bars_are_as_high_as_the_means() -> None:
    rows = [line("SCCL", "sccl", "tweet", 0, 0.8), line("SCCL", "sccl", "tweet", 1, 0.9),
            line("instances only", "sccl", "tweet", 0, 0.6)]  # fmt: skip
    picture = papers.sccl_objectives(rows)
    acc, nmi = draw(picture).axes
    assert [patch.get_height() for patch in acc.patches] == pytest.approx([85, 60])
    assert [patch.get_height() for patch in nmi.patches] == pytest.approx([42.5, 30])
    assert picture.panels[0].groups["tweet"]["SCCL"][1] == pytest.approx(10 / math.sqrt(2))
    assert picture.subtitle.startswith("mean and deviation of 1 to 2 seeds")
    assert "3 runs of 2026-11-15" in picture.about
    assert bars_of(rows[:2], "sccl", ["SCCL", "instances only"], "") is None  # nothing to compare


def test_bars_show_what_training_made_not_what_the_guard_returned() -> None:
    rows = [line("SCCL", "sccl", "tweet", 0, 0.8), line("instances only", "sccl", "tweet", 0, 0.6)]
    rows[1]["trained_scores"] = {"acc": 0.1, "nmi": 0.2}
    groups = [
        panel.groups["tweet"]["instances only"][0] for panel in papers.sccl_objectives(rows).panels
    ]
    assert groups == pytest.approx([10, 20])


def test_augmentations_by_hand() -> None:
    """Two runs at 10%, one of them returned by the guard; half the texts in the last bin."""
    runs = [
        {"dataset": "tweet", "label": f"SCCL, {label}", "seed": 0, "scores": {"acc": acc},
         "trained_scores": trained, "start_scores": {"acc": 0.4}, "date": "2026-11-15",
         "commit": "abc", "hardware": {"cores": 2}}
        for label, acc, trained in (("contextual 10%", 0.5, None),
                                    ("contextual + CharSwap 10%", 0.4, {"acc": 0.1}))
    ]  # fmt: skip
    counts = [0] * 22 + [3, 3]
    moved = [{"dataset": "tweet", "label": "contextual 10%", "cosine": {"histogram": counts}}]
    assert papers.sccl_views(runs) is None and papers.sccl_views(moved) is None
    picture = papers.sccl_views([*runs, *moved])
    assert picture.subtitle.startswith("1,000 steps, 1 seed, ")
    again = papers.sccl_views([*runs, {**runs[0], "seed": 2}, *moved])
    assert again.subtitle.startswith("1,000 steps, 1 to 2 seeds, ")
    scores, cosines = picture.panels
    assert scores.series == {
        "contextual": [[10, pytest.approx(50), 0.0]],
        "contextual + CharSwap": [[10, pytest.approx(10), 0.0]],
        "before training (k-means)": [[10, pytest.approx(40), 0.0]],
    }
    assert cosines.series == {"contextual": [0.0] * 22 + [50.0, 50.0]}
    assert len(cosines.edges) == 25 and cosines.edges[0] == -0.2 and cosines.edges[-1] == 1.0
    assert np.allclose(np.diff(cosines.edges), 0.05)


EVERY = Picture(
    title="all kinds", subtitle="seed 0", about="by hand", columns=2,
    panels=[
        Lines(x="step", y="ACC in %", series={"a": [[0, 1.0], [5, 2.123456789]]}, log=False),
        Lines(x="stage", y="NMI", series={"a": [[0, 1.0, 0.5]]}, ticks=["start"], title="t"),
        Bars(y="ACC in %", groups={"tweet": {"a": [1.0, 0.1]}}),
        Histogram(x="cosine", y="share", edges=[0.0, 0.5, 1.0], series={"a": [30.0, 70.0]}),
        Points(x=[1, 2], y=[3, 4], classes=[0, 1]),
    ],
)  # fmt: skip


def test_files_are_the_same_every_time(tmp_path: Path) -> None:
    written = [save(EVERY, folder, "f") for folder in (tmp_path / "a", tmp_path / "b")]
    for first, second in zip(*written, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert ElementTree.parse(written[0][0]).getroot().tag.endswith("svg")
    assert mark_of(EVERY) in written[0][0].read_text("utf-8")


def test_numbers_go_to_a_file_and_back(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text(EVERY.to_json(), "utf-8")
    back = read_picture(file)
    assert back.panels[0].series["a"][1] == [5, 2.1235]  # what can be seen
    assert replace(back, panels=back.panels[1:]) == replace(EVERY, panels=EVERY.panels[1:])
    assert back.to_json() == EVERY.to_json() and mark_of(back) == mark_of(EVERY)
    lost = Picture(title="", panels=[Lines(x="", y="", series={"a": [[0, math.nan], [1, 2.0]]})])
    file.write_text(lost.to_json(), "utf-8")
    assert json.loads(file.read_text("utf-8"))["panels"][0]["series"]["a"][0] == [0, None]
    assert list(draw(read_picture(file)).axes[0].lines[0].get_xdata()) == [1]
    for wrong in ("[]", "{", '{"title": "x", "panels": [{"kind": "pie"}]}', '{"panels": [{}]}'):
        file.write_text(wrong, "utf-8")
        with pytest.raises(DataError, match="numbers of a figure"):
            read_picture(file)


def test_figures_are_drawn_again_without_runs(tmp_path: Path) -> None:
    words = Picture(title="", panels=[Table(header=["cluster"], rows=[["0"]])])
    (tmp_path / "deccrl-words.json").write_text(words.to_json(), "utf-8")
    (tmp_path / "sccl-map.json").write_text(EVERY.to_json(), "utf-8")
    made = redraw(tmp_path)
    assert [file.name for file in made] == ["sccl-map.svg", "sccl-map.png", "deccrl-words.md"]
    assert (tmp_path / "deccrl-words.md").read_text() == "| cluster |\n| --- |\n| 0 |\n"
    first = made[0].read_bytes()
    made[0].unlink()
    done = CliRunner().invoke(
        app, ["figures", "--redraw", "--out", str(tmp_path), "--only", "sccl-map"]
    )
    assert done.exit_code == 0, done.output
    assert made[0].read_bytes() == first
    with pytest.raises(UsageError, match="aecl-map"):
        redraw(tmp_path, ["sccl-map", "aecl-map"])


def test_figures_that_need_a_run_say_so(tmp_path: Path) -> None:
    told: list[str] = []
    assert draw_all(tmp_path, tmp_path, only=["aecl-stray"], tell=told.append) == []
    assert told == ["aecl-stray (AECL, Figure 6) needs a run: name a data set with --dataset"]
    with pytest.raises(UsageError, match="Did you mean 'aecl-stray'"):
        draw_all(tmp_path, tmp_path, only=["aecl-stary"])
    listed = CliRunner().invoke(app, ["figures", "--list"]).output
    assert all(name in listed for name in FIGURES)
