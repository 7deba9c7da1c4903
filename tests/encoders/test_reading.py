"""Whether an encoder can read texts, and what takes its place where it cannot."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score
from tests.said import raises

import coterie
from coterie import Auto, TwoStep
from coterie.encoders import (
    BagOfWords,
    LexicalEncoder,
    NgramsAndWords,
    SentenceEncoder,
    ViewsEncoder,
    load_encoder,
    look,
    reading,
)
from coterie.encoders.load import full_name
from coterie.encoders.reading import unread_texts
from coterie.errors import MissingError

UNREAD = {
    "ru": ["Посылка до сих пор не пришла, хотя я ждал две недели"],
    "uk": ["Посилка досі не прийшла, хоча я чекав два тижні, що мені робити?"],
    "ar": ["لم تصل الشحنة حتى الآن مع أنني انتظرت أسبوعين"],
    "fa": ["بسته من هنوز نرسیده است و من دو هفته منتظر ماندم"],
    "he": ["החבילה עדיין לא הגיעה אף שחיכיתי שבועיים"],
    "hi": ["मेरा कार्ड बंद हो गया है और मुझे क्या करना चाहिए?"],
    "el": ["Το δέμα δεν έχει φτάσει ακόμα και περίμενα δύο εβδομάδες"],
    "zh": ["我的包裹等了两个星期还没有到"],
    "ja": ["カードが使えなくなりました、どうすればいいですか"],
    "ko": ["카드가 정지되었는데 어떻게 해야 하나요"],
    "th": ["บัตรของฉันถูกระงับต้องทำอย่างไร"],
    "ka": ["ბარათი დაბლოკილია, რა ვქნა?"],
}
IN_PART = {
    "de": ["Das Paket ist noch nicht angekommen, obwohl ich zwei Wochen gewartet habe"],
    "es": ["El paquete todavía no ha llegado aunque esperé dos semanas"],
    "fr": ["Le colis n'est toujours pas arrivé alors que j'attends depuis deux semaines"],
    "pt": ["A encomenda ainda não chegou, embora eu esteja esperando há duas semanas"],
    "tr": ["Kargom iki haftadır beklememe rağmen hâlâ gelmedi, şimdi ne yapmam gerekiyor?"],
    "pl": [
        "Paczka nadal nie dotarła, chociaż czekałem dwa tygodnie, a moja karta została zablokowana"
    ],
    "fi": ["Paketti ei ole vieläkään saapunut, vaikka odotin kaksi viikkoa"],
    "vi": ["Bưu kiện của tôi vẫn chưa đến dù tôi đã đợi hai tuần"],
}
ENGLISH = [
    "The parcel has not arrived although I waited two weeks",
    "My card is blocked, what shall I do now?",
    "Does the NullPointerException come from the HashMap iterator?",
    "usb-c 3.1 hub w/ ethernet 4k hdmi adapter",
    "Serum ferritin in patients with hereditary hemochromatosis",
    "café naïve résumé 👍 WTF omg #throwbackthursday",
]


@pytest.fixture(autouse=True)
def without_the_multilingual_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PACKAGES", ("no_such_package_here",))


@pytest.fixture(scope="module")
def default() -> SentenceEncoder:
    encoder = load_encoder("auto")
    assert isinstance(encoder, SentenceEncoder)
    return encoder


@pytest.mark.parametrize("code", UNREAD)
def test_scripts_that_the_vocabulary_lacks_are_not_read(code: str, default) -> None:
    found = look(default, UNREAD[code])
    assert found is not None and (found.level, found.language) == ("not", code)
    assert found.unread > 0.6 and unread_texts(default, UNREAD[code]).all()


@pytest.mark.parametrize("code", IN_PART)
def test_languages_that_are_cut_into_syllables_are_read_in_part(code: str, default) -> None:
    found = look(default, IN_PART[code])
    assert found is not None and found.level == "partly" and found.script == "LATIN"
    assert found.language == code
    assert found.pieces > 1.5


def test_english_is_read_also_with_jargon(default) -> None:
    found = look(default, ENGLISH)
    assert found is not None and found.level == "well" and found.unread == 0
    assert found.sentences("x", fallback=True) == []
    for text in ENGLISH[:3]:
        assert look(default, [text]).level == "well", text


def test_texts_without_letters_are_no_reason_to_worry(default) -> None:
    assert look(default, ["12:30", "?!", "👍"]).level == "well"
    assert look(default, []) is None
    assert look(BagOfWords(), ["any text"]) is None  # no tokenizer


def test_a_mixed_corpus_is_judged_text_by_text(default) -> None:
    mixed = ENGLISH[:4] + UNREAD["ru"] * 4
    found = look(default, mixed)
    assert (found.level, found.language, found.unread) == ("mixed", "ru", 0.5)
    assert unread_texts(default, mixed).tolist() == [False] * 4 + [True] * 4
    assert found.whole > 0.5  # of the English half
    few = ENGLISH * 10 + UNREAD["ru"]
    assert look(default, few).level == "well"


def test_a_sample_is_enough_and_the_same_each_time(default) -> None:
    many = [f"{text} {i}" for i in range(3_000) for text in UNREAD["ru"]]
    assert look(default, many) == look(default, many)


def topics(code: str, n: int = 40) -> tuple[list[str], list[int]]:
    """Texts of three topics: parcels, cards and weather."""
    words = {
        "ru": (("посылка", "доставка", "курьер", "почта"), ("карта", "банк", "счёт", "платёж"),
               ("дождь", "снег", "погода", "ветер"), "и мне нужно знать про"),
        "en": (("parcel", "delivery", "courier", "post"), ("card", "bank", "account", "payment"),
               ("rain", "snow", "weather", "wind"), "and I need to know about"),
    }[code]  # fmt: skip
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for i in range(n):
        topic = words[i % 3]
        a, b, c = rng.permutation(topic)[:3]
        texts.append(f"{a} {words[3]} {b} {c} {i}")
        labels.append(i % 3)
    return texts, labels


def test_auto_falls_back_and_says_so(caplog, tmp_path: Path) -> None:
    texts, labels = topics("ru")
    model = Auto(3, random_state=0).fit(texts)
    assert isinstance(model.encoder_, LexicalEncoder) and model.reading_.level == "not"
    assert normalized_mutual_info_score(labels, model.labels_) > 0.9
    assert "Russian" in caplog.text and model.encoder_notes_[0] in caplog.text
    model.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model")
    assert (again.predict(texts) == model.labels_).all()
    assert isinstance(again.encoder_, LexicalEncoder)
    new = ["курьер и посылка", "платёж и банк"]
    np.testing.assert_allclose(again.transform(new), model.transform(new))


def test_an_encoder_asked_for_by_name_is_obeyed_with_a_warning(caplog) -> None:
    texts, _ = topics("ru", 12)
    model = Auto(3, encoder="all-MiniLM-L6-v2", random_state=0).fit(texts)
    assert isinstance(model.encoder_, ViewsEncoder) and not model.encoder_.gated
    assert "asked for by name" in caplog.text
    caplog.clear()
    TwoStep(3, random_state=0).fit(texts)  # other methods have no fallback
    assert "--method auto" in caplog.text


def test_english_gets_no_warning_and_the_same_vectors_as_by_name(caplog) -> None:
    texts, _ = topics("en", 12)
    free = Auto(3, random_state=0).fit(texts)
    named = Auto(3, encoder="all-MiniLM-L6-v2", random_state=0).fit(texts)
    assert not caplog.records and free.encoder_notes_ == ()
    assert isinstance(free.encoder_.lexical, NgramsAndWords)
    np.testing.assert_array_equal(free.vectors_, named.vectors_)
    assert (free.labels_ == named.labels_).all()


def test_unread_texts_of_a_mixed_corpus_have_lexical_features_alone(tmp_path: Path) -> None:
    russian, english = topics("ru")[0], topics("en")[0]
    model = Auto(6, random_state=0).fit(russian + english)
    encoder = model.encoder_
    assert isinstance(encoder, ViewsEncoder) and encoder.gated
    width = encoder.inner.dim
    lengths = np.linalg.norm(model.vectors_[:, :width], axis=1)
    assert not lengths[:40].any() and lengths[40:].all()
    whole = np.linalg.norm(model.vectors_, axis=1)
    assert whole[:40] == pytest.approx(whole[40:].mean(), rel=0.1)
    assert not set(model.labels_[:40]) & set(model.labels_[40:])  # no cluster speaks both
    model.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model")
    assert again.encoder_.gated and again.encoder_.weight == encoder.weight
    np.testing.assert_allclose(again.transform(russian[:3]), model.transform(russian[:3]))


def test_languages_read_in_part_get_more_of_n_grams_and_words() -> None:
    model = Auto(2, random_state=0).fit([f"{t} {i}" for i in range(5) for t in IN_PART["de"]])
    assert isinstance(model.encoder_, ViewsEncoder) and not model.encoder_.gated
    assert isinstance(model.encoder_.lexical, LexicalEncoder)


def test_a_run_says_which_encoder_was_taken_and_why(tmp_path: Path) -> None:
    texts, _ = topics("ru")
    run = coterie.cluster(texts, 3, folder=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["encoder"]["used"] == "lexical"
    assert manifest["encoder"]["reading"]["language"] == "ru"
    (warning,) = manifest["encoder"]["warnings"]
    assert warning in run.summary
    assert "cannot read these texts (Russian" in (tmp_path / "run" / "report.html").read_text(
        "utf-8"
    )
    found = coterie.open_run(tmp_path / "run").predict(texts[:3])
    assert found["cluster"].to_pylist() == run.labels[:3].tolist()


def test_the_number_of_clusters_is_found_without_the_encoder() -> None:
    model = Auto(random_state=0).fit(topics("ru", 60)[0])
    assert 2 <= model.n_clusters_ <= 12 and isinstance(model.encoder_, LexicalEncoder)


def test_multilingual_is_a_name_for_a_hub_model(tmp_path: Path, monkeypatch) -> None:
    wanted = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    assert full_name("multilingual") == wanted and full_name("hub:multilingual") == f"hub:{wanted}"
    assert full_name("tfidf") == "tfidf"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with raises(MissingError, "or give the folder", f"`encoder={wanted!r}`"):
        load_encoder("multilingual")
    (tmp_path / "multilingual").mkdir()
    monkeypatch.chdir(tmp_path)
    assert full_name("multilingual") == "multilingual"  # a folder of that name


SETS = {"ar_intents": "not", "hi_headlines": "not", "ru_leads": "not", "zh_titles": "not",
        "de_leads": "partly", "es_intents": "partly"}  # fmt: skip


def texts_of(file: Path) -> list[str]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [row["text"] for row in csv.DictReader(lines) if row["text"]]


@pytest.mark.parametrize("name", SETS)
def test_the_sets_in_other_languages(name: str, default, benchmarks: Path) -> None:
    found = look(default, texts_of(benchmarks / "lang" / f"{name}.csv"))
    assert (found.level, found.language) == (SETS[name], name[:2])


@pytest.mark.full
def test_no_english_set_is_held_to_be_unread(default, benchmarks: Path) -> None:
    files = sorted((benchmarks / "dev").glob("*.csv")) + sorted((benchmarks / "data").glob("*.csv"))
    assert files
    for file in files:
        assert look(default, texts_of(file)[:3_000]).level == "well", file.name
