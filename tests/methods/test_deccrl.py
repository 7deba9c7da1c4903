"""DECCRL: topic model, empty clusters, losses against loops over the equations, training."""

import json
import logging
import math
from collections import Counter

import numpy as np
import pytest
import torch
from conftest import TOPICS
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

import coterie
from coterie import DECCRL
from coterie._util.progress import Progress
from coterie.encoders import VectorEncoder
from coterie.methods import deccrl as block
from coterie.methods.deccrl import (
    DECCRLNet,
    EmptyClusters,
    TopicDecoder,
    WordBags,
    choose,
    contrast_term,
    draw_log_theta,
    kl_to_normal,
    log_likelihood,
    log_likelihood_of_each,
    reconstruction_terms,
    top_words,
    topic_terms,
)
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.losses.student_t import log_assignment
from coterie.methods.train import TrainingContext, TrainingData

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


Epochs = list[list[tuple[float, list[float]]]]
EPOCHS: dict[str, tuple[Epochs, list[float]]] = {  # vectors, assignments; the centers after them
    "the least sure text": (
        [[(1, [0.9, 0.1, 0]), (2, [0.5, 0.4, 0.1]), (3, [0.2, 0.7, 0.1])]],
        [0, 0, 2],
    ),
    "different texts": (
        [[(8, [0.8, 0.1, 0.1]), (5, [0.5, 0.3, 0.2]), (6, [0.6, 0.2, 0.2])]],
        [0, 5, 6],
    ),
    "fewer texts than clusters": ([[(3, [0.4, 0.3, 0.2, 0.1])]], [0, 3, 0, 0]),
    "a new epoch": ([[(1, [0.9, 0.1]), (2, [0.1, 0.9])], [(7, [0.9, 0.1])]], [0, 7]),
}


@pytest.mark.parametrize("case", EPOCHS)
def test_empty_clusters_move_to_the_least_sure_texts_of_the_epoch(case: str) -> None:
    epochs, wanted = EPOCHS[case]
    watcher, centers = EmptyClusters(len(wanted), 1), torch.zeros(len(wanted), 1)
    for epoch in epochs:
        for vector, shares in epoch:  # a batch each
            watcher.watch(torch.tensor([[float(vector)]]), torch.tensor([shares]).log())
        watcher.reseed(centers)
    assert centers.flatten().tolist() == wanted
    assert int(watcher.moved) == sum(place != 0 for place in wanted)


SETTINGS = {
    "steps": 40,
    "batch_size": 30,
    "lr": 1e-3,
    "head_lr": 1e-2,
    "word_dim": 20,
    "random_state": 0,
}
TEXTS = ["red apple pie", "green apple", "apple pie apple", "fast car", "slow red car", "of the"]


def make_net(model: DECCRL, texts: list[str] | None = None) -> tuple[DECCRLNet, TrainingData]:
    """The network on random vectors, one per text, and the data to train it on."""
    texts = TEXTS if texts is None else texts
    encoder = VectorEncoder(dropout=0)
    x = np.random.default_rng(0).normal(size=(len(texts), 5)).astype(np.float32)
    items, rows = encoder.prepare(x)
    encoder.make_trainable()
    start = model._initial_assigner(x, np.ones(len(x), np.float32), 0)
    torch.manual_seed(0)
    net = model._build_network(encoder, start, TrainingContext(len(x), 1, 0, texts))
    return net, TrainingData(items, rows[None])


def terms_of(model: DECCRL, net: DECCRLNet, data: TrainingData) -> dict[str, torch.Tensor]:
    (stage,) = model._training_stages(TrainingContext(len(data), 1, 0, TEXTS))
    return stage.loss(net, data.batch(np.arange(len(data)), stage.views, torch.device("cpu")))


def reduced(net: DECCRLNet, data: TrainingData) -> torch.Tensor:
    return net.reduce(data.vectors(net.encoder, torch.device("cpu"), Progress()))


