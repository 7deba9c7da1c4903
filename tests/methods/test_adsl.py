"""ADSL: network over words, soft labels and weights of documents against loops, training."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score
from torch import nn

from coterie import ADSL
from coterie.arrays.assign import NeighborAssigner
from coterie.encoders import load_saved
from coterie.errors import DataError
from coterie.methods import adsl as module
from coterie.methods.adsl import (
    ADSLNet,
    DenseCNN,
    MaskedBatchNorm,
    WordEncoder,
    attention,
    attention_gradient,
    attention_step,
    center_distances,
    cluster_sums,
    in_a_row,
    label_term,
    refresh_share,
    refreshed,
    soft_cross_entropy,
    soft_labels,
)
from coterie.methods.train import TrainingContext, TrainingData
from coterie.texts.words import stem
from said import raises


def make(dense_input: bool = False, width: int = 5, maps: int = 4) -> DenseCNN:
    torch.manual_seed(0)
    net = DenseCNN(width, maps, dense_input=dense_input).double()
    for norm in net.norms:  # as after some training
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        nn.init.uniform_(norm.weight, 0.5, 2)
        nn.init.normal_(norm.bias)
    return net.eval()


def text(length: int, seed: int = 1, width: int = 5) -> torch.Tensor:
    return torch.randn(length, width, generator=torch.Generator().manual_seed(seed)).double()


def by_loop(net: DenseCNN, x: torch.Tensor) -> torch.Tensor:
    """Eq. (6) for one text without padding, word by word."""
    seen, given = ([x] if net.dense_input else []), x
    for convolution, norm in zip(net.convolutions, net.norms, strict=True):
        rows = []
        for m in range(len(x)):
            total = torch.zeros(convolution.out_channels).double()
            for offset in (-1, 0, 1):
                if 0 <= m + offset < len(x):
                    total += convolution.weight[:, :, offset + 1] @ given[m + offset]
            scaled = (total - norm.running_mean) / (norm.running_var + 1e-5).sqrt()
            rows.append((norm.weight * scaled + norm.bias).clamp(min=0))
        out = torch.stack(rows)
        seen.append(out)
        given = torch.cat(seen, dim=1)
    return out.max(dim=0).values


@pytest.mark.parametrize("dense_input", [False, True])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_equals_a_loop_over_words(dense_input: bool, length: int) -> None:
    net, x = make(dense_input), text(length)
    found = net(x[None], torch.ones(1, length))[0]
    torch.testing.assert_close(found, by_loop(net, x))


@pytest.mark.parametrize("dense_input", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_padding_changes_nothing(dense_input: bool, training: bool) -> None:
    net = make(dense_input).train(training)
    words = torch.stack([text(6), text(6, seed=2)])
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    found = net(words, mask)
    statistics = net.state_dict()
    padded, wide = torch.cat([words, 9 * torch.ones(2, 3, 5)], dim=1), F.pad(mask, (0, 3))
    net = make(dense_input).train(training)  # the same network, its statistics untouched
    torch.testing.assert_close(net(padded, wide), found)
    for name, tensor in net.state_dict().items():
        torch.testing.assert_close(tensor, statistics[name])
    if not training:
        torch.testing.assert_close(net(words[:1, :4], mask[:1, :4])[0], found[0])


@pytest.mark.parametrize("training", [False, True])
def test_skipping_the_padding_changes_nothing(training: bool, monkeypatch) -> None:
    words = torch.stack([text(6), text(6, seed=2), text(6, seed=3)])
    mask = torch.tensor([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]])
    skipped = in_a_row(words, mask, 1, skip=True)
    assert skipped[0].shape == (1, 5, 8 + 3) and skipped[2].tolist() == [0] * 3 + [1] * 7 + [2]
    assert skipped[1].flatten().tolist() == [1, 1, 0] + [1] * 6 + [0, 0]
    found = make().train(training)(words, mask)

    def keep_all(words, mask, gap, *, skip):
        return in_a_row(words, mask, gap, skip=False)

    monkeypatch.setattr(module, "in_a_row", keep_all)
    torch.testing.assert_close(make().train(training)(words, mask), found)


def test_a_text_of_padding_alone_is_zero() -> None:
    net = make().train()
    found = net(text(3)[None], torch.zeros(1, 3))
    assert not found.any()
    for tensor in net.state_dict().values():
        assert torch.isfinite(tensor).all()


def test_batch_norm_equals_torch_without_padding() -> None:
    ours, theirs = MaskedBatchNorm(4).double(), nn.BatchNorm1d(4).double()
    for step in range(1, 15):
        theirs.momentum = max(0.1, 1 / step)
        x = torch.randn(6, 4, 5, generator=torch.Generator().manual_seed(step)).double()
        x.requires_grad_()
        found, expected = ours(x, torch.ones(6, 1, 5)), theirs(x)
        torch.testing.assert_close(found, expected)
        grad = torch.randn(found.shape).double()
        for one, other in zip(
            torch.autograd.grad(found, [x, ours.weight, ours.bias], grad),
            torch.autograd.grad(expected, [x, theirs.weight, theirs.bias], grad),
            strict=True,
        ):
            torch.testing.assert_close(one, other)
        torch.testing.assert_close(ours.running_mean, theirs.running_mean)
        torch.testing.assert_close(ours.running_var, theirs.running_var)
    x = torch.randn(2, 4, 5).double()
    torch.testing.assert_close(ours.eval()(x, torch.ones(2, 1, 5)), theirs.eval()(x))


def test_a_batch_of_one_word_is_fine_and_leaves_no_trace() -> None:
    net = make().train()
    before = [norm.running_var.clone() for norm in net.norms]
    out = net(text(1)[None], torch.ones(1, 1))
    assert torch.isfinite(out).all()
    for norm, variance in zip(net.norms, before, strict=True):
        torch.testing.assert_close(norm.running_var, variance)


def test_gradients_pass_gradcheck() -> None:
    net = make().train()
    mask = torch.tensor([[1.0, 1, 1, 0], [1, 1, 0, 0]])
    words = torch.stack([text(4), text(4, seed=3)]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: net(x, mask), (words,))


WORDED = ["Cars and trucks", "a car on the road", "ripe apples", "apple pie", "trucks, cars and"]
EIGHT = [*WORDED, "an old road", "the apple tree", "fast trucks"]


def word_encoder(texts: list[str] = WORDED, **settings) -> WordEncoder:
    encoder = WordEncoder(word_vectors="ppmi", **settings)
    encoder.learn(texts)
    torch.manual_seed(0)
    encoder.make_coder(6, 3)
    return encoder


def test_rows_are_tf_idf_of_stems_with_a_mean_square_of_one() -> None:
    encoder = word_encoder()
    items, rows = encoder.prepare(WORDED)
    found = items.batch(rows)["rows"].numpy()
    stems = [[stem(w) for w in t.lower().replace(",", "").split()] for t in WORDED]
    vocabulary = encoder.stems.words
    assert set(vocabulary) == {"car", "truck", "road", "ripe", "appl", "pie"}
    for i, words in enumerate(stems):
        row = np.zeros(6)
        for j, word in enumerate(vocabulary):
            holders = sum(word in other for other in stems)
            row[j] = words.count(word) * (np.log(6 / (1 + holders)) + 1)
        row *= np.sqrt(6) / np.linalg.norm(row)
        np.testing.assert_allclose(found[i], row, rtol=1e-5)


def test_words_are_all_words_in_order_up_to_the_limit() -> None:
    encoder = word_encoder(max_length=3)
    items, rows = encoder.prepare(WORDED)
    ids = items.batch(rows)["words"]
    words = [[encoder.words.words[i - 1] for i in line.tolist() if i] for line in ids]
    assert words == [t.lower().replace(",", "").split()[:3] for t in WORDED]
    assert ids[2].tolist()[2] == 0


def test_texts_with_equal_words_are_one_item_and_order_matters() -> None:
    items, rows = word_encoder().prepare(["ripe apples", "RIPE apples!", "apples ripe"])
    assert rows.tolist() == [0, 0, 1] and len(items) == 2


def test_unknown_words_are_skipped_and_texts_without_known_ones_are_padding() -> None:
    encoder = word_encoder()
    items, rows = encoder.prepare(["ripe zebra apples", "zebra"])
    features = items.batch(rows)
    assert (features["words"] > 0).sum(dim=1).tolist() == [2, 0]
    assert not features["rows"][1].any()
    encoder.make_trainable()
    items, rows = encoder.prepare(["zebra"])
    assert not encoder.encode(items).any()


def test_stop_words_count_where_there_is_nothing_else() -> None:
    assert word_encoder(["the", "a"]).stems.words == ["a", "the"]
    with raises(DataError, "no text has a word in it; use another method"):
        word_encoder(["_", "__"])


def test_it_begins_as_a_code_and_turns_to_words() -> None:
    encoder = word_encoder()
    items, rows = encoder.prepare(WORDED)
    assert list(encoder.reads(items).batch(rows)) == ["rows"]
    assert encoder.dim == 3 and encoder.encode(items).shape == (5, 3)
    vectors = encoder.vectors
    encoder.make_trainable()
    assert encoder.dim == 128 and encoder.encode(items).shape == (5, 128)
    assert encoder.coder is None and "rows" not in encoder.prepare(WORDED)[0].batch(np.arange(2))
    assert list(encoder.reads(items).batch(rows)) == ["words"]
    np.testing.assert_array_equal(encoder.embedding.weight[1:].detach().numpy(), vectors)
    assert not encoder.embedding.weight[0].any()


@pytest.mark.parametrize("face", ["code", "words"])
@pytest.mark.parametrize("dense_input", [False, True])
def test_saved_and_loaded_it_gives_the_same_vectors(face, dense_input, tmp_path: Path) -> None:
    encoder = word_encoder(dense_input=dense_input, max_length=4, normalize=dense_input)
    if face == "words":
        encoder.make_trainable()
        encoder.train()(encoder.prepare(WORDED)[0].batch(np.arange(5)))  # moves the statistics
    encoder.save(tmp_path)
    again = load_saved(tmp_path)
    assert (again.kind, again.face, again.dim) == ("words", face, encoder.dim)
    new = ["a ripe car", "zebra", *WORDED]
    expected, found = (e.encode(*e.prepare(new)) for e in (encoder, again))
    np.testing.assert_array_equal(found, expected)


def distances(n: int = 7, k: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(0.5, 9, size=(n, k)))


def labels_by_loop(s: list[list[float]], a: float) -> list[list[float]]:
    """Eq. (2)-(3) as printed."""
    out = []
    for row in s:
        q = [min(row) / value for value in row]
        total = sum(value**a for value in q)
        out.append([value**a / total for value in q])
    return out


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 10.0])
def test_soft_labels_equal_equations_2_and_3(sharpness: float) -> None:
    s = distances()
    expected = torch.tensor(labels_by_loop(s.tolist(), sharpness), dtype=torch.float64)
    torch.testing.assert_close(soft_labels(s, sharpness), expected)


def test_soft_labels_by_hand() -> None:
    # q = (1, 1/2), squared (1, 1/4), over their sum 5/4
    found = soft_labels(torch.tensor([[3.0, 6.0]]), 2.0)
    torch.testing.assert_close(found, torch.tensor([[0.8, 0.2]]))


def test_the_tenth_power_stays_in_range_in_float32() -> None:
    s = torch.tensor([[1e-6, 1e6], [1e5, 2e5], [1e-7, 2e-7]])
    found = soft_labels(s, 10.0)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found[1:, 1], torch.full((2,), 1 / (1 + 2.0**10)), rtol=1e-3, atol=0)


def test_a_document_on_its_center_gets_a_one() -> None:
    found = soft_labels(torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]), 10.0)
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))


def test_distances_are_to_the_weighted_means() -> None:
    rng = np.random.default_rng(1)
    x, labels = rng.normal(size=(9, 3)), np.array([0, 1, 2, 0, 1, 2, 0, 0, 1])
    weights = rng.integers(1, 4, size=9)
    found = center_distances(*map(torch.from_numpy, (x, labels, weights.astype(float))), 3)
    for i in range(9):
        for j in range(3):
            repeated = [x[r] for r in range(9) if labels[r] == j for _ in range(weights[r])]
            center = sum(repeated) / len(repeated)
            assert float(found[i, j]) == pytest.approx(((x[i] - center) ** 2).sum())


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_refreshed_labels_equal_equations_4_and_5(share: float) -> None:
    y, p = soft_labels(distances(), 2.0), soft_labels(distances(seed=1), 1.0)
    softmax, by_sum = (refreshed(y, p, share, norm) for norm in ("softmax", "sum"))
    for i, (row_y, row_p) in enumerate(zip(y.tolist(), p.tolist(), strict=True)):
        mixed = [a + share * b for a, b in zip(row_y, row_p, strict=True)]
        powers = [np.exp(value) for value in mixed]
        assert softmax[i].tolist() == pytest.approx([value / sum(powers) for value in powers])
        assert by_sum[i].tolist() == pytest.approx([value / sum(mixed) for value in mixed])


@pytest.mark.parametrize(("epoch", "power"), [(0, 5), (6, 4), (24, 1), (30, 0)])
def test_the_share_of_the_posterior_grows(epoch: int, power: int) -> None:
    share = refresh_share(torch.tensor(float(epoch)), 30, 6, 0.85)
    assert float(share) == pytest.approx(0.85**power)


def problem() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(2)
    v = torch.from_numpy(rng.uniform(0.2, 1.5, size=12))
    loss = torch.from_numpy(rng.uniform(0, 3, size=12))
    return v, loss, torch.tensor([0, 1, 2, 4] * 3)  # cluster 3 is empty


def test_attention_equals_equation_10_and_sums_to_one_per_cluster() -> None:
    v, _, groups = problem()
    found = attention(v, groups, 5)
    for i in range(12):
        total = sum(float(v[j]) ** 2 for j in range(12) if groups[j] == groups[i])
        assert float(found[i]) == pytest.approx(float(v[i]) ** 2 / total)
    sums = cluster_sums(found, groups, 5)
    torch.testing.assert_close(sums, torch.tensor([1.0, 1, 1, 0, 1]).double())


def test_the_closed_form_is_the_gradient_over_the_whole_corpus() -> None:
    v, loss, groups = problem()
    leaf = v.clone().requires_grad_()
    (expected,) = torch.autograd.grad((attention(leaf, groups, 5) * loss).sum(), leaf)
    torch.testing.assert_close(attention_gradient(v, loss, groups, 5), expected)


def test_attention_passes_gradcheck() -> None:
    v, _, groups = problem()
    leaf = v.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: attention(x, groups, 5), (leaf,))


def test_with_equal_v_a_step_is_the_distance_to_the_mean_loss_by_hand() -> None:
    loss, groups = torch.tensor([1.0, 2.0, 5.0, 9.0]), torch.tensor([0, 0, 1, 1])
    step = attention_step(torch.ones(4), loss, groups, 2, 0.5)
    torch.testing.assert_close(step, torch.tensor([-0.25, 0.25, -1.0, 1.0]))


def test_cross_entropy_equals_equation_8() -> None:
    y, p = soft_labels(distances(), 2.0), soft_labels(distances(seed=1), 1.0)
    found = soft_cross_entropy(p.log(), y)
    for i in range(7):
        expected = -sum(a * np.log(b) for a, b in zip(y[i].tolist(), p[i].tolist(), strict=True))
        assert float(found[i]) == pytest.approx(expected)


SMALL = {
    "ae_layers": (60, 20),
    "ae_lr": 1e-3,
    "ae_steps": 45,
    "epochs": 8,
    "refresh_epochs": 3,
    "batch_size": 30,
    "word_vectors": "ppmi",
    "random_state": 0,
}


def make_net(n: int = 8, k: int = 3, *, weighted: bool = True, dropout: float = 0.0) -> ADSLNet:
    torch.manual_seed(0)
    encoder = word_encoder(EIGHT)
    encoder.make_trainable()
    return ADSLNet(encoder, torch.rand(n, k).softmax(dim=1), dropout, attend=weighted)


def make_batch(encoder: WordEncoder, rows: list[int]):
    items, numbers = encoder.prepare(EIGHT)
    return TrainingData(items, numbers[None]).batch(np.array(rows), (0,), torch.device("cpu"))


@pytest.mark.parametrize("weighted", [True, False])
def test_the_batch_loss_is_the_weighted_cross_entropy(weighted: bool) -> None:
    net = make_net(weighted=weighted)
    net.v.uniform_(0.3, 1)
    net.weigh()
    rows = [1, 5, 6]
    batch = make_batch(net.encoder, rows)
    net.eval()
    found = label_term(net, batch)["labels"]
    p = net.head(net.encoder(batch.features)).softmax(dim=1).detach()
    groups = net.target.argmax(dim=1).tolist()
    total, losses = 0.0, []
    for position, i in enumerate(rows):
        losses.append(-sum(float(net.target[i, j] * p[position, j].log()) for j in range(3)))
        cluster = sum(float(net.v[j]) ** 2 for j in range(8) if groups[j] == groups[i])
        beta = float(net.v[i]) ** 2 / cluster
        total += (8 / 3 / 3 * beta if weighted else 1 / 3) * losses[-1]
    assert float(found.detach()) == pytest.approx(total, rel=1e-5)
    assert net.losses[rows].tolist() == pytest.approx(losses, rel=1e-5)
    assert (net.losses[[0, 2, 3, 4, 7]] == 1).all()  # not seen


def facts(n: int = 8) -> TrainingContext:
    return TrainingContext(n, 1, 0, rows=np.arange(n))


def test_after_an_epoch_v_takes_a_step_on_the_losses_and_weights_follow() -> None:
    (stage,) = ADSL(3, attention_lr=0.7, attention_min=0.4)._training_stages(facts())
    net = make_net()
    net.v.uniform_(0.3, 1)
    net.losses.uniform_(0, 4)
    v, losses = net.v.clone().double(), net.losses.clone().double()
    groups = net.target.argmax(dim=1)
    leaf = v.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((attention(leaf, groups, 3) * losses).sum(), leaf)
    stage.after_epoch(net, 1)
    for i in range(8):
        size = int((groups == groups[i]).sum())
        expected = max(0.4, float(v[i] - 0.7 * size / 2 * gradient[i]))
        assert float(net.v[i]) == pytest.approx(expected, rel=1e-4)
    torch.testing.assert_close(net.weight, 8 / 3 * attention(net.v, groups, 3))


@pytest.mark.parametrize("norm", ["softmax", "sum"])
def test_a_refresh_mixes_in_the_posteriors_of_all_and_starts_the_weights_anew(norm: str) -> None:
    model = ADSL(3, epochs=30, label_norm=norm)
    (stage,) = model._training_stages(facts())
    net = make_net(dropout=0.5).train()
    net.v.uniform_(0.3, 1)
    net.losses.uniform_(0, 2)
    h = torch.randn(8, 128)
    stage.after_epoch(net, 12)
    assert not torch.equal(net.v, torch.ones(8))
    stage.refresh(net, h)
    posterior = net.head(h).softmax(dim=1)  # without dropout, though the network trains
    torch.testing.assert_close(net.target, refreshed(net.original, posterior, 0.85**3, norm))
    assert torch.equal(net.v, torch.ones(8))
    torch.testing.assert_close(
        net.weight, 8 / 3 * attention(torch.ones(8), net.target.argmax(dim=1), 3)
    )
    before = net.target.clone()
    stage.after_epoch(net, 30)
    stage.refresh(net, -h)
    assert torch.equal(net.target, before)  # after the last epoch there is nothing to train


@pytest.mark.parametrize(
    ("variant", "refreshes", "weighted"),
    [("one", 0, False), ("soft", 0, False), ("dynamic", 24, False), ("attention", 24, True)],
)
def test_variants_are_those_of_the_paper(variant: str, refreshes: int, weighted: bool) -> None:
    model = ADSL(2, variant=variant, batch_size=2)
    (stage,) = model._training_stages(facts(7))
    assert (stage.steps, stage.refresh_every) == (120, refreshes)
    encoder = word_encoder()
    encoder.make_trainable()
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(4, 3)).astype(np.float32)
    rows = np.array([0, 1, 2, 3, 0, 0, 1])
    start = NeighborAssigner(vectors, np.array([0, 0, 1, 1]))
    net = model._build_network(encoder, start, TrainingContext(7, 1, 0, rows=rows))
    assert net.attend == weighted
    if variant == "one":
        expected = np.eye(2)[start.labels][rows]
    else:
        repeated = vectors[rows]
        centers = [repeated[start.labels[rows] == j].mean(axis=0) for j in range(2)]
        s = np.array([[((x - c) ** 2).sum() for c in centers] for x in repeated])
        q = (s.min(axis=1, keepdims=True) / s) ** 10
        expected = q / q.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(net.original.numpy(), expected, atol=1e-5)
    assert torch.equal(net.target, net.original)
    assert (net.weight == 1).all() == (not weighted)


def test_shares_of_topics_take_the_place_of_the_soft_labels(topics) -> None:
    texts = sorted([*topics[0], topics[0][0]])  # as a fit has them
    model = ADSL(3, **{**SMALL, "variant": "lda", "guard": False})
    seen: list[tuple[ADSLNet, int]] = []
    build = model._build_network

    def noted(encoder: WordEncoder, start: NeighborAssigner, context: TrainingContext) -> ADSLNet:
        seen.append((build(encoder, start, context), context.seed))
        return seen[0][0]

    model._build_network = noted
    model.fit(texts)
    ((net, seed),) = seen
    given = {"doc_topic_prior": 0.1, "max_iter": 20, "random_state": seed % 2**32}
    counts = CountVectorizer(dtype=np.float32).fit_transform(texts)
    topics_of = LatentDirichletAllocation(3, learning_method="batch", **given).fit(counts)
    np.testing.assert_allclose(net.original.cpu(), topics_of.transform(counts), atol=1e-4)
    assert torch.equal(net.target, net.original) and (net.weight == 1).all()
    losses = model.history_.losses("lda")
    assert losses[-1] < losses[0]


def test_zero_epochs_are_the_clustering_of_the_codes(topics) -> None:
    model = ADSL(3, **{**SMALL, "epochs": 0}).fit(topics[0])
    assert model.guard_ is None and model.encoder_.face == "code"
    assert adjusted_rand_score(model.labels_, model.start_labels_) == 1
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_codes_of_unit_length_are_an_option(topics) -> None:
    model = ADSL(3, normalize=True, **{**SMALL, "epochs": 0}).fit(topics[0])
    np.testing.assert_allclose(np.linalg.norm(model.vectors_, axis=1), 1, rtol=1e-5)
    trained = ADSL(3, normalize=True, guard=False, **SMALL).fit(topics[0])
    assert not np.allclose(np.linalg.norm(trained.vectors_, axis=1), 1)  # only codes are


def test_the_guard_returns_the_code_and_its_encoder(topics) -> None:
    model = ADSL(3, **{**SMALL, "lr": 30.0}).fit(topics[0])
    assert model.guard_.fired == (model.encoder_.face == "code")
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
