"""AECL: attention and heads, losses against loops over the equations, training, prediction."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from coterie import AECL, load
from coterie.arrays.shares import cluster_shares
from coterie.encoders import VectorEncoder
from coterie.methods.aecl import (
    AttentionAssigner,
    AttentionHeads,
    SampleAttention,
    Views,
    guided_contrast,
    imbalance,
    negative_entropy,
    stray_similarity,
    trusted_nll,
    without_empty,
)
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.train import Stage, TrainingContext, TrainingData


def test_three_matrices_equal_a_loop() -> None:
    torch.manual_seed(0)
    attend, z = SampleAttention(4, "matrices"), torch.randn(3, 4)
    h, s, dropped = attend(z)
    k1, k2, t = (m.weight.detach().T for m in (attend.query, attend.key, attend.value))
    for i in range(3):
        scores = [float((z[i] @ k1) @ (z[j] @ k2)) / math.sqrt(4) for j in range(3)]
        weights = [math.exp(x) / sum(map(math.exp, scores)) for x in scores]
        assert s[i].tolist() == pytest.approx(weights, rel=1e-5)
        expected = sum(w * (z[j] @ t) for j, w in enumerate(weights))
        torch.testing.assert_close(h[i], expected)
    assert torch.equal(s, dropped)
    assert sum(p.numel() for p in attend.parameters()) == 3 * 16


def test_the_layer_is_torchs_own_encoder_layer() -> None:
    torch.manual_seed(0)
    attend, z = SampleAttention(8, "layer").eval(), torch.randn(5, 8)
    layer = nn.TransformerEncoderLayer(8, 1, 16, 0.1, "relu", batch_first=True).eval()
    maps = (attend.query, attend.key, attend.value)
    layer.self_attn.in_proj_weight.data = torch.cat([m.weight for m in maps]).detach()
    layer.self_attn.in_proj_bias.data = torch.cat([m.bias for m in maps]).detach()
    for ours, theirs in (
        (attend.out, layer.self_attn.out_proj),
        (attend.norm1, layer.norm1),
        (attend.norm2, layer.norm2),
        (attend.feed[0], layer.linear1),
        (attend.feed[3], layer.linear2),
    ):
        theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(attend(z)[0], layer(z[None])[0], atol=1e-5, rtol=1e-5)


def test_similarities_sum_to_one_and_dropout_moves_only_the_others() -> None:
    torch.manual_seed(0)
    attend, z = SampleAttention(8).train(), torch.randn(50, 8)
    _, s, dropped = attend(z)
    torch.testing.assert_close(s.sum(dim=1), torch.ones(50))
    assert (dropped == 0).any() and not torch.allclose(dropped.sum(dim=1), torch.ones(50))
    assert torch.equal(*attend.eval()(z)[1:])


@pytest.mark.parametrize("form", ["layer", "matrices"])
def test_gradients_of_attention(form: str) -> None:
    torch.manual_seed(0)
    attend = SampleAttention(3, form, dropout=0.0).double()
    z = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: attend(x)[:2], z)


@pytest.mark.parametrize("form", ["layer", "matrices"])
def test_beside_references_a_text_sees_what_it_would_see_in_that_batch(form: str) -> None:
    torch.manual_seed(0)
    attend, z = SampleAttention(8, form).eval(), torch.randn(6, 8)
    alone = attend.beside(z[:1], z[1:])
    torch.testing.assert_close(alone, attend(z)[0][:1])
    torch.testing.assert_close(attend.beside(z, z[1:])[:1], alone)  # company changes nothing


def test_stray_similarity_is_the_equation() -> None:
    s = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    labels = torch.tensor([0, 0, 1])
    loop = sum(float(s[i, j]) for i in range(3) for j in range(3) if labels[i] != labels[j]) / 3
    assert stray_similarity(s, labels).item() == pytest.approx(loop) == pytest.approx(0.1)
    assert stray_similarity(s, torch.zeros(3)).item() == 0


def test_heads_have_the_stated_sizes() -> None:
    # The paper states 67.9 million with K = 20: 66,362,880 are DistilBERT's, and 32,896 belong to
    # a layer of the released network that is never called.
    count = sum(p.numel() for p in AttentionHeads(768, 20, "layer", "mlp").parameters())
    assert 66_362_880 + count + 256 * 128 + 128 == 67_922_324


def assigner(sets: int = 2) -> tuple[AttentionAssigner, np.ndarray]:
    torch.manual_seed(0)
    vectors = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)
    heads = AttentionHeads(6, 3, "layer", "mlp")
    return AttentionAssigner.make(heads, vectors, 5, sets, seed=0), vectors


def test_the_rule_averages_probabilities_over_its_reference_sets() -> None:
    made, vectors = assigner()
    z = made.heads.project(torch.from_numpy(vectors))
    parts = [
        made.heads.classify(made.heads.attend.beside(z, torch.from_numpy(r))).softmax(dim=1)
        for r in made.references
    ]
    expected = (sum(parts) / 2).detach().numpy()
    found = torch.from_numpy(made.logits(vectors)).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(made.logits(vectors[3:4]), made.logits(vectors)[3:4], rtol=1e-4)


def test_batches_of_everything_are_attention_over_everything() -> None:
    made, vectors = assigner()
    z = made.heads.project(torch.from_numpy(vectors))
    expected = made.heads.log_p(made.heads.attend(z)[0]).exp().detach().numpy()
    np.testing.assert_allclose(made.in_batches(vectors, 50, 3, seed=0), expected, atol=1e-6)
    some = made.in_batches(vectors, 5, 4, seed=0)
    np.testing.assert_allclose(some.sum(axis=1), 1, rtol=1e-5)


TAU = 0.5


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def e(a: torch.Tensor, b: torch.Tensor) -> float:
    return math.exp(cosine(a, b) / TAU)


def make_views(n: int = 5, dtype: torch.dtype = torch.double) -> tuple[Views, torch.Tensor]:
    """Both views of random texts, and which texts are of one cluster."""
    torch.manual_seed(0)
    z, h = torch.randn(2, 2, n, 4, dtype=dtype)
    labels = torch.tensor([0, 1, 0, 1, 1, 2, 0])[:n]
    s = torch.randn(2, n, n, dtype=dtype).softmax(dim=2)
    return Views(z, h, s), labels[:, None] == labels[None, :]


def below(row: torch.Tensor, i: int, *sides: torch.Tensor) -> float:
    """D(.): over all texts but i, on both sides."""
    return sum(e(row, side[k]) for side in sides for k in range(len(side)) if k != i)


def pair_ratios(views: Views) -> list[list[float]]:
    """Eq. (6), the two directions of each text apart."""
    z0, z1 = views.z
    return [
        [e(z0[i], z1[i]) / below(z0[i], i, z0, z1), e(z1[i], z0[i]) / below(z1[i], i, z0, z1)]
        for i in range(len(z0))
    ]


def guided_ratios(
    views: Views, number: int, companions: torch.Tensor, *, every: bool, least: float
) -> list[list[float]]:
    """Eq. (7), both directions apart; ``every`` has the four blocks of the released code."""
    z, h, s = (tensor[number] for tensor in views)
    out = []
    for i in range(len(z)):
        row = []
        for mine, sides in ((z, (h, z)), (h, (z, h))):
            total = 0.0
            for block, other in enumerate(sides):
                if block == 1 and not every:
                    continue
                for j in range(len(z)):
                    weight = float(s[i, j])
                    if every and block == 1 and j == i:
                        weight = 0.0  # the main diagonal of the tiled matrix
                    if companions[i, j]:
                        total += (weight + least) * e(mine[i], other[j])
            row.append(total / below(mine[i], i, z, h))
        out.append(row)
    return out


@pytest.mark.parametrize("positives", ["shared", "all"])
@pytest.mark.parametrize("form", ["row", "text", "broadcast"])
@pytest.mark.parametrize("least", [1e-5, 0.0])  # as released, as printed
def test_equals_a_loop_over_the_equations(positives: str, form: str, least: float) -> None:
    views, companions = make_views()
    pairs = pair_ratios(views)
    n, total = views.z.shape[1], 0.0
    flat = [pairs[i][side] for side in (0, 1) for i in range(n)]
    z0, z1 = views.z
    above = [e(z0[i], z1[i]) for i in range(n)] * 2
    under = [a / r for a, r in zip(above, flat, strict=True)]
    for number in (0, 1):
        guided = guided_ratios(views, number, companions, every=positives == "all", least=least)
        rows = [guided[i][side] for side in (0, 1) for i in range(n)]
        if form == "row":
            logs = [math.log(a + b) for a, b in zip(flat, rows, strict=True)]
        elif form == "text":
            logs = [math.log(sum(pairs[i]) + sum(guided[i])) for i in range(n)]
        else:
            logs = [math.log(a / d + r) for a in above for d, r in zip(under, rows, strict=True)]
        total -= sum(logs) / len(logs) / 2
    options = {"positives": positives, "form": form, "least": least}
    found = guided_contrast(views, companions, TAU, **options)
    assert found.item() == pytest.approx(total, rel=1e-9)


def test_without_guidance_it_is_the_ratio_of_the_pair_alone() -> None:
    views, companions = make_views()
    pairs = pair_ratios(views)
    rows = -sum(math.log(r) for pair in pairs for r in pair) / (2 * len(pairs))
    found = guided_contrast(views, companions, TAU, positives="none")
    assert found.item() == pytest.approx(rows, rel=1e-9)
    texts = -sum(math.log(sum(pair)) for pair in pairs) / len(pairs)
    found = guided_contrast(views, companions, TAU, positives="none", form="text")
    assert found.item() == pytest.approx(texts, rel=1e-9)


def test_a_value_worked_by_hand() -> None:
    # Two texts, all rows alike: every cosine is 1, e = e^2, a denominator has two terms, so the
    # pair's ratio is 1/2; alone in its cluster with S_ii = 1/2 a text has the ratio 1/4.
    z = torch.ones(2, 2, 3, dtype=torch.double)
    views = Views(z, z, torch.full((2, 2, 2), 0.5, dtype=torch.double))
    found = guided_contrast(views, torch.eye(2, dtype=torch.bool), TAU)
    assert found.item() == pytest.approx(-math.log(0.5 + 0.25), abs=1e-4)


@pytest.mark.parametrize("form", ["row", "text", "broadcast"])
def test_gradients_of_the_contrast(form: str) -> None:
    views, companions = make_views(4)

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        return guided_contrast(Views(*tensors), companions, TAU, form=form)

    assert torch.autograd.gradcheck(loss, [tensor.requires_grad_() for tensor in views])


def test_a_single_text_costs_nothing_and_scale_does_not_matter() -> None:
    views, companions = make_views(1)
    views.z.requires_grad_()
    found = guided_contrast(views, companions, TAU)
    found.backward()
    assert found.item() == 0 and torch.equal(views.z.grad, torch.zeros_like(views.z))
    views, companions = make_views()
    bigger = views._replace(z=torch.stack([7 * views.z[0], views.z[1]]))
    scaled, plain = (guided_contrast(one, companions, TAU) for one in (bigger, views))
    torch.testing.assert_close(scaled, plain)


def test_extreme_similarities_stay_finite() -> None:
    views, companions = make_views(5, torch.float32)
    s = torch.eye(5).repeat(2, 1, 1).requires_grad_()  # zeros off the diagonal
    z = views.z.requires_grad_()
    loss = guided_contrast(Views(z, views.h, s), companions, 0.01)
    loss.backward()
    assert loss.isfinite() and s.grad.isfinite().all() and z.grad.isfinite().all()


def rows(n: int = 5, k: int = 4) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(n, k, dtype=torch.double).log_softmax(dim=1)


def test_row_entropy_equals_a_loop_and_has_its_bounds() -> None:
    log_p = rows()
    loop = sum(math.exp(x) * x for row in log_p.tolist() for x in row) / 5
    assert negative_entropy(log_p).item() == pytest.approx(loop)
    assert negative_entropy(torch.full((3, 4), 0.25).log()).item() == pytest.approx(-math.log(4))
    sure = torch.tensor([[50.0, 0, 0]]).log_softmax(dim=1)
    assert negative_entropy(sure).item() == pytest.approx(0, abs=1e-6)


def test_imbalance_is_zero_for_even_clusters_and_log_k_for_one() -> None:
    log_p = rows()
    q = [sum(math.exp(row[j]) for row in log_p.tolist()) / 5 for j in range(4)]
    assert imbalance(log_p).item() == pytest.approx(math.log(4) + sum(x * math.log(x) for x in q))
    even = 60 * torch.eye(3)
    assert imbalance(even.log_softmax(dim=1)).item() == pytest.approx(0, abs=1e-6)
    one = torch.zeros(5, 3).index_fill(1, torch.tensor([1]), 90.0)
    assert imbalance(one.log_softmax(dim=1)).item() == pytest.approx(math.log(3), abs=1e-5)
    assert imbalance(torch.zeros(4, 1)).item() == 0


def test_only_sure_rows_teach_and_all_rows_count() -> None:
    guide = torch.tensor([[0.97, 0.03], [0.6, 0.4], [0.04, 0.96]]).log()
    log_p = torch.tensor([[0.5, 0.5], [0.1, 0.9], [0.2, 0.8]]).log()
    expected = -(math.log(0.5) + math.log(0.8)) / 3
    assert trusted_nll(log_p, guide, 0.95).item() == pytest.approx(expected, rel=1e-5)
    assert trusted_nll(log_p, guide, 0.99).item() == 0


def test_the_teacher_gets_no_gradient() -> None:
    guide, log_p = (rows().requires_grad_() for _ in range(2))
    trusted_nll(log_p, guide, 0.1).backward()
    assert guide.grad is None and log_p.grad.abs().sum() > 0


@pytest.mark.parametrize("term", [negative_entropy, imbalance])
def test_gradients_of_the_entropies(term) -> None:
    logits = rows().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: term(x.log_softmax(dim=1)), logits)


def test_empty_columns_carry_no_gradient() -> None:
    columns = torch.tensor([[1e-12, 0.0], [0.3, 0.4]], requires_grad=True)
    torch.nn.functional.normalize(without_empty(columns), dim=1).sum().backward()
    assert columns.grad[0].abs().sum() == 0 and columns.grad[1].abs().sum() > 0


SETTINGS = {
    "epochs": 20,
    "contrast_epochs": 3,
    "label_epochs": 8,
    "batch_size": 30,
    "lr": 1e-3,
    "head_lr": 5e-3,
    "random_state": 0,
}


def facts(n: int = 8, views: int = 2) -> TrainingContext:
    return TrainingContext(n, views, 0, None)


def stages_of(model: AECL, context: TrainingContext) -> list[Stage]:
    """The plan of a model whose clusters have been found to be even."""
    model._shares = np.full(model.n_clusters, 1 / model.n_clusters)
    return model._training_stages(context)


@pytest.mark.parametrize(
    ("n", "k", "printed", "second"),
    [
        (20_000, 20, (2, 1, 67), 1),
        (12_340, 8, (10, 1, 59), 1),
        (11_108, 152, (10, 6, 54), 11),
        (2_472, 89, (20, 10, 40), 26),
    ],
)
def test_stages_last_as_long_as_in_the_paper(
    n: int, k: int, printed: tuple[int, ...], second: int
) -> None:
    """By default the second stage has two steps per cluster, more than 6 and 10 epochs."""
    epochs = lambda model: [s.steps // -(-n // 400) for s in stages_of(model, facts(n))]  # noqa: E731
    first = printed[0]
    assert epochs(AECL(k)) == [first, second, 70 - first - second]
    assert epochs(AECL.from_preset("paper", n_clusters=k)) == list(printed)
    longer = [first + 1, printed[1], printed[2] - 1]  # the code counts one epoch more
    assert epochs(AECL.from_preset("official-code", n_clusters=k)) == longer


def test_stages_can_be_left_out_and_the_head_waits_for_the_second() -> None:
    names = lambda **kw: [s.name for s in stages_of(AECL(3, **kw), facts(8000))]  # noqa: E731
    assert names(contrast_epochs=0) == ["labels", "cluster"]
    assert names(label_epochs=0) == ["contrast", "cluster"]
    assert names(epochs=0) == []
    first, second, third = stages_of(AECL(3), facts(8000))
    assert "heads.classify" not in first.lr and "heads.classify" in second.lr
    assert second.continues and third.continues
    assert second.setup is not None and third.setup is None


def test_views_are_the_augmentation_or_another_dropout_mask() -> None:
    assert stages_of(AECL(3), facts(views=2))[0].views == (0, 1)
    assert stages_of(AECL(3), facts(views=1))[0].views == (0, 0)


def test_shares_equal_a_loop_over_em() -> None:
    rng = np.random.default_rng(1)
    unit = rng.normal(size=(30, 4)) + np.repeat([[2, 0, 0, 0], [0, 2, 0, 0]], [22, 8], axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    labels = (unit[:, 1] > unit[:, 0]).astype(np.int64)
    belongs = np.eye(2)[labels]
    for _ in range(3):
        shares = belongs.mean(axis=0)
        sums = [sum(belongs[i, j] * unit[i] for i in range(30)) for j in range(2)]
        r = sum(math.sqrt(s @ s) for s in sums) / 30
        kappa = r * (4 - r * r) / (1 - r * r)
        rows = []
        for x in unit:
            p = [
                shares[j] * math.exp(kappa * (x @ s) / math.sqrt(s @ s)) for j, s in enumerate(sums)
            ]
            rows.append([a / sum(p) for a in p])
        belongs = np.array(rows)
    found = cluster_shares(torch.from_numpy(unit), torch.from_numpy(labels), 2, rounds=3)
    np.testing.assert_allclose(found, belongs.mean(axis=0), rtol=1e-9)


def test_rows_that_are_all_alike_have_shares() -> None:
    found = cluster_shares(torch.ones(6, 4) / 2, torch.tensor([0, 0, 0, 0, 1, 1]), 3)
    assert found.isfinite().all() and found.sum().item() == pytest.approx(1)


def parts(**settings):
    """A network without chance, its model, and a batch of eight texts in two views."""
    torch.manual_seed(0)
    encoder = VectorEncoder(dropout=0)
    items, rows = encoder.prepare(np.random.default_rng(0).normal(size=(16, 4)))
    model = AECL(3, encoder="precomputed", threshold=0.4, **settings)
    stages = stages_of(model, facts())
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
        "labels": 5 * trusted_nll(log_p1, log_p0, 0.4),
        "entropy": 0.01 * negative_entropy(log_p0),
        "balance": 0.7 * (imbalance(log_p0) + imbalance(log_p1)),
    }
    for name, value in expected.items():
        torch.testing.assert_close(third[name], value)


def test_the_released_form_and_the_printed_one_differ_from_the_default() -> None:
    values = []
    for settings in (
        {},
        {"compat": "official"},
        {"form": "text"},
        {"positives": "none"},
        {"early_positives": "head"},
    ):
        net, _, stages, batch = parts(**settings)
        values.append(round(stages[0].loss(net, batch)["contrast"].item(), 6))
    assert len(set(values)) == 5


def test_what_is_only_watched_does_not_train() -> None:
    from coterie.methods.train.history import History

    row = {"stage": "a", "terms": {"contrast": 1.0, "~stray": 5.0}}
    assert History([row]).losses() == [1.0]


@pytest.mark.parametrize(("compat", "least"), [("printed", 0.0), ("none", 1e-5)])
def test_only_the_printed_form_adds_nothing_to_similarities(compat: str, least: float) -> None:
    net, _, stages, batch = parts(compat=compat, form="text")
    z = torch.stack(batch.encode(net.encoder))
    z = net.heads.project(z)
    h, s, _ = net.heads.attend(z)
    same = net.labels[:, None] == net.labels[None, :]
    found = stages[0].loss(net, batch)["contrast"].item()
    for added in (0.0, 1e-5):
        term = guided_contrast(Views(z, h, s), same, 0.5, form="text", least=added)
        close = found == pytest.approx(10 * term.item(), rel=5e-7)
        assert close == (added == least)


def test_as_printed_the_balance_of_both_views_is_halved() -> None:
    values = {}
    for compat in ("none", "printed"):
        net, _, stages, batch = parts(balance_weight=0.7, compat=compat)
        values[compat] = stages[2].loss(net, batch)["balance"].item()
    assert values["printed"] == pytest.approx(values["none"] / 2)


def test_the_papers_way_agrees_with_fixed_references(topics) -> None:
    texts = [*topics[0], ""]
    model = AECL(3, encoder="tfidf", guard=False, **SETTINGS).fit(texts)
    in_batches = model.predict_in_batches(texts)
    assert in_batches[-1] == -1
    # Other batch mates change a few labels; that share is what fixed references do away with.
    assert (in_batches == model.labels_).mean() > 0.95
    np.testing.assert_array_equal(in_batches, model.predict_in_batches(texts))
    unknown, empty = model.predict_in_batches(["zzz qqq", ""])
    assert unknown >= 0 and empty == -1  # unknown words are no row without text
    (remark,) = model.remarks()
    assert f"{model.balance_:g}" in remark


@pytest.mark.parametrize("preset", ["paper", "official-code"])
def test_presets_predict_in_batches(preset: str, topics, tmp_path: Path) -> None:
    texts = topics[0][:60]
    short = {"epochs": 3, "contrast_epochs": 1, "label_epochs": 1, "batch_size": 20}
    settings = {"encoder": "tfidf", "guard": False, "random_state": 0, "device": "cpu", **short}
    settings["views"] = "virtual"
    model = AECL.from_preset(preset, n_clusters=3, **settings).fit(texts)
    assert model.assigner_.batch == 20
    p = model.assigner_.in_batches(model.distinct_vectors_, 20, 1, model.assigner_.seed)
    np.testing.assert_array_equal(
        model.labels_[np.unique(model.rows_, return_index=True)[1]], p.argmax(axis=1)
    )
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(texts), model.labels_)


def test_a_model_that_kept_its_start_predicts_with_it(topics) -> None:
    wild = {**SETTINGS, "lr": 10.0, "head_lr": 10.0}
    model = AECL(3, encoder="tfidf", **wild).fit(topics[0])
    assert model.kept_start and not isinstance(model.assigner_, AttentionAssigner)
    np.testing.assert_array_equal(model.predict_in_batches(topics[0]), model.labels_)


@pytest.mark.parametrize(("epochs", "n"), [(20, 4000), (4, 9)])
def test_of_few_epochs_every_stage_has_its_share(epochs: int, n: int) -> None:
    first, second = AECL(3, epochs=epochs)._lengths(n)
    assert first + second < epochs and second > 0


def test_loading_draws_no_random_numbers(tmp_path: Path) -> None:
    texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    AECL(2, encoder="tfidf", epochs=6, random_state=0, guard=False).fit(texts).save(tmp_path / "m")
    before = torch.get_rng_state()
    load(tmp_path / "m")
    assert torch.equal(before, torch.get_rng_state())