def small(**more) -> DECCRL:
    return DECCRL(2, word_vectors="ppmi", **{"word_dim": 8, "steps": 30, **more})


def test_the_start_is_kmeans_on_principal_components() -> None:
    x = np.random.default_rng(0).normal(size=(60, 9)).astype(np.float32)
    assigner = DECCRL(4, word_dim=10)._initial_assigner(x, np.ones(60, np.float32), 0)
    expected = PCA(5, svd_solver="full").fit_transform(x)
    seen = assigner.seen(x)
    np.testing.assert_allclose(np.abs(seen), np.abs(expected), atol=1e-4)
    labels = assigner.logits(x).argmax(axis=1)
    for k in range(4):
        center = seen[labels == k].mean(axis=0)
        np.testing.assert_allclose(assigner.inner.centers[k], center, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"word_dim": 6}, 3), ({"word_dim": 6, "latent_dim": 4}, 4), ({}, 5), ({"word_dim": 1}, 1)],
    ids=str,
)
def test_width_of_the_space_of_the_clusters(settings: dict, expected: int) -> None:
    net, _ = make_net(DECCRL(2, word_vectors="ppmi", **settings))
    assert net.reduce.out_features == expected
    assert net.project[0].in_features == expected and net.assign.centers.shape[1] == expected
    straight = isinstance(net.topics.widen, torch.nn.Identity)
    assert straight == (settings.get("word_dim", 300) == 2 * expected)


def test_the_network_starts_as_the_start_solution() -> None:
    model = small()
    net, data = make_net(model)
    x = data.vectors(net.encoder, torch.device("cpu"), Progress()).numpy()
    start = model._initial_assigner(x, np.ones(len(x), np.float32), 0)
    np.testing.assert_allclose(net.assign.centers.detach(), start.inner.centers)
    np.testing.assert_allclose(reduced(net, data).detach(), start.seen(x), atol=1e-5)


def test_word_vectors_are_those_of_the_seed() -> None:
    found = []

    class Kept(DECCRL):
        def _build_network(self, *args):
            net = super()._build_network(*args)
            found.append(net.topics.rho)
            return net

    for seed in (0, 0, 1):
        settings = {"encoder": "tfidf", "word_vectors": "ppmi", "word_dim": 8, "steps": 1}
        Kept(2, random_state=seed, **settings).fit(TEXTS)
    assert torch.equal(found[0], found[1]) and not torch.allclose(found[0], found[2])


def test_training_leaves_the_start_solution_alone() -> None:
    model = small()
    assigner = model._initial_assigner(np.eye(5, dtype=np.float32), np.ones(5, np.float32), 0)
    before = {name: array.copy() for name, array in assigner.arrays().items()}
    net = DECCRLNet(VectorEncoder(), assigner, 1.0, 4)
    for parameter in net.parameters():
        parameter.data += 1
    for name, array in assigner.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_contrast_is_twice_that_of_sccl() -> None:
    net, _ = make_net(small())
    h1, h2 = torch.randn(2, 6, net.reduce.out_features).unbind()
    groups = torch.tensor([0, 1, 2, 3, 4, 0])
    once = nt_xent(net.project(h1), net.project(h2), 0.3, groups=groups)
    torch.testing.assert_close(contrast_term(net, (h1, h2), groups, 0.3, "ntxent"), 2 * once)


def test_printed_contrast_equals_equations_2_to_4() -> None:
    net, _ = make_net(small())
    h1, h2 = torch.randn(2, 5, net.reduce.out_features).unbind()
    v = [torch.nn.functional.normalize(net.project(h), dim=1).detach() for h in (h1, h2)]
    total = 0.0
    for i in range(5):
        for a, b in ((0, 1), (1, 0)):
            below = sum(np.exp(float(v[a][i] @ v[b][m]) / 0.5) for m in range(5) if m != i)
            total -= np.log(np.exp(float(v[a][i] @ v[b][i]) / 0.5) / below)
    found = contrast_term(net, (h1, h2), None, 0.5, "cross-view-decoupled")
    assert found.item() == pytest.approx(total / 5, rel=1e-4)


