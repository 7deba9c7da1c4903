"""Attention between texts: its equations, its weights, and prediction beside references."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from coterie.blocks.assign import make_assigner
from coterie.blocks.attention import (
    AttentionAssigner,
    AttentionHeads,
    SampleAttention,
    same_cluster,
    stray_similarity,
)


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
        (attend.out, layer.self_attn.out_proj), (attend.norm1, layer.norm1),
        (attend.norm2, layer.norm2), (attend.feed[0], layer.linear1),
        (attend.feed[3], layer.linear2),
    ):  # fmt: skip
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
def test_gradients(form: str) -> None:
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


def test_same_cluster_is_by_the_most_probable_one() -> None:
    log_p = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]).log()
    assert same_cluster(log_p).tolist() == [[True, True, False], [True, True, False],
                                            [False, False, True]]  # fmt: skip


@pytest.mark.parametrize("head", ["mlp", "linear"])
def test_heads_have_the_stated_sizes(head: str) -> None:
    # The paper states 67.9 million with K = 20: 66,362,880 are DistilBERT's, and 32,896 belong to
    # a layer of the released network that is never called.
    heads = AttentionHeads(768, 20, "layer", head)
    count = sum(p.numel() for p in heads.parameters())
    if head == "mlp":
        assert 66_362_880 + count + 256 * 128 + 128 == 67_922_324
    else:
        assert sum(p.numel() for p in heads.project.parameters()) == 768 * 128 + 128
        assert sum(p.numel() for p in heads.classify.parameters()) == 128 * 20 + 20


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


def test_the_rule_comes_back_from_its_arrays() -> None:
    made, vectors = assigner()
    moved = made.reordered(np.array([2, 0, 1]))
    np.testing.assert_array_equal(moved.logits(vectors), made.logits(vectors)[:, [2, 0, 1]])
    numbers = {"kind": moved.kind, **moved.numbers()}
    again = make_assigner(moved.arrays(), numbers, {"attention": AttentionAssigner})
    np.testing.assert_array_equal(again.logits(vectors), moved.logits(vectors))


def test_batches_of_everything_are_attention_over_everything() -> None:
    made, vectors = assigner()
    z = made.heads.project(torch.from_numpy(vectors))
    expected = made.heads.log_p(made.heads.attend(z)[0]).exp().detach().numpy()
    np.testing.assert_allclose(made.in_batches(vectors, 50, 3, seed=0), expected, atol=1e-6)
    some = made.in_batches(vectors, 5, 4, seed=0)
    np.testing.assert_allclose(some.sum(axis=1), 1, rtol=1e-5)
