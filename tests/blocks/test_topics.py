"""The topic decoder: against loops, by hand, its sums, its gradients."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from coterie.blocks import topics as block
from coterie.blocks.topics import (
    TopicDecoder,
    WordBags,
    choose,
    draw_log_theta,
    kl_to_normal,
    log_likelihood,
    log_likelihood_of_each,
    reconstruction_terms,
    top_words,
)

COUNTS = csr_matrix(
    np.array([[2, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 0, 3], [0, 0, 0, 4, 0]], np.float32)
)
K, T, V, L = 3, 2, 5, 4


@pytest.fixture
def decoder() -> TopicDecoder:
    torch.manual_seed(0)
    return TopicDecoder(torch.randn(V, 2 * L), torch.randn(K, L), T, hidden=6)


@pytest.fixture
def parts() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    ids, counts = WordBags(COUNTS)(torch.arange(4))
    log_beta = torch.randn(K, T, V).log_softmax(dim=2)
    return log_beta, torch.randn(4, T).log_softmax(dim=1), ids, counts


def loop_likelihood(log_beta, log_theta, i: int, k: int) -> float:
    """Eq. (13), the logarithm outside: over the words of text ``i`` as if it had cluster ``k``."""
    total = 0.0
    for w, count in enumerate(COUNTS.toarray()[i]):
        p = sum(math.exp(log_theta[i, t]) * math.exp(log_beta[k, t, w]) for t in range(T))
        total += count * math.log(p)
    return total


def test_bags_give_back_the_words_of_each_text() -> None:
    bags = WordBags(COUNTS)
    index = torch.tensor([2, 1, 3, 0, 2])
    ids, counts = bags(index)
    assert ids.shape == counts.shape == (5, 4)
    for row, text in enumerate(index.tolist()):
        found: Counter[int] = Counter()
        for word, count in zip(ids[row].tolist(), counts[row].tolist(), strict=True):
            found[word] += count
        assert +found == {w: c for w, c in enumerate(COUNTS.toarray()[text]) if c}
    assert not bags.state_dict()


def test_bags_without_any_word() -> None:
    ids, counts = WordBags(csr_matrix((2, 3), dtype=np.float32))(torch.tensor([1, 0]))
    assert ids.tolist() == counts.tolist() == [[0], [0]]


def test_words_of_a_topic_sum_to_one_and_so_do_those_of_a_text(decoder: TopicDecoder) -> None:
    log_beta = decoder.log_beta(torch.randn(K, L))
    assert log_beta.shape == (K, T, V)
    torch.testing.assert_close(log_beta.exp().sum(dim=2), torch.ones(K, T))
    every = torch.arange(V)[:, None]  # one text per word, all with the same topics and cluster
    theta = torch.randn(1, T).log_softmax(dim=1).expand(V, T)
    cluster = torch.full((V,), 1)
    log_p = log_likelihood(log_beta, theta, every, torch.ones(V, 1), cluster)
    assert log_p.exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_topic_vectors_equal_equations_10_and_11(decoder: TopicDecoder) -> None:
    centers = torch.randn(K, L)
    found = decoder.log_beta(centers)
    first, _, second = decoder.mix
    for k in range(K):
        for t in range(T):
            pair = torch.cat([centers[k] / decoder.size, decoder.seeds[t]])
            alpha = second.weight @ (first.weight @ pair + first.bias).relu() + second.bias
            logits = torch.stack([decoder.rho[w] @ alpha for w in range(V)])
            torch.testing.assert_close(found[k, t], logits.log_softmax(dim=0))


def test_a_map_of_words_is_a_map_of_topics_transposed() -> None:
    torch.manual_seed(0)
    decoder = TopicDecoder(torch.randn(V, 3), torch.randn(K, L), T, hidden=6)
    centers = torch.randn(K, L)
    wide = decoder.rho @ decoder.widen.weight  # rho in the width of the topics
    plain = TopicDecoder(wide, torch.randn(K, L), T, hidden=6)
    plain.mix, plain.seeds, plain.size = decoder.mix, decoder.seeds, decoder.size
    torch.testing.assert_close(decoder.log_beta(centers), plain.log_beta(centers))


def test_the_decoder_does_not_depend_on_the_scale_of_the_centers() -> None:
    centers, rho = torch.randn(K, L), torch.randn(V, 2 * L)
    found = []
    for scale in (1.0, 50.0):
        torch.manual_seed(0)
        found.append(TopicDecoder(rho, scale * centers, T).log_beta(scale * centers))
    torch.testing.assert_close(found[0], found[1])
    single = TopicDecoder(rho, torch.zeros(1, L), T)
    assert single.size.item() == 1 and single.log_beta(torch.zeros(1, L)).isfinite().all()


def test_the_posterior_is_a_network_on_shares_of_words(decoder: TopicDecoder) -> None:
    ids, counts = WordBags(COUNTS)(torch.tensor([2, 0]))
    dense = torch.from_numpy(COUNTS.toarray()[[2, 0]])
    dense = dense / dense.sum(dim=1, keepdim=True)
    mean, log_variance = decoder.posterior(ids, counts)
    expected = decoder.infer(dense @ decoder.bag.weight + decoder.bias)
    torch.testing.assert_close(torch.cat([mean, log_variance], dim=1), expected)
    decoder.infer[-1].bias.data += 100
    assert decoder.posterior(ids, counts)[1].max().item() == 10


def test_likelihood_equals_the_loop(parts) -> None:
    log_beta, log_theta, _, _ = parts
    cluster = torch.tensor([2, 0, 1, 1])
    found = log_likelihood(*parts, cluster)
    expected = [loop_likelihood(log_beta, log_theta, i, int(cluster[i])) for i in range(4)]
    torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-4, atol=1e-5)
    assert found[1] == 0  # a text without words


@pytest.mark.parametrize("chunk", [1 << 24, 40])
def test_likelihood_in_every_cluster_equals_the_loop(chunk: int, parts, monkeypatch) -> None:
    monkeypatch.setattr(block, "CHUNK", chunk)  # some clusters at a time or all at once
    log_beta, log_theta, _, _ = parts
    leaf = log_beta.clone().requires_grad_()
    found = log_likelihood_of_each(leaf, *parts[1:])
    slow = [[loop_likelihood(log_beta, log_theta, i, k) for k in range(K)] for i in range(4)]
    torch.testing.assert_close(found, torch.tensor(slow), rtol=1e-4, atol=1e-5)
    (gradient,) = torch.autograd.grad(found.sum(), leaf)
    by_one = sum(log_likelihood(leaf, *parts[1:], torch.full((4,), k)).sum() for k in range(K))
    torch.testing.assert_close(gradient, torch.autograd.grad(by_one, leaf)[0])


def test_likelihood_by_hand() -> None:
    # Two topics, half and half; one word has 0.2 and 0.6 in them: log 0.4, and it is there twice.
    log_beta = torch.tensor([[[0.2, 0.8], [0.6, 0.4]]]).log()
    log_theta = torch.tensor([[0.5, 0.5]]).log()
    ids, counts = torch.tensor([[0, 0]]), torch.tensor([[2.0, 0.0]])
    found = log_likelihood(log_beta, log_theta, ids, counts, torch.tensor([0]))
    assert found.item() == pytest.approx(2 * math.log(0.4), rel=1e-5)


def test_divergence() -> None:
    assert kl_to_normal(torch.zeros(2, 3), torch.zeros(2, 3)).tolist() == [0, 0]
    # N(1, e) against N(0, 1): -(1 + 1 - 1 - e) / 2 = (e - 1) / 2.
    one = kl_to_normal(torch.ones(1, 1), torch.ones(1, 1))
    assert one.item() == pytest.approx((math.e - 1) / 2, rel=1e-5)
    normal = torch.distributions.Normal
    mean, log_variance = torch.randn(4, 3), torch.randn(4, 3)
    slow = torch.distributions.kl_divergence(
        normal(mean, (0.5 * log_variance).exp()), normal(torch.zeros(4, 3), torch.ones(4, 3))
    )
    torch.testing.assert_close(kl_to_normal(mean, log_variance), slow.sum(dim=1))


def test_shares_of_topics_are_drawn_around_their_mean() -> None:
    torch.manual_seed(0)
    mean = torch.tensor([[1.0, -1.0, 0.0]])
    sure = draw_log_theta(mean, torch.full((1, 3), -60.0))
    torch.testing.assert_close(sure, mean.log_softmax(dim=1))
    drawn = draw_log_theta(torch.zeros(4000, 2), torch.zeros(4000, 2))
    torch.testing.assert_close(drawn.exp().sum(dim=1), torch.ones(4000))
    gap = drawn[:, 0] - drawn[:, 1]  # a difference of two standard normal numbers
    assert gap.var().item() == pytest.approx(2, rel=0.1) and abs(gap.mean().item()) < 0.1


def test_the_draw_of_equation_6_is_from_the_softmax_of_probabilities() -> None:
    torch.manual_seed(0)
    log_q = torch.tensor([[0.7, 0.2, 0.1]]).log().expand(20_000, 3)
    share = choose(log_q, "paper").bincount(minlength=3) / 20_000
    torch.testing.assert_close(share, log_q[0].exp().softmax(dim=0), atol=0.015, rtol=0)
    assert choose(log_q[:2], "argmax").tolist() == [0, 0]


@pytest.mark.parametrize("assign", ["argmax", "soft"])
def test_terms_equal_a_loop_over_the_texts_that_have_words(assign: str, decoder) -> None:
    ids, counts = WordBags(COUNTS)(torch.arange(4))
    centers, log_q = torch.randn(K, L), torch.randn(4, K).log_softmax(dim=1)
    torch.manual_seed(5)
    words, prior = reconstruction_terms(decoder, centers, log_q, (ids, counts), assign)
    torch.manual_seed(5)
    mean, log_variance = decoder.posterior(ids, counts)
    log_theta, log_beta = draw_log_theta(mean, log_variance).detach(), decoder.log_beta(centers)
    likelihood, divergence = 0.0, 0.0
    for i in (0, 2, 3):  # the second text has no word
        weight = log_q[i].exp() if assign == "soft" else torch.eye(K)[log_q[i].argmax()]
        each = [loop_likelihood(log_beta.detach(), log_theta, i, k) for k in range(K)]
        likelihood += sum(float(w) * v for w, v in zip(weight, each, strict=True))
        m, s = mean[i].detach(), log_variance[i].detach()
        divergence -= 0.5 * float((1 + s - m**2 - s.exp()).sum())
    assert words.item() == pytest.approx(-likelihood / 3, rel=1e-4)
    assert prior.item() == pytest.approx(divergence / 3, rel=1e-4)


@pytest.mark.parametrize("assign", ["argmax", "soft", "gumbel", "paper"])
def test_only_the_straight_through_draw_has_a_gradient_to_the_assignment(assign, decoder) -> None:
    bag = WordBags(COUNTS)(torch.arange(4))
    centers = torch.randn(K, L, requires_grad=True)
    log_q = torch.randn(4, K).log_softmax(dim=1).requires_grad_()
    words, prior = reconstruction_terms(decoder, centers, log_q, bag, assign)
    (words + prior).backward()
    assert (log_q.grad is not None) == (assign == "gumbel")
    assert centers.grad.abs().sum() > 0 and decoder.seeds.grad.abs().sum() > 0
    assert all(p.grad is not None for p in decoder.parameters())
    if assign == "gumbel":
        assert log_q.grad.abs().sum() > 0


def test_a_batch_without_words_costs_nothing(decoder: TopicDecoder) -> None:
    bag = WordBags(COUNTS)(torch.tensor([1, 1]))
    terms = reconstruction_terms(decoder, torch.randn(K, L), torch.zeros(2, K), bag, "argmax")
    assert [term.item() for term in terms] == [0, 0]


def test_gradients_are_right(decoder: TopicDecoder) -> None:
    decoder = decoder.double()
    ids, counts = WordBags(COUNTS)(torch.arange(4))
    cluster = torch.tensor([2, 0, 1, 1])

    def likelihood(centers: torch.Tensor, log_theta: torch.Tensor) -> torch.Tensor:
        return log_likelihood(decoder.log_beta(centers), log_theta, ids, counts.double(), cluster)

    centers = torch.randn(K, L, dtype=torch.double, requires_grad=True)
    log_theta = torch.randn(4, T, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(likelihood, (centers, log_theta))
    pair = torch.randn(2, 3, T, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: kl_to_normal(x[0], x[1]), (pair,))


def test_top_words_are_the_most_probable_ones() -> None:
    log_beta = torch.tensor([[[0.1, 0.6, 0.3]], [[0.5, 0.1, 0.4]]]).log()
    assert top_words(log_beta, ["a", "b", "c"], 2) == [[["b", "c"]], [["a", "c"]]]
    assert top_words(log_beta, ["a", "b", "c"], 9)[0] == [["b", "c", "a"]]