def test_the_total_is_the_weighted_sum() -> None:
    model = small(cluster_weight=0.3, topic_weight=0.7)
    net, data = make_net(model)
    net.step += 10  # all of the warm-up of the divergence is over
    torch.manual_seed(3)
    terms = terms_of(model, net, data)
    assert list(terms) == ["contrast", "cluster", "words", "prior", "~ratio"]
    h = reduced(net, data)
    q = log_assignment(h, net.assign.centers).exp()
    p = q**2 / q.sum(dim=0)
    p = (p / p.sum(dim=1, keepdim=True)).detach()
    torch.testing.assert_close(terms["cluster"], 0.3 * (p * (p / q).log()).sum(dim=1).mean())
    torch.manual_seed(3)
    words, prior = topic_terms(net, q.log(), torch.arange(6), "argmax", 0)
    torch.testing.assert_close(terms["words"], 0.7 * words)
    torch.testing.assert_close(terms["prior"], 0.7 * prior)


def test_the_ratio_is_that_of_the_gradients_on_the_centers() -> None:
    model = small(cluster_weight=0.3, topic_weight=0.7)
    net, data = make_net(model)
    net.step += 10
    torch.manual_seed(3)
    terms = terms_of(model, net, data)
    lengths = []
    for name in ("words", "cluster"):
        net.assign.centers.grad = None
        terms[name].backward(retain_graph=True)
        lengths.append(net.assign.centers.grad.norm().item())
    assert terms["~ratio"].item() == pytest.approx(lengths[0] / lengths[1], rel=1e-5)
    assert not terms["~ratio"].requires_grad and lengths[1] > 0


def test_the_divergence_fades_in_over_a_third_of_the_steps() -> None:
    model = small(steps=30, topic_weight=1.0)
    net, data = make_net(model)
    found = []
    for step in (0, 5, 10, 20):
        net.step.fill_(step)
        found.append(terms_of(model, net, data)["prior"].item())
        assert int(net.step) == step  # the loop counts
    assert found[0] == 0
    assert found[1] == pytest.approx(found[2] / 2, rel=1e-4)
    assert found[3] == pytest.approx(found[2], rel=1e-4)


@pytest.mark.parametrize("assign", ["argmax", "soft", "paper", "gumbel"])
def test_the_encoder_feels_the_words_only_through_a_differentiable_draw(assign: str) -> None:
    net, data = make_net(small())
    batch = data.batch(np.arange(6), (0,), torch.device("cpu"))
    h = net.reduce(batch.encode(net.encoder)[0])
    words, prior = topic_terms(net, net.assign(h), batch.index, assign, 0)
    (words + prior).backward()
    felt = [p.grad is not None for part in (net.encoder, net.reduce) for p in part.parameters()]
    assert felt == [assign == "gumbel"] * len(felt)
    assert net.assign.centers.grad.abs().sum() > 0


def test_centers_feel_the_words_after_the_warmup_and_at_any_scale_alike() -> None:
    net, _ = make_net(small())
    log_o = torch.zeros(6, 2).log_softmax(dim=1)

    def pull(step: int) -> torch.Tensor:
        net.zero_grad()
        net.step.fill_(step)
        torch.manual_seed(0)
        words, _ = topic_terms(net, log_o, torch.arange(6), "argmax", 3)
        words.backward()
        return net.assign.centers.grad.clone()

    assert pull(2).abs().sum() == 0 and pull(3).abs().sum() > 0
    before = pull(3)
    net.assign.centers.data *= 8
    net.topics.size *= 8
    torch.testing.assert_close(pull(3), before)


