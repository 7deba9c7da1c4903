"""ClusterBERT: noise, decoder, head and targets against loops, stages, training."""

import copy
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
)

from coterie import ClusterBERT, load
from coterie.encoders import VectorEncoder, load_encoder, sentence
from coterie.errors import UsageError
from coterie.methods.cluster_bert import (
    ClusterBERTNet,
    StageRecord,
    TokenDecoder,
    align,
    cluster_term,
    delete_entries,
    delete_words,
    harden,
    know_words,
    put_centers,
    reconstruction_loss,
    shared_parts,
    soft_cross_entropy,
    survivors,
)
from coterie.methods.train import TrainingContext, TrainingData
from loops import loop_target
from said import raises

PAD = 0
# [CLS] a(2 tokens) b c [SEP]; [CLS] d [SEP]; a text of special tokens alone
TOKENS = torch.tensor([[101, 5, 6, 7, 8, 102], [101, 9, 102, 0, 0, 0], [101, 102, 0, 0, 0, 0]])
PRESENT = (TOKENS != PAD).long()
WORDS = torch.tensor([[-1, 0, 0, 1, 2, -1], [-1, 0, -1, -1, -1, -1], [-1, -1, -1, -1, -1, -1]])


def read(ids: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
    return [row[: int(m.sum())].tolist() for row, m in zip(ids, mask, strict=True)]


def test_whole_words_go_and_special_tokens_stay() -> None:
    torch.manual_seed(0)
    seen = set()
    for _ in range(300):
        ids, mask = delete_words(TOKENS, PRESENT, WORDS, 0.6, PAD)
        assert ids.shape == mask.shape == TOKENS.shape
        assert (ids[mask == 0] == PAD).all()
        assert (mask.diff(dim=1) <= 0).all()  # what is left lies on the left
        first, second, third = read(ids, mask)
        seen.add(tuple(first[1:-1]))
        assert first[0] == 101 and first[-1] == 102
        assert second == [101, 9, 102] and third == [101, 102]
    words = [(5, 6), (7,), (8,)]
    some = {
        sum((w for i, w in enumerate(words) if bits >> i & 1), ()) for bits in range(1, 8)
    }  # every choice of at least one word, in the order of the text
    assert seen == some


def test_nothing_goes_at_zero_and_one_word_stays_at_one() -> None:
    torch.manual_seed(0)
    ids, mask = delete_words(TOKENS, PRESENT, WORDS, 0.0, PAD)
    assert torch.equal(ids, TOKENS) and torch.equal(mask, PRESENT)
    ids, mask = delete_words(TOKENS, PRESENT, WORDS, 1.0, PAD)
    assert read(ids, mask)[0] in ([101, 5, 6, 102], [101, 7, 102], [101, 8, 102])


@pytest.mark.parametrize("ratio", [0.3, 0.6])
def test_the_share_that_goes_is_the_ratio(ratio: float) -> None:
    torch.manual_seed(0)
    present = torch.ones(2000, 30, dtype=torch.bool)
    assert survivors(present, ratio).float().mean().item() == pytest.approx(1 - ratio, abs=0.01)


def test_the_one_that_stays_is_any_of_them() -> None:
    torch.manual_seed(0)
    present = torch.tensor([[True, False, True, True]]).expand(3000, 4)
    stays = survivors(present, 1.0)
    assert (stays.sum(dim=1) == 1).all()
    share = stays.float().mean(dim=0)
    torch.testing.assert_close(share, torch.tensor([1, 0, 1, 1]) / 3, atol=0.04, rtol=0)


def test_bags_lose_entries_but_never_all() -> None:
    torch.manual_seed(0)
    rows = torch.rand(500, 20) * (torch.rand(500, 20) < 0.3)
    rows[0] = 0
    noisy = delete_entries(rows, 0.6)
    assert ((noisy == rows) | (noisy == 0)).all()
    filled = (rows != 0).any(dim=1)
    assert ((noisy != 0).any(dim=1) == filled).all() and not filled[0]
    # The one entry that is saved in short rows moves the share a little under the ratio.
    gone = 1 - (noisy != 0).sum() / (rows != 0).sum()
    assert 0.55 < gone.item() < 0.61


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.fixture(params=[(BertConfig, BertModel), (RobertaConfig, RobertaModel)])
def backbone(request: pytest.FixtureRequest) -> BertModel:
    torch.manual_seed(0)
    config, model = request.param
    return model(
        config(vocab_size=23, intermediate_size=24, max_position_embeddings=20, **SIZES)
    ).eval()


@pytest.fixture
def decoder(backbone: BertModel) -> TokenDecoder:
    return TokenDecoder(shared_parts(backbone)).eval()


IDS = torch.tensor([[2, 7, 8, 9, 3], [2, 11, 3, 0, 0]])
MASK = (IDS != 0).long()


def test_the_layers_are_the_encoders_own_and_not_registered_twice(backbone, decoder) -> None:
    parts = shared_parts(backbone)
    assert parts.embeddings is backbone.embeddings
    assert all(a is b for a, b in zip(parts.layers, backbone.encoder.layer, strict=True))
    assert parts.table is backbone.embeddings.word_embeddings.weight
    mine = {id(p) for p in decoder.parameters()}
    assert not mine & {id(p) for p in backbone.parameters()}
    assert not any("query" in name or "key" in name for name, _ in decoder.named_parameters())


def test_later_tokens_do_not_change_earlier_logits(backbone, decoder) -> None:
    parts, z = shared_parts(backbone), torch.randn(2, 16)
    logits = decoder.logits(parts, decoder(parts, IDS, z))
    for position in range(1, IDS.shape[1]):
        other = IDS.clone()
        other[:, position] = 15
        changed = decoder.logits(parts, decoder(parts, other, z))
        torch.testing.assert_close(changed[:, :position], logits[:, :position])
        assert not torch.allclose(changed[:, position], logits[:, position])


def test_cross_attention_is_attention_over_one_key(decoder) -> None:
    """With any queries and keys, softmax over the one key is 1: the projected value is left."""
    cross = decoder.cross[0]
    x, z = torch.randn(3, 5, 16), torch.randn(3, 16)
    query, key = nn.Linear(16, 16), nn.Linear(16, 16)
    q, k, v = query(x), key(z)[:, None], cross.value(z)[:, None]
    weights = (q @ k.transpose(1, 2)).softmax(dim=2)  # (3, 5, 1)
    expected = cross.norm(x + cross.output(weights @ v))
    torch.testing.assert_close(cross(x, z), expected)


def test_the_layers_without_mask_or_vector_are_the_encoders(backbone, decoder) -> None:
    """On one token a causal mask hides nothing; without cross-attention the encoder is left."""
    for cross in decoder.cross:
        cross.forward = lambda x, vector: x
    parts, ids = shared_parts(backbone), torch.tensor([[7]])
    expected = decoder.transform(backbone(input_ids=ids).last_hidden_state)
    torch.testing.assert_close(decoder(parts, ids, torch.zeros(1, 16)), expected)


def test_the_loss_is_teacher_forcing_over_all_label_tokens(backbone, decoder) -> None:
    parts, z = shared_parts(backbone), torch.randn(2, 16)
    total, count = 0.0, 0
    for row in range(2):
        length = int(MASK[row].sum())
        for t in range(1, length):  # predict token t from those before it; the text alone, no pad
            alone = decoder(parts, IDS[row : row + 1, :t], z[row : row + 1])
            log_p = decoder.logits(parts, alone)[0, -1].log_softmax(dim=0)
            total, count = total - log_p[IDS[row, t]].item(), count + 1
    assert count == 6
    assert decoder.loss(parts, IDS, MASK, z).item() == pytest.approx(total / count, rel=1e-5)


@pytest.mark.full
def test_kernels_of_the_encoder_give_the_same_step(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of noisy texts, the loss of both terms and all gradients, in float32."""
    if torch.cuda.is_available():
        pytest.skip("kernels are compiled here, not interpreted")
    monkeypatch.setattr(sentence, "can_pack", lambda *known: True)
    encoder = load_encoder(str(tiny_encoder))
    know_words(encoder)
    items, rows = encoder.prepare(
        ["apple pear plum", "song guitar drum chorus singer violin", "car"]
    )
    net = ClusterBERTNet(encoder, 3, 2, StageRecord([], np.arange(3))).eval()
    data = TrainingData(items, rows[None], step=8)
    batch = data.batch(np.arange(3), (0,), torch.device("cpu"))
    loss = ClusterBERT(2, deletion=0.5)._loss(0.5, soft=False)
    moving = {name: p for name, p in net.named_parameters() if "pooler" not in name}
    found = []
    for fused in (False, True):
        encoder.fused, encoder.compute_dtype = fused, torch.float32 if fused else None
        assert encoder.fuses(batch.features["input_ids"]) is fused
        torch.manual_seed(0)
        terms = loss(net, batch)
        total = terms["reconstruction"] + terms["cluster"]
        found.append((terms, torch.autograd.grad(total, list(moving.values()))))
    (plain, expected), (fused_terms, gradients) = found
    for name, term in plain.items():
        torch.testing.assert_close(fused_terms[name], term, atol=1e-5, rtol=1e-5)
    for name, a, b in zip(moving, gradients, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")


def test_copies_keep_working_on_their_own_encoder(backbone, decoder) -> None:
    both = nn.ModuleDict({"encoder": backbone, "decoder": decoder})
    other = copy.deepcopy(both)
    z = torch.randn(2, 16)
    before = decoder.loss(shared_parts(backbone), IDS, MASK, z)
    backbone.embeddings.word_embeddings.weight.data += 1
    after = other["decoder"].loss(shared_parts(other["encoder"]), IDS, MASK, z)
    torch.testing.assert_close(before, after)


def test_other_architectures_are_refused_by_name() -> None:
    config = DistilBertConfig(vocab_size=23, dim=16, n_layers=1, n_heads=2, hidden_dim=24)
    with raises(UsageError, "it works with BERT", "DistilBertModel"):
        shared_parts(DistilBertModel(config))
    with raises(UsageError, "it works with BERT", "Linear"):
        shared_parts(nn.Linear(2, 2))


def test_the_head_has_the_softmax_of_the_printed_weights() -> None:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(5, 7)).astype(np.float32)
    z = torch.from_numpy(rng.normal(size=(20, 7)).astype(np.float32))
    head, s = nn.Linear(7, 5), 2 / 0.8
    put_centers(head, centers, 0.8)
    c = torch.from_numpy(centers)
    printed = z @ (s * c).T - s * (c * c).sum(dim=1) / 2  # W_j = s c_j, b_j = -s c_j.c_j / 2
    torch.testing.assert_close(head(z).softmax(dim=1), printed.softmax(dim=1))
    nearest = torch.cdist(z, c).argmin(dim=1)
    assert torch.equal(head(z).argmax(dim=1), nearest)


def test_vectors_with_much_in_common_keep_their_nearest_center() -> None:
    rng = np.random.default_rng(0)
    common = 1000 * np.ones(16)
    centers = (common + rng.normal(size=(8, 16))).astype(np.float32)
    points = (common + rng.normal(size=(200, 16))).astype(np.float32)
    head = nn.Linear(16, 8)
    put_centers(head, centers, 1.0)
    exact = np.square(points[:, None].astype(np.float64) - centers[None]).sum(axis=2)
    two = np.sort(exact, axis=1)[:, :2]
    clear = two[:, 1] - two[:, 0] > 0.1
    found = head(torch.from_numpy(points)).argmax(dim=1).numpy()
    np.testing.assert_array_equal(found[clear], exact.argmin(axis=1)[clear])


def test_cross_entropy_has_the_target_first() -> None:
    q, p = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.5, 0.5]])
    # -(0.9 log 0.5 + 0.1 log 0.5) = log 2; the other way round it would be 0.5 * 2.41 = 1.20
    assert soft_cross_entropy(q.log(), p.log()).item() == pytest.approx(np.log(2))
    other = -0.5 * np.log(0.9) - 0.5 * np.log(0.1)
    assert soft_cross_entropy(p.log(), q.log()).item() == pytest.approx(other)


def test_cross_entropy_equals_a_loop_and_is_least_at_the_target() -> None:
    torch.manual_seed(0)
    log_q, log_p = torch.randn(2, 6, 4, dtype=torch.float64).log_softmax(dim=2)
    total = 0.0
    for i in range(6):
        for j in range(4):
            total -= float(log_q[i, j].exp() * log_p[i, j])
    assert soft_cross_entropy(log_q, log_p).item() == pytest.approx(total / 6)
    entropy = -(log_q.exp() * log_q).sum(dim=1).mean()
    torch.testing.assert_close(soft_cross_entropy(log_q, log_q), entropy)
    assert soft_cross_entropy(log_q, log_p) > entropy
    logits = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    loss = lambda x: soft_cross_entropy(log_q, x.log_softmax(dim=1))  # noqa: E731
    assert torch.autograd.gradcheck(loss, (logits,))


def test_agreement_is_the_best_of_all_permutations() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        old, new = rng.integers(4, size=(2, 30))
        best = max((np.array(p)[new] == old).sum() for p in permutations(range(4)))
        numbers = align(new, old, 4)
        assert sorted(numbers.tolist()) == [0, 1, 2, 3]
        assert (numbers[new] == old).sum() == best


def test_clusters_that_are_empty_on_either_side_get_the_numbers_left() -> None:
    numbers = align(np.array([0, 0, 1]), np.array([2, 2, 0]), 4)
    assert numbers[0] == 2 and numbers[1] == 0
    assert sorted(numbers.tolist()) == [0, 1, 2, 3]


FAST = {"batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0}
FACTS = TrainingContext(90, 1, 0, rows=np.arange(90))


def small_net(n: int = 6, k: int = 3) -> ClusterBERTNet:
    torch.manual_seed(0)
    encoder = VectorEncoder(dropout=0)
    encoder.prepare(np.zeros((2, 4)))
    return ClusterBERTNet(encoder, n, k, StageRecord([], np.arange(n)))


def hardened(logits: torch.Tensor) -> ClusterBERTNet:
    """A network whose head gives the vectors back as logits, and its targets at these."""
    net, k = small_net(), logits.shape[1]
    net.head = torch.nn.Linear(k, k)
    net.head.weight.data, net.head.bias.data = torch.eye(k), torch.zeros(k)
    net.log_q = torch.zeros_like(logits)
    harden(net, logits)
    return net


def test_targets_are_equation_5_over_the_whole_corpus() -> None:
    p = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)).softmax(dim=1)
    net = hardened(p.log())
    np.testing.assert_allclose(net.log_q.exp(), loop_target(p.double().numpy()), rtol=1e-4)
    assert not net.log_q.requires_grad


def test_hardening_moves_mass_from_frequent_to_rare_clusters() -> None:
    rows = torch.tensor([[0.9, 0.1]] * 9 + [[0.5, 0.5]])
    q = hardened(rows.log()).log_q.exp()[-1]
    # f = (8.6, 1.4): 0.25/8.6 against 0.25/1.4
    torch.testing.assert_close(q, torch.tensor([1.4, 8.6]) / 10)


def test_a_cluster_that_nobody_wants_gives_finite_targets() -> None:
    net = hardened(torch.tensor([[0.0, -300.0], [0.0, -300.0]]))
    assert torch.isfinite(net.log_q).all()
    # f_1 is e^-300 times 2, far under the floor: without it q_1 would not be this small.
    assert net.log_q[0, 1] < -500


def test_cluster_term_has_the_target_first_and_looks_up_its_texts() -> None:
    net = small_net()
    z, index = torch.randn(2, 4), torch.tensor([4, 1])
    log_p = net.head(z).log_softmax(dim=1)
    net.labels[4], net.labels[1] = 2, 0
    hard = -(log_p[0, 2] + log_p[1, 0]) / 2
    torch.testing.assert_close(cluster_term(net, z, index, soft=False), hard)
    net.log_q.copy_(torch.randn(6, 3).log_softmax(dim=1))
    q = net.log_q.exp()
    soft = -((q[4] * log_p[0]).sum() + (q[1] * log_p[1]).sum()) / 2
    torch.testing.assert_close(cluster_term(net, z, index, soft=True), soft)


def test_rows_are_reconstructed_in_units_of_their_own_squares() -> None:
    net = small_net()
    rows = torch.randn(5, 4)
    net.decoder.weight.data.zero_()
    net.decoder.bias.data.zero_()
    loss = reconstruction_loss(net.encoder, net.decoder, {"vectors": rows}, rows)
    assert loss.item() == pytest.approx(1.0)
    net.decoder.weight.data.copy_(torch.eye(4) / 2)  # half of each number is missing: a quarter
    loss = reconstruction_loss(net.encoder, net.decoder, {"vectors": rows}, rows)
    assert loss.item() == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("settings", "expected"),  # encoder, decoder and head, and steps
    [
        ({}, "adapt ed 24, cluster-1 edh 24, cluster-2 edh 24, harden edh 24"),
        (
            {"reconstruction": False},
            "adapt ed 24, cluster-1 eh 24, cluster-2 eh 24, harden eh 24",
        ),
        (
            {"adapt_epochs": 0, "rounds": 1, "round_epochs": 4, "harden_epochs": 0},
            "cluster-1 edh 48",
        ),
        ({"rounds": 0, "harden_epochs": 0}, "adapt ed 24"),
        ({"adapt_epochs": 0, "rounds": 0, "harden_epochs": 0}, ""),
    ],
    ids=str,
)
def test_stages_train_the_right_parts(settings, expected) -> None:
    stages = ClusterBERT(3, **settings)._training_stages(FACTS)
    found = [f"{s.name} {''.join(part[0] for part in s.lr)} {s.steps}" for s in stages]
    assert ", ".join(found) == expected
    assert all(s.continues and s.clip == 1.0 for s in stages)
    for stage in stages:
        last = stage.name == "harden"
        assert (stage.refresh_every, stage.stop_below) == (12 if last else 0, 0.001)


@pytest.mark.parametrize(
    ("settings", "weights"), [({}, [0, 0.8, 0.8, 0.75]), ({"reconstruction": False}, [0, 1, 1, 1])]
)
def test_the_terms_are_weighted_by_lambda(settings, weights) -> None:
    encoder = VectorEncoder(dropout=0)
    items, rows = encoder.prepare(np.random.default_rng(0).normal(size=(8, 4)))
    net = ClusterBERTNet(encoder, 8, 3, StageRecord([], np.arange(8)))
    batch = TrainingData(items, rows[None]).batch(np.arange(8), (0,), torch.device("cpu"))
    harden(net, batch.features["vectors"])
    model = ClusterBERT(3, deletion=0.0, **settings)
    stages = model._training_stages(TrainingContext(8, 1, 0))
    for stage, weight in zip(stages, weights, strict=True):
        terms = stage.loss(net, batch)
        z = batch.features["vectors"]
        rec = reconstruction_loss(encoder, net.decoder, batch.features, z)
        cluster = cluster_term(net, z, batch.index, soft=stage.name == "harden")
        expected = {"reconstruction": (1 - weight) * rec, "cluster": weight * cluster}
        shares = {"reconstruction": 1 - weight, "cluster": weight}
        assert terms.keys() == {key for key, share in shares.items() if share}
        for key, value in terms.items():
            torch.testing.assert_close(value, expected[key])


def set_up(model: ClusterBERT, net: ClusterBERTNet, name: str, points: np.ndarray) -> None:
    stage = next(
        s for s in model._training_stages(TrainingContext(len(points), 1, 0)) if s.name == name
    )
    stage.setup(net, torch.from_numpy(points))


@pytest.fixture
def blobs() -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = 5 * rng.normal(size=(3, 4))
    return (centers.repeat(20, axis=0) + rng.normal(size=(60, 4))).astype(np.float32)


def test_the_head_starts_as_kmeans_and_is_half_sure(blobs: np.ndarray) -> None:
    model, net = ClusterBERT(3), small_net(60)
    set_up(model, net, "cluster-1", blobs)
    p = net.head(torch.from_numpy(blobs)).softmax(dim=1)
    assert torch.equal(p.argmax(dim=1), net.labels)
    assert p.max(dim=1).values.mean().item() == pytest.approx(0.5, abs=0.01)
    assert len(net.labels.unique()) == 3


def test_rounds_keep_the_numbers_and_the_head(blobs: np.ndarray) -> None:
    model, net = ClusterBERT(3, rounds=2), small_net(60)
    set_up(model, net, "cluster-1", blobs)
    head = copy.deepcopy(net.head.state_dict())
    first = net.labels.clone()
    for seed in range(5):  # whatever numbers k-means gives them
        stage = model._training_stages(TrainingContext(60, 1, seed))[2]
        stage.setup(net, torch.from_numpy(blobs))
        assert torch.equal(net.labels, first)
    assert all(torch.equal(head[key], value) for key, value in net.head.state_dict().items())


@pytest.mark.parametrize("head_start", ["kmeans", "random"])
def test_reinit_head_starts_it_anew(blobs: np.ndarray, head_start: str) -> None:
    model, net = ClusterBERT(3, reinit_head=True, head_start=head_start), small_net(60)
    set_up(model, net, "cluster-1", blobs)
    for seed in range(10):  # whatever numbers k-means gives them
        net.head.weight.data.zero_()
        moved = torch.from_numpy(blobs + 1)
        model._training_stages(TrainingContext(60, 1, seed))[2].setup(net, moved)
        assert net.head.weight.abs().sum() > 0
        agrees = torch.equal(net.head(moved).argmax(dim=1), net.labels)
        assert agrees == (head_start == "kmeans")


@pytest.mark.full
def test_the_decoder_learns_to_write_the_texts_again(tiny_encoder: Path, topics) -> None:
    """Written from their own vectors, texts are likelier than from the vectors of others."""
    texts = topics[0][:30]
    settings = {**FAST, "encoder": str(tiny_encoder), "guard": False, "batch_size": 10}
    model = ClusterBERT(3, rounds=0, harden_epochs=0, adapt_epochs=40, **settings).fit(texts)
    losses = model.history_.losses("adapt")
    assert losses[-1] < 0.75 * losses[0]
    encoder = model.encoder_
    items, rows = encoder.prepare(texts)
    features = items.batch(rows)
    with torch.no_grad():
        z = torch.from_numpy(encoder.encode(items)[rows])
        own, other = (
            float(reconstruction_loss(encoder, model.net_.decoder, features, vectors))
            for vectors in (z, z.roll(1, dims=0))
        )
    assert own < other - 0.05


@pytest.mark.full
def test_prediction_and_the_saved_model_need_no_words(tiny_encoder: Path, topics, tmp_path) -> None:
    model = ClusterBERT(3, encoder=str(tiny_encoder), record_stages=True, **FAST).fit(topics[0])
    assert not model.encoder_.keep_words
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
    assert again.stages_ == model.stages_ and len(again.stages_) == 5


def test_recorded_stages_are_indices_of_kmeans_on_the_vectors_then(topics) -> None:
    from coterie.arrays.metrics import dunn, silhouette

    texts = [*topics[0], "", topics[0][0]]
    model = ClusterBERT(3, encoder="tfidf", record_stages=True, guard=False, **FAST).fit(texts)
    names = [stage["stage"] for stage in model.stages_]
    assert names == ["start", "adapt", "cluster-1", "cluster-2", "harden"]
    for stage in model.stages_:
        assert len(stage["labels"]) == 92 and stage["labels"][90] == -1
        assert sorted(set(stage["labels"])) == [-1, 0, 1, 2]
    last = np.array(model.stages_[-1]["labels"])
    filled = last >= 0
    vectors = model.vectors_[filled]
    assert model.stages_[-1]["silhouette"] == pytest.approx(silhouette(vectors, last[filled]))
    assert model.stages_[-1]["dunn"] == pytest.approx(dunn(vectors, last[filled]), rel=1e-5)
    plain = load_encoder("tfidf")
    plain.learn([t for t in texts if t])
    items, rows = plain.prepare([t for t in texts if t])
    first = np.array(model.stages_[0]["labels"])[filled]
    expected = silhouette(plain.encode(items)[rows], first)
    assert model.stages_[0]["silhouette"] == pytest.approx(expected, rel=1e-5)


def test_recording_changes_nothing_else(topics) -> None:
    model = ClusterBERT(3, encoder="tfidf", **FAST)
    recorded = clone(model).set_params(record_stages=True).fit(topics[0])
    np.testing.assert_array_equal(recorded.probabilities_, model.fit(topics[0]).probabilities_)
