"""Autoencoder, DEC, IDEC and Self-Train: their losses against loops, their training, their ends."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from coterie import DEC, IDEC, Autoencoder, SelfTrain
from coterie._errors import DataError, UsageError
from coterie.base import TrainingContext
from coterie.base.sharpened import sharpen

SMALL = {"ae_layers": (40, 10), "ae_steps": 80, "random_state": 0, "encoder": "tfidf"}
SHORT = {**SMALL, "steps": 30, "refresh_every": 10, "tol": 0.0, "guard": False}
WORDS = {**SHORT, "encoder": "sif", "word_vectors": "ppmi", "word_dim": 20, "ae_layers": (60,)}
METHODS = [(DEC, SHORT), (IDEC, SHORT), (SelfTrain, WORDS)]


def features(model, texts) -> tuple:
    items, rows = model.encoder_.prepare(texts)
    return items.batch(rows)["vectors"] * model.encoder_.factor + model.encoder_.shift


def loop_target(q: np.ndarray) -> np.ndarray:
    """Eq. (3) of DEC, number by number."""
    n, k = q.shape
    f = [sum(q[i, j] for i in range(n)) for j in range(k)]
    return np.array([[q[i, j] ** 2 / f[j] / sum(q[i, m] ** 2 / f[m] for m in range(k))
                      for j in range(k)] for i in range(n)])  # fmt: skip


@pytest.mark.parametrize("cls", [DEC, IDEC])
def test_losses_equal_their_loops(cls: type, topics) -> None:
    texts = topics[0][:24]
    model = cls(3, **{**SHORT, "steps": 1}).fit(texts)
    net, encoder = model.net_.eval(), model.encoder_
    x = features(model, texts)
    with torch.no_grad():
        z, mu = encoder.coder(x), net.assign.centers
        sharpen(net, z)
        q = np.array([[1 / (1 + float((a - b).square().sum())) for b in mu] for a in z])
        q /= q.sum(axis=1, keepdims=True)
        p = loop_target(q)
        np.testing.assert_allclose(net.log_p.exp().numpy(), p, atol=1e-5)
        rows = torch.tensor([3, 1, 7])

        class Three:
            index = rows
            features = {"vectors": (x[rows] - encoder.shift) / encoder.factor}  # noqa: RUF012

        terms = model._loss(net, Three())
        kl = sum(p[i, j] * math.log(p[i, j] / q[i, j]) for i in rows for j in range(3)) / 3
        weight = 0.1 if cls is IDEC else 1.0
        assert terms["cluster"].item() == pytest.approx(weight * kl, rel=1e-3, abs=1e-6)
        if cls is IDEC:
            back = encoder.decoder(z[rows])
            error = np.mean([(float(a) - float(b)) ** 2 for a, b in
                             zip(back.ravel(), x[rows].ravel(), strict=True)])  # fmt: skip
            assert terms["reconstruction"].item() == pytest.approx(error, rel=1e-4)
        assert terms.keys() == ({"cluster", "reconstruction"} if cls is IDEC else {"cluster"})


@pytest.mark.parametrize(("cls", "settings"), METHODS, ids=lambda x: getattr(x, "name", ""))
def test_training_lowers_the_losses_and_moves_every_part(cls, settings, topics) -> None:
    texts, truth = topics
    # Targets stay as they are, so that the loss is the same one from beginning to end.
    model = cls(3, **{**settings, "lr": 1e-3, "refresh_every": 1000}).fit(texts)
    losses = model.history_.losses("sharpen")
    assert losses[-1] < 0.95 * losses[0]
    start = clone(model).set_params(steps=0).fit(texts)
    before = start.encoder_.state_dict()
    for name, tensor in model.encoder_.named_parameters():
        kept = (name.startswith("decoder") and cls is not IDEC) or name.startswith("meaning")
        assert torch.equal(tensor, before[name]) == kept, name
    centers = torch.from_numpy(start.cluster_centers_)
    assert not torch.isin(model.net_.assign.centers.detach(), centers).any()
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    assert adjusted_rand_score(truth, model.labels_) > 0.6


@pytest.mark.parametrize(("cls", "more"), [(DEC, {}), (IDEC, {"cluster_weight": 10.0})])
def test_assignments_become_sharper(cls, more, topics) -> None:
    sure = []
    for steps in (1, 50):
        model = cls(3, **{**SHORT, "steps": steps, "lr": 1e-3}, **more).fit(topics[0])
        sure.append(float(model.probabilities_.max(axis=1).mean()))
    assert sure[1] > sure[0] + 0.02


def test_the_decoder_keeps_the_vectors_in_the_codes(topics) -> None:
    """What IDEC is for: after the same training DEC gives back less of the vectors."""
    errors = []
    for cls in (DEC, IDEC):
        model = cls(3, **{**SHORT, "steps": 60, "lr": 3e-3}).fit(topics[0])
        x = features(model, topics[0])
        with torch.no_grad():
            back = model.encoder_.decoder(model.encoder_.coder(x))
        errors.append(float((back - x).square().mean()))
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize("pretrain", ["joint", "layerwise"])
def test_the_autoencoder_learns_to_give_the_rows_back(pretrain: str, topics) -> None:
    errors = []
    for steps in (0, 80):
        settings = {**SMALL, "ae_steps": steps, "pretrain": pretrain, "ae_dropout": 0.1}
        model = Autoencoder(3, **settings).fit(topics[0])
        x = features(model, topics[0])
        with torch.no_grad():
            back = model.encoder_.decoder(model.encoder_.coder(x))
        errors.append(float((back - x).square().mean()))
        names = dict.fromkeys(row["stage"] for row in model.history_.rows)
        if steps:
            pairs = ["layer 1", "layer 2"] * (pretrain == "layerwise")
            assert list(names) == [*pairs, "autoencoder"]
            for name in names:
                losses = model.history_.losses(name)
                assert losses[-1] < losses[0], name
    assert errors[0] > 0.9 and errors[1] < 0.6 * errors[0]


def test_every_layer_of_the_autoencoder_is_trained(topics) -> None:
    untrained, trained = (
        Autoencoder(3, **{**SMALL, "ae_steps": steps}).fit(topics[0]).encoder_ for steps in (0, 5)
    )
    for (name, a), b in zip(trained.named_parameters(), untrained.parameters(), strict=True):
        assert not torch.equal(a, b), f"{name} was never updated"


def test_zero_steps_are_the_clustering_of_the_codes(topics) -> None:
    dec = DEC(3, **{**SHORT, "steps": 0}).fit(topics[0])
    plain = Autoencoder(3, **SMALL).fit(topics[0])
    assert dec.guard_ is None
    np.testing.assert_array_equal(dec.labels_, plain.labels_)
    ward = Autoencoder(3, cluster="ward", **SMALL).fit(topics[0])
    assert ward.assigner_.kind == "neighbors"
    np.testing.assert_array_equal(ward.vectors_, plain.vectors_)


def test_a_sentence_encoder_stays_as_it_is_and_is_pointed_to(
    tiny_encoder: Path, topics, tmp_path: Path
) -> None:
    from coterie.encoders import load_encoder

    model = DEC(3, **{**SHORT, "encoder": str(tiny_encoder)}).fit(topics[0])
    before = load_encoder(str(tiny_encoder)).state_dict()
    for name, tensor in model.encoder_.meaning.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    model.save(tmp_path / "model")
    assert not (tmp_path / "model" / "encoder" / "meaning").exists()
    np.testing.assert_array_equal(DEC.load(tmp_path / "model").predict(topics[0]), model.labels_)
    model.save(tmp_path / "whole", include_encoder=True)
    assert (tmp_path / "whole" / "encoder" / "meaning").exists()
    np.testing.assert_array_equal(DEC.load(tmp_path / "whole").predict(topics[0]), model.labels_)


def test_targets_are_taken_anew(topics) -> None:
    settings = {**SHORT, "lr": 1e-3}
    once = DEC(3, **{**settings, "refresh_every": 1000}).fit(topics[0])
    often = DEC(3, **settings).fit(topics[0])
    assert (often.net_.log_p - once.net_.log_p).abs().max() > 1e-3
    assert [row["step"] for row in often.history_.rows if "changed" in row] == [20, 30]


def test_pairs_of_layers_are_mirrored() -> None:
    model = DEC(3, ae_layers=(7, 5, 3), pretrain="layerwise", ae_steps=1)
    *pairs, whole = model._pretraining_stages(TrainingContext(9, 1, 0))
    assert [tuple(stage.lr) for stage in pairs] == [
        (f"encoder.coder.{2 * i}", f"encoder.decoder.{4 - 2 * i}") for i in range(3)
    ]
    assert tuple(whole.lr) == ("encoder.coder", "encoder.decoder")


def test_the_code_grows_with_the_number_of_clusters() -> None:
    assert DEC(4)._layers() == [500, 500, 2000, 10]
    assert DEC(89)._layers() == [500, 500, 2000, 90]
    assert DEC.from_preset("paper", n_clusters=89)._layers() == [500, 500, 2000, 10]
    assert SelfTrain(89)._layers() == [500, 500, 2000, 20]


def test_training_stops_when_labels_settle(topics) -> None:
    model = DEC(3, **{**SHORT, "tol": 0.5, "steps": 100}).fit(topics[0])
    assert model.history_.rows[-1]["step"] == 20  # the second look
    assert len({row["stage"] for row in model.history_.rows}) > 1  # what came before is there


def test_self_train_takes_word_vectors_from_a_file(topics, tmp_path: Path) -> None:
    words = sorted({word for text in topics[0] for word in text.split()})
    rng = np.random.default_rng(0)
    lines = [" ".join([word, *map(str, rng.normal(size=7).round(3))]) for word in words]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    settings = {**WORDS, "word_vectors": str(tmp_path / "vectors.txt")}
    model = SelfTrain(3, **settings).fit(topics[0])
    assert model.encoder_.meaning.dim == 7
    x = features(model, topics[0])
    assert float(x.min()) >= -1e-6 and float(x.max()) <= 1 + 1e-6  # scaled to 0 .. 1
    with pytest.raises(UsageError, match="sif"):
        SelfTrain(3, encoder="tfidf").fit(topics[0])


@pytest.mark.parametrize("part", ["autoencoder", "sharpen"])
def test_checkpoints_continue_to_the_identical_model(part: str, topics, tmp_path: Path) -> None:
    texts = topics[0][:45]
    settings = {**SHORT, "batch_size": 15, "ae_steps": 30}
    whole = IDEC(3, **settings).fit(texts)
    seen = iter(range(1000))

    def doomed(module: torch.nn.Module) -> None:
        def die(module, inputs) -> None:
            if module.training and next(seen) == 13:
                raise SystemExit

        module.register_forward_pre_hook(die)

    class Dies(IDEC):
        def _build_pretraining_network(self, encoder, facts):
            net = super()._build_pretraining_network(encoder, facts)
            if part == "autoencoder":
                doomed(net.encoder.decoder)
            return net

        def _build_network(self, encoder, start, facts):
            net = super()._build_network(encoder, start, facts)
            doomed(net.assign)
            return net

    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with pytest.raises(SystemExit):
        Dies(3, **settings, **options).fit(texts)
    assert (tmp_path / "c" / "state.json").exists() == (part == "sharpen")
    with pytest.raises(DataError, match="another run"):
        IDEC(3, **settings, **options).fit([t.replace("apple", "pear") for t in texts])
    resumed = IDEC(3, **settings, **options).fit(texts)
    np.testing.assert_array_equal(resumed.probabilities_, whole.probabilities_)
    for name, tensor in whole.net_.state_dict().items():
        assert torch.equal(resumed.net_.state_dict()[name], tensor), name


WRONG = {
    "ae_layers": (), "ae_steps": -1, "ae_lr": "fast", "ae_dropout": 1.0, "pretrain": "half",
    "scaling": "x", "activation": "tanh", "alpha": 0, "tol": -1.0, "refresh_every": 0,
    "cluster_weight": -1.0,
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        IDEC(2, **{"encoder": "tfidf", name: WRONG[name]}).fit(["a cat", "the dog"])


@pytest.mark.gpu
@pytest.mark.parametrize(("cls", "settings"), METHODS, ids=lambda x: getattr(x, "name", ""))
def test_gpu_and_cpu_find_the_same_topics(cls, settings, topics) -> None:
    for device in ("cpu", "cuda"):
        model = cls(3, device=device, **settings).fit(topics[0])
        assert adjusted_rand_score(topics[1], model.labels_) > 0.6