def test_the_latent_autoencoder_has_half_the_width() -> None:
    model = small(reconstruction="latent", topic_weight=2.0)
    net, data = make_net(model)
    assert [tuple(p.shape) for p in net.latent.parameters() if p.ndim == 2] == [(2, 4), (4, 2)]
    terms = terms_of(model, net, data)
    h = reduced(net, data).detach()
    slow = sum(float(((net.latent(row) - row) ** 2).sum().detach()) for row in h) / len(h)
    assert list(terms) == ["contrast", "cluster", "latent"]
    assert terms["latent"].item() == pytest.approx(2 * slow, rel=1e-4)


@pytest.mark.parametrize(("n_views", "views"), [(1, (0, 0)), (2, (0, 1)), (3, (0, 1, 2))], ids=str)
def test_views_and_the_parts_that_learn(n_views: int, views: tuple) -> None:
    (stage,) = DECCRL(3, steps=4)._training_stages(TrainingContext(100, n_views, 0, ["a"] * 100))
    assert stage.views == views
    assert set(stage.lr) == {"encoder", "reduce", "project", "assign", "topics"}
    assert stage.lr["encoder"] == 5e-6 and stage.lr["topics"] == stage.lr["reduce"] == 5e-4


@pytest.mark.parametrize(
    ("n", "steps"), [(100, 100), (990, 500), (8000, 3000), (20_000, 3000), (40_000, 6000)]
)
def test_default_number_of_steps(n: int, steps: int) -> None:
    (stage,) = DECCRL(3)._training_stages(TrainingContext(n, 1, 0, ["a"]))
    assert stage.steps == steps


@pytest.mark.parametrize("labels", ["head", "kmeans"])
def test_topics_are_the_planted_words_of_their_cluster(labels: str, topics, tmp_path) -> None:
    texts, truth = topics
    model = DECCRL(3, encoder="tfidf", n_topics=2, labels_from=labels, guard=False, **SETTINGS)
    model.set_params(steps=100).fit(texts)
    assert len(model.topics_) == 3
    for number, found in enumerate(model.topics_):
        (name,) = {truth[i] for i in np.flatnonzero(model.labels_ == number)[:1]}
        assert len(found) == 2
        for words in found:
            assert len(words) == 10 == len(set(words))
            assert len(set(words[:5]) & set(TOPICS[name])) >= 4, (name, words)
    model.save(tmp_path / "m")
    assert coterie.load(tmp_path / "m").topics_ == model.topics_
    assert json.loads((tmp_path / "m" / "config.json").read_text())["fitted"]["topics_"]


def test_vectors_without_texts_are_clustered_without_words(caplog) -> None:
    x = np.random.default_rng(0).normal(size=(40, 4))
    with caplog.at_level(logging.WARNING, logger="coterie"):
        model = DECCRL(2, encoder="precomputed", steps=3, random_state=0).fit(x)
    assert "nothing is reconstructed" in caplog.text
    assert model.topics_ is None and set(model.history_.rows[-1]["terms"]) == {
        "contrast",
        "cluster",
    }


def test_texts_of_nothing_but_stop_words() -> None:
    texts = ["of the", "it is", "we are not", "the the", "is it", "not of"]
    model = DECCRL(2, encoder="tfidf", steps=3, random_state=0).fit(texts)
    assert model.topics_ is None and (model.labels_ >= 0).all()


def test_empty_clusters_are_moved(topics) -> None:
    class Lost(DECCRL):
        def _build_network(self, encoder, start, facts):
            net = super()._build_network(encoder, start, facts)
            net.assign.centers.data[2] = 1e3
            return net

    settings = {**SETTINGS, "steps": 30, "encoder": "tfidf", "guard": False}
    assert len(set(Lost(3, reseed=False, **settings).fit(topics[0]).labels_)) == 2
    model = Lost(3, **settings).fit(topics[0])
    assert len(set(model.labels_)) == 3 and int(model.net_.empty.moved) >= 1
