"""ClusterBERT: its stages and targets by hand, and its training on real (tiny) transformers."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

from coterie import ClusterBERT, load
from coterie._errors import UsageError
from coterie.base import TrainingContext, denoising
from coterie.base.looks import Looks
from coterie.encoders import VectorEncoder, load_encoder
from coterie.engine import TrainingData
from coterie.methods.cluster_bert import ClusterBERTNet, cluster_term, harden

FAST = {"batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0}
FACTS = TrainingContext(90, 1, 0)


@pytest.fixture(scope="module")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    """A random two-layer RoBERTa with its own byte-level tokenizer; words have several tokens."""
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    plain = ByteLevelBPETokenizer(add_prefix_space=True)
    plain.train_from_iterator(
        topics[0], vocab_size=290, special_tokens=special, show_progress=False
    )
    plain._tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain._tokenizer, bos_token="<s>", cls_token="<s>", eos_token="</s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
    )  # fmt: skip
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=80, pad_token_id=1, bos_token_id=0,
        eos_token_id=2, type_vocab_size=1,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("roberta")
    RobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def small_net(n: int = 6, k: int = 3) -> ClusterBERTNet:
    torch.manual_seed(0)
    encoder = VectorEncoder(dropout=0)
    encoder.prepare(np.zeros((2, 4)))
    return ClusterBERTNet(encoder, n, k, Looks([], n))


def loop_target(p: np.ndarray) -> np.ndarray:
    """Eq. (5), written out."""
    n, k = p.shape
    f = [sum(p[i, j] for i in range(n)) for j in range(k)]
    q = np.zeros_like(p)
    for i in range(n):
        total = sum(p[i, m] ** 2 / f[m] for m in range(k))
        for j in range(k):
            q[i, j] = (p[i, j] ** 2 / f[j]) / total
    return q


def put_probabilities(net: ClusterBERTNet, p: torch.Tensor) -> torch.Tensor:
    """Vectors at which the head gives the rows of ``p``."""
    k = p.shape[1]
    net.head = torch.nn.Linear(k, k)
    net.head.weight.data, net.head.bias.data = torch.eye(k), torch.zeros(k)
    net.log_q = torch.zeros_like(p)
    return p.log()


def test_targets_are_equation_5_over_the_whole_corpus() -> None:
    p = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)).softmax(dim=1)
    net = small_net()
    harden(net, put_probabilities(net, p))
    np.testing.assert_allclose(net.log_q.exp(), loop_target(p.double().numpy()), rtol=1e-4)
    assert not net.log_q.requires_grad


def test_hardening_sharpens_rows_when_sizes_are_equal() -> None:
    rows = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    net = small_net()
    harden(net, put_probabilities(net, rows))
    q = net.log_q.exp()
    entropy = lambda x: -(x * x.log()).sum(dim=1)  # noqa: E731
    assert (entropy(q)[:3] < entropy(rows)[:3] - 0.01).all()
    torch.testing.assert_close(q[3], rows[3])
    assert torch.equal(q.argmax(dim=1)[:3], torch.arange(3))


def test_hardening_moves_mass_from_frequent_to_rare_clusters() -> None:
    rows = torch.tensor([[0.9, 0.1]] * 9 + [[0.5, 0.5]])
    net = small_net()
    harden(net, put_probabilities(net, rows))
    q = net.log_q.exp()[-1]
    # f = (8.6, 1.4): 0.25/8.6 against 0.25/1.4
    torch.testing.assert_close(q, torch.tensor([1.4, 8.6]) / 10)


def test_a_cluster_that_nobody_wants_gives_finite_targets() -> None:
    logits = torch.tensor([[0.0, -300.0], [0.0, -300.0]])
    net = small_net()
    net.log_q = torch.zeros(2, 2)
    net.head = torch.nn.Linear(2, 2)
    net.head.weight.data, net.head.bias.data = torch.eye(2), torch.zeros(2)
    harden(net, logits)
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
    loss = denoising.reconstruction_loss(net.encoder, net.decoder, {"vectors": rows}, rows)
    assert loss.item() == pytest.approx(1.0)
    net.decoder.weight.data.copy_(torch.eye(4) / 2)  # half of each number is missing: a quarter
    loss = denoising.reconstruction_loss(net.encoder, net.decoder, {"vectors": rows}, rows)
    assert loss.item() == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [("adapt", "ed", 24), ("cluster-1", "edh", 24), ("cluster-2", "edh", 24),
              ("harden", "edh", 24)]),
        ({"reconstruction": False}, [("adapt", "ed", 24), ("cluster-1", "eh", 24),
                                     ("cluster-2", "eh", 24), ("harden", "eh", 24)]),
        ({"adapt_epochs": 0, "rounds": 1, "round_epochs": 4, "harden_epochs": 0},
         [("cluster-1", "edh", 48)]),
        ({"rounds": 0, "harden_epochs": 0}, [("adapt", "ed", 24)]),
        ({"adapt_epochs": 0, "rounds": 0, "harden_epochs": 0}, []),
    ],
    ids=str,
)  # fmt: skip
def test_stages_train_the_right_parts(settings, expected) -> None:
    stages = ClusterBERT(3, **settings)._training_stages(FACTS)
    found = [(s.name, "".join(part[0] for part in s.lr), s.steps) for s in stages]
    assert found == expected
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
    net = ClusterBERTNet(encoder, 8, 3, Looks([], 8))
    batch = TrainingData(items, rows[None]).batch(np.arange(8), (0,), torch.device("cpu"))
    harden(net, batch.features["vectors"])
    model = ClusterBERT(3, deletion=0.0, **settings)
    stages = model._training_stages(TrainingContext(8, 1, 0))
    for stage, weight in zip(stages, weights, strict=True):
        terms = stage.loss(net, batch)
        z = batch.features["vectors"]
        rec = denoising.reconstruction_loss(encoder, net.decoder, batch.features, z)
        cluster = cluster_term(net, z, batch.index, soft=stage.name == "harden")
        expected = {"reconstruction": (1 - weight) * rec, "cluster": weight * cluster}
        shares = {"reconstruction": 1 - weight, "cluster": weight}
        assert terms.keys() == {key for key, share in shares.items() if share}
        for key, value in terms.items():
            torch.testing.assert_close(value, expected[key])


def test_presets_have_the_documented_values() -> None:
    paper, fast = ClusterBERT.from_preset("paper"), ClusterBERT.from_preset("fast")
    assert (paper.lr, paper.head_lr, paper.batch_size) == (2e-5, 2e-5, 8)
    assert (paper.cluster_weight, paper.harden_weight, paper.deletion) == (0.8, 0.75, 0.6)
    epochs = paper.adapt_epochs, paper.rounds, paper.round_epochs, paper.harden_epochs
    assert epochs == (2, 2, 2, 2)
    assert paper.max_length == 64 and paper.normalize is False
    assert fast.batch_size == 64 and fast.lr == fast.head_lr == pytest.approx(2e-5 * 8**0.5)
    tsdae = ClusterBERT.from_preset("tsdae")
    assert [s.name for s in tsdae._training_stages(FACTS)] == ["adapt"]
    assert (tsdae.lr, tsdae.pooling) == (3e-5, "cls")


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


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_training_lowers_the_loss_and_moves_every_part(
    kind: str, pooling: str, tiny_encoder: Path, tiny_roberta: Path, topics
) -> None:
    encoder = str(tiny_encoder if kind == "bert" else tiny_roberta)
    model = ClusterBERT(
        3, encoder=encoder, pooling=pooling, guard=False, adapt_epochs=8, round_epochs=4, **FAST
    )
    net = None

    class Keeps(ClusterBERT):
        def _build_network(self, encoder, start, facts):
            nonlocal net
            built = super()._build_network(encoder, start, facts)
            net = copy.deepcopy(built)
            return built

    model = Keeps(**model.get_params()).fit(topics[0])
    for stage, least in (("adapt", 0.1), ("cluster-1", 0.0)):
        losses = model.history_.losses(stage)
        assert losses[-1] < losses[0] - least, stage
    untrained = net.state_dict()
    for name, tensor in model.net_.state_dict().items():
        skipped = "pooler" in name or "key.bias" in name or name.startswith("looks")
        if skipped or not tensor.is_floating_point():
            continue  # the pooler takes no part; a softmax does not see the bias of the keys
        assert not torch.equal(tensor, untrained[name]), f"{name} was never updated"
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_the_decoder_learns_to_write_the_texts_again(tiny_encoder: Path, topics) -> None:
    """Written from their own vectors, texts are likelier than from the vectors of others."""
    texts = topics[0][:30]
    settings = {**FAST, "encoder": str(tiny_encoder), "guard": False, "batch_size": 10}
    model = ClusterBERT(3, rounds=0, harden_epochs=0, adapt_epochs=60, **settings).fit(texts)
    losses = model.history_.losses("adapt")
    assert losses[-1] < 0.75 * losses[0]
    encoder = model.encoder_
    items, rows = encoder.prepare(texts)
    features = items.batch(rows)
    with torch.no_grad():
        z = torch.from_numpy(encoder.encode(items)[rows])
        own, other = (
            float(denoising.reconstruction_loss(encoder, model.net_.decoder, features, vectors))
            for vectors in (z, z.roll(1, dims=0))
        )
    assert own < other - 0.05


def test_frozen_parts_stay(tiny_encoder: Path, topics) -> None:
    settings = {**FAST, "encoder": str(tiny_encoder), "guard": False}
    base = ClusterBERT(3, adapt_epochs=0, reconstruction=False, **settings)
    untrained = {}

    class Keeps(ClusterBERT):
        def _build_network(self, encoder, start, facts):
            net = super()._build_network(encoder, start, facts)
            untrained.update(copy.deepcopy(net.decoder.state_dict()))
            return net

    model = Keeps(**base.get_params()).fit(topics[0])
    for name, tensor in model.net_.decoder.state_dict().items():
        assert torch.equal(tensor, untrained[name])


@pytest.mark.parametrize(
    "settings",
    [
        {"reconstruction": False},
        {"labels": "head"},
        {"head_start": "random", "reinit_head": True},
        {"rounds": 0, "harden_epochs": 0},
        {"adapt_epochs": 0, "rounds": 1},
        {"harden_epochs": 6, "tol": 0.5},
        {"deletion": 0.0, "normalize": True},
    ],
    ids=str,
)
def test_every_option_trains_and_predicts_its_own_labels(settings, topics) -> None:
    model = ClusterBERT(3, encoder="tfidf", **FAST, **settings).fit(topics[0])
    assert np.isfinite(model.history_.losses()).all()
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
    assert model.stages_ == []


def test_hardening_stops_when_labels_settle(topics) -> None:
    model = ClusterBERT(3, encoder="tfidf", harden_epochs=9, tol=0.5, **FAST).fit(topics[0])
    steps = [row["step"] for row in model.history_.rows if row["stage"] == "harden"]
    assert max(steps) == 6  # two epochs of three steps; the second changed little


def test_labels_by_the_head_are_its_softmax(topics) -> None:
    model = ClusterBERT(3, encoder="tfidf", labels="head", guard=False, **FAST).fit(topics[0])
    p = model.net_.head(torch.from_numpy(model.vectors_)).softmax(dim=1).detach().numpy()
    np.testing.assert_allclose(np.sort(model.probabilities_), np.sort(p), atol=1e-5)


def test_prediction_and_the_saved_model_need_no_words(tiny_encoder: Path, topics, tmp_path) -> None:
    model = ClusterBERT(3, encoder=str(tiny_encoder), record_stages=True, **FAST).fit(topics[0])
    assert not model.encoder_.keep_words
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
    assert again.stages_ == model.stages_ and len(again.stages_) == 5


def test_recorded_stages_are_indices_of_kmeans_on_the_vectors_then(topics) -> None:
    from coterie.metrics import dunn, silhouette

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


def test_checkpoints_continue_to_the_identical_model(tiny_encoder: Path, topics, tmp_path) -> None:
    texts = topics[0][:45]
    settings = {**FAST, "encoder": str(tiny_encoder), "batch_size": 15, "guard": False}
    settings["record_stages"] = True
    whole = ClusterBERT(3, **settings).fit(texts)
    for number, death in enumerate((4, 9, 14, 22)):  # one in each stage
        seen = iter(range(100))

        class Dies(ClusterBERT):
            def _build_network(self, encoder, start, facts, seen=seen, death=death):
                net = super()._build_network(encoder, start, facts)

                def die(module, inputs) -> None:
                    if module.training and next(seen) == death:
                        raise SystemExit

                net.encoder.register_forward_pre_hook(die)
                return net

        options = {"checkpoint": tmp_path / str(number), "checkpoint_every": 0}
        with pytest.raises(SystemExit):
            Dies(3, **settings, **options).fit(texts)
        resumed = ClusterBERT(3, **settings, **options).fit(texts)
        np.testing.assert_array_equal(resumed.probabilities_, whole.probabilities_)
        assert resumed.stages_ == whole.stages_


def test_encoders_whose_layers_cannot_be_shared_are_refused(tmp_path: Path, topics) -> None:
    from transformers import BertTokenizerFast, DistilBertConfig, DistilBertModel

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "apple"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    config = DistilBertConfig(vocab_size=6, dim=16, n_layers=1, n_heads=2, hidden_dim=24)
    DistilBertModel(config).save_pretrained(tmp_path / "d")
    BertTokenizerFast(vocab=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "d")
    with pytest.raises(UsageError, match="DistilBertModel"):
        ClusterBERT(3, encoder=str(tmp_path / "d")).fit(topics[0])


WRONG = {
    "adapt_epochs": -1, "cluster_weight": 1.5, "deletion": 2, "harden_epochs": 1.5,
    "harden_weight": 0, "head_lr": "fast", "head_start": "zeros", "labels": "x", "lr": -1.0,
    "round_epochs": 0, "rounds": 0, "tol": True, "max_length": 1, "pooling": "max",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        ClusterBERT(2, encoder="tfidf", **{name: WRONG[name]}).fit(["a cat", "the dog"])


@pytest.mark.gpu
def test_gpu_trains_in_half_precision(tiny_encoder: Path, topics) -> None:
    model = ClusterBERT(3, encoder=str(tiny_encoder), device="cuda", guard=False, **FAST)
    model.fit(topics[0])
    assert np.isfinite(model.history_.losses()).all()
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_tsdae_is_the_first_stage_alone(tiny_encoder: Path, topics) -> None:
    from coterie import make_method

    model = make_method(
        "tsdae", 3, encoder=str(tiny_encoder), batch_size=30, lr=1e-3, head_lr=1e-3,
        adapt_epochs=8, random_state=0, guard=False,
    ).fit(topics[0])  # fmt: skip
    assert {row["stage"] for row in model.history_.rows} == {"adapt"}
    losses = model.history_.losses("adapt")
    assert losses[-1] < losses[0]
    preset = make_method("tsdae", 3, preset="tsdae")
    assert preset.pooling == "cls" and preset.rounds == preset.harden_epochs == 0
    assert make_method("tsdae", 3).lr == preset.lr == 3e-5
