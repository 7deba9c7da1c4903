"""AECL: its stages, its losses from the parts, its training, and prediction beside references."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from coterie import AECL, load
from coterie._errors import UsageError
from coterie.base import TrainingContext
from coterie.blocks import entropy
from coterie.blocks.attention import AttentionAssigner
from coterie.blocks.guided_contrast import Views, guided_contrast
from coterie.blocks.nt_xent import nt_xent
from coterie.encoders import VectorEncoder
from coterie.engine import TrainingData

SETTINGS = {
    "epochs": 20, "contrast_epochs": 3, "label_epochs": 8, "batch_size": 30, "lr": 1e-3,
    "head_lr": 5e-3, "random_state": 0,
}  # fmt: skip


def facts(n: int = 8, views: int = 2, sizes: tuple[int, ...] = (5, 3, 2)) -> TrainingContext:
    return TrainingContext(n, views, 0, sizes, None)


@pytest.mark.parametrize(
    ("n", "k", "lengths"),
    [
        (20_000, 20, (2, 1, 67)),
        (12_340, 8, (10, 1, 59)),
        (11_108, 152, (10, 11, 49)),  # two steps per cluster: more than the paper's 6 and 10
        (2_472, 89, (20, 26, 24)),
    ],
)
def test_stages_last_as_long_as_in_the_paper(n: int, k: int, lengths: tuple[int, ...]) -> None:
    stages = AECL(k)._training_stages(facts(n))
    assert [s.name for s in stages] == ["contrast", "labels", "cluster"]
    assert tuple(s.steps // -(-n // 400) for s in stages) == lengths
    longer = AECL(k, compat="official")._training_stages(facts(n))
    assert longer[0].steps // -(-n // 400) == lengths[0] + 1
    assert sum(s.steps for s in longer) == sum(s.steps for s in stages)


def test_stages_can_be_left_out_and_the_head_waits_for_the_second() -> None:
    names = lambda **kw: [s.name for s in AECL(3, **kw)._training_stages(facts(8000))]  # noqa: E731
    assert names(contrast_epochs=0) == ["labels", "cluster"]
    assert names(label_epochs=0) == ["contrast", "cluster"]
    assert names(epochs=0) == []
    first, second, third = AECL(3)._training_stages(facts(8000))
    assert "heads.classify" not in first.lr and "heads.classify" in second.lr
    assert second.continues and third.continues
    assert second.setup is not None and third.setup is None


def test_views_are_the_augmentation_or_another_dropout_mask() -> None:
    assert AECL(3)._training_stages(facts(views=2))[0].views == (0, 1)
    assert AECL(3)._training_stages(facts(views=1))[0].views == (0, 0)


def test_balance_is_chosen_by_the_start_unless_given() -> None:
    model = AECL(3)
    model._training_stages(facts(sizes=(30, 1)))
    assert model.balance_ == 0.09
    model._training_stages(facts(sizes=(30, 20)))
    assert model.balance_ == 10
    given = AECL(3, balance_weight=0.5)
    given._training_stages(facts(sizes=(30, 1)))
    assert given.balance_ == 0.5


def parts(**settings):
    """A network without chance, its model, and a batch of eight texts in two views."""
    torch.manual_seed(0)
    encoder = VectorEncoder(dropout=0)
    items, rows = encoder.prepare(np.random.default_rng(0).normal(size=(16, 4)))
    model = AECL(3, encoder="precomputed", threshold=0.4, **settings)
    stages = model._training_stages(facts())
    net = model._build_network(encoder, None, facts()).eval()
    net.labels.copy_(torch.tensor([0, 1, 2, 0, 1, 2, 0, 1]))
    data = TrainingData(items, rows.reshape(2, 8))
    return net, model, stages, data.batch(np.arange(8), (0, 1), torch.device("cpu"))


def test_every_stage_adds_the_terms_of_the_equations() -> None:
    net, _, stages, batch = parts(balance_weight=0.7)
    z = [net.heads.project(e) for e in batch.encode(net.encoder)]
    (h0, s0, _), (h1, s1, _) = map(net.heads.attend, z)
    log_p0, log_p1 = net.heads.log_p(h0), net.heads.log_p(h1)
    same = log_p0.argmax(1)[:, None] == log_p0.argmax(1)[None, :]
    early = net.labels[:, None] == net.labels[None, :]
    first, second, third = (stage.loss(net, batch) for stage in stages)
    for terms, mask in ((first, early), (second, same), (third, same)):
        views = Views(torch.stack(z), torch.stack([h0, h1]), torch.stack([s0, s1]))
        contrast = 10 * guided_contrast(views, mask, 0.5)
        torch.testing.assert_close(terms["contrast"], contrast)
        assert 0 <= terms["~stray"] <= 1
    assert first.keys() == {"contrast", "~stray"}
    nll = -sum(log_p1[i, net.labels[i]] for i in range(8)) / 8
    torch.testing.assert_close(second["labels"], 5 * nll)
    expected = {
        "cluster": nt_xent(log_p0.exp().T, log_p1.exp().T, 1.0),
        "labels": 5 * entropy.trusted_nll(log_p1, log_p0, 0.4),
        "entropy": 0.01 * entropy.negative_entropy(log_p0),
        "balance": 0.7 * (entropy.imbalance(log_p0) + entropy.imbalance(log_p1)),
    }
    for name, value in expected.items():
        torch.testing.assert_close(third[name], value)


def test_the_released_form_and_the_printed_one_differ_from_the_default() -> None:
    values = []
    for settings in ({}, {"compat": "official"}, {"form": "text"}, {"positives": "none"},
                     {"early_positives": "head"}):  # fmt: skip
        net, _, stages, batch = parts(**settings)
        values.append(round(stages[0].loss(net, batch)["contrast"].item(), 6))
    assert len(set(values)) == 5


def test_what_is_only_watched_does_not_train() -> None:
    from coterie.engine.history import History

    row = {"stage": "a", "terms": {"contrast": 1.0, "~stray": 5.0}}
    assert History([row]).losses() == [1.0]


def test_presets_have_the_documented_values() -> None:
    paper, code = AECL.from_preset("paper"), AECL.from_preset("official-code")
    assert (paper.temperature, paper.cluster_temperature) == (1.0, 0.5)
    assert (paper.attention, paper.head, paper.form) == ("matrices", "linear", "text")
    assert (code.temperature, code.cluster_temperature, code.compat) == (0.5, 1.0, "official")
    for model in (paper, code, AECL()):
        assert (model.lr, model.head_lr, model.batch_size, model.epochs) == (5e-6, 5e-4, 400, 70)
        weights = model.contrast_weight, model.label_weight, model.entropy_weight
        assert weights == (10, 5, 0.01) and model.threshold == 0.95


@pytest.mark.parametrize("preset", ["default", "paper", "official-code"])
def test_training_lowers_the_loss_and_moves_every_part(
    preset: str, tiny_encoder: Path, topics
) -> None:
    texts, _ = topics
    views = [[" ".join(t.split()[1:]) for t in texts]]
    made = AECL if preset == "default" else lambda **kw: AECL.from_preset(preset, **kw)
    longer = {**SETTINGS, "epochs": 40, "contrast_epochs": 12, "label_epochs": 12}
    longer |= {"lr": 1e-4, "head_lr": 1e-3}
    model = made(n_clusters=3, encoder=str(tiny_encoder), guard=False, **longer)
    start = clone(model).set_params(head_lr=0.0, lr=0.0, epochs=1).fit(texts, views=views)
    model.fit(texts, views=views)
    for stage in ("contrast", "labels"):
        losses = model.history_.losses(stage)
        assert losses[-1] < losses[0], stage
    # In the last stage ever more texts are sure enough to teach, so the sum of all terms may
    # rise; the contrast goes on falling, but for the short run of the printed form.
    last = [row["terms"]["contrast"] for row in model.history_.rows if row["stage"] == "cluster"]
    assert last[-1] < last[0] or preset == "paper"
    untrained = start.net_.state_dict()
    for name, tensor in model.net_.state_dict().items():
        if "pooler" in name or name == "labels" or not tensor.is_floating_point():
            continue
        if name.endswith("key.bias"):  # a shift of all keys changes no softmax
            continue
        assert not torch.equal(tensor, untrained[name]), f"{name} was never updated"


def test_the_second_stage_teaches_the_labels_of_kmeans(topics) -> None:
    slow = {**SETTINGS, "epochs": 43, "label_epochs": 40, "lr": 1e-4, "head_lr": 2e-3}
    model = AECL(3, encoder="tfidf", **slow).fit(topics[0])
    learned = model.trained_labels_
    assert adjusted_rand_score(learned, model.net_.labels.numpy()) > 0.85


@pytest.mark.parametrize(
    "settings",
    [
        {"positives": "none"}, {"contrast_epochs": 0}, {"label_epochs": 0}, {"label_weight": 0.0},
        {"entropy_weight": 0.0}, {"attention": "matrices"}, {"head": "linear"}, {"references": 1},
        {"early_positives": "head"}, {"spherical": False}, {"compat": "official"},
    ],
    ids=str,
)  # fmt: skip
def test_every_option_trains_and_predicts_its_own_labels(settings, topics) -> None:
    short = {**SETTINGS, "epochs": 6, "contrast_epochs": 1, "label_epochs": 2, "guard": False}
    model = AECL(3, encoder="tfidf", **{**short, **settings}).fit(topics[0])
    assert np.isfinite(model.history_.losses()).all()
    assert isinstance(model.assigner_, AttentionAssigner)
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_the_papers_way_agrees_with_fixed_references(topics) -> None:
    texts = [*topics[0], ""]
    model = AECL(3, encoder="tfidf", guard=False, **SETTINGS).fit(texts)
    in_batches = model.predict_in_batches(texts)
    assert in_batches[-1] == -1
    # Other batch mates change a few labels; that share is what fixed references do away with.
    assert (in_batches == model.labels_).mean() > 0.95
    np.testing.assert_array_equal(in_batches, model.predict_in_batches(texts))


def test_a_model_that_kept_its_start_predicts_with_it(topics) -> None:
    wild = {**SETTINGS, "lr": 10.0, "head_lr": 10.0}
    model = AECL(3, encoder="tfidf", **wild).fit(topics[0])
    assert model.kept_start and not isinstance(model.assigner_, AttentionAssigner)
    np.testing.assert_array_equal(model.predict_in_batches(topics[0]), model.labels_)


def test_the_summary_tells_the_balance_weight(topics) -> None:
    model = AECL(3, encoder="tfidf", **SETTINGS).fit(topics[0])
    (remark,) = model.remarks()
    assert f"{model.balance_:g}" in remark and "at the start" in remark


@pytest.mark.parametrize("death", [4, 7, 13])
def test_checkpoints_continue_to_the_identical_model(topics, tmp_path: Path, death: int) -> None:
    texts = topics[0][:45]
    settings = {**SETTINGS, "encoder": "tfidf", "epochs": 6, "contrast_epochs": 2,
                "label_epochs": 2, "batch_size": 15}  # fmt: skip
    whole = AECL(3, **settings).fit(texts)
    seen = iter(range(100))

    class Dies(AECL):
        def _build_network(self, encoder, start, facts):
            net = super()._build_network(encoder, start, facts)

            def die(module, inputs) -> None:
                if module.training and next(seen) == death:
                    raise SystemExit

            net.encoder.register_forward_pre_hook(die)
            return net

    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with pytest.raises(SystemExit):
        Dies(3, **settings, **options).fit(texts)
    resumed = AECL(3, **settings, **options).fit(texts)
    np.testing.assert_array_equal(resumed.probabilities_, whole.probabilities_)


WRONG = {
    "attention": "x", "compat": "yes", "form": "x", "head": "deep", "positives": "some",
    "early_positives": "x", "epochs": -1, "contrast_epochs": 1.5, "references": 0,
    "temperature": 0, "threshold": -1, "lr": "fast", "balance_weight": float("nan"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        AECL(2, encoder="tfidf", **{name: WRONG[name]}).fit(["a cat", "the dog"])


@pytest.mark.gpu
def test_gpu_and_cpu_find_the_same_topics(topics) -> None:
    for device in ("cpu", "cuda"):
        slow = {**SETTINGS, "epochs": 40, "contrast_epochs": 12, "label_epochs": 12}
        slow |= {"lr": 1e-4, "head_lr": 1e-3, "device": device}
        model = AECL(3, encoder="tfidf", **slow).fit(topics[0])
        assert adjusted_rand_score(topics[1], model.labels_) > 0.85


@pytest.mark.parametrize(("epochs", "n"), [(20, 4000), (4, 9), (70, 2000), (70, 20_000)])
def test_by_default_every_stage_has_its_share_of_the_epochs(epochs: int, n: int) -> None:
    model = AECL(3, epochs=epochs)
    first, second = model._lengths(n)
    assert first + second < epochs and second > 0
    if epochs == 70:
        assert first == (20 if n < 5_000 else 2)  # as in the paper


def test_loading_draws_no_random_numbers(tmp_path: Path) -> None:
    texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    AECL(2, encoder="tfidf", epochs=6, random_state=0, guard=False).fit(texts).save(tmp_path / "m")
    before = torch.get_rng_state()
    load(tmp_path / "m")
    assert torch.equal(before, torch.get_rng_state())


def test_a_text_of_unknown_words_is_no_row_without_text() -> None:
    texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    model = AECL(2, encoder="tfidf", epochs=6, random_state=0, guard=False).fit(texts)
    found = model.predict_in_batches(["zzz qqq", "", "a car"])
    assert found[1] == -1 and found[0] >= 0 and found[2] >= 0
