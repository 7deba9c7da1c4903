"""Stop words of many languages, and which of them a corpus needs."""

import pytest

from coterie.description import describe
from coterie.description.terms import Terms
from coterie.errors import UsageError
from coterie.words import ENGLISH
from coterie.words.languages import NAMES, ONE_LANGUAGE, check_language, languages_of
from coterie.words.stopwords import STOP_WORDS
from said import raises

SAID = {
    "en": "Where is my order and why has it not been sent to me yet?",
    "de": "Wo ist meine Bestellung und warum wurde sie noch nicht an mich verschickt?",
    "fr": "Où est ma commande et pourquoi ne m'a-t-elle pas encore été envoyée ?",
    "es": "¿Dónde está mi pedido y por qué no me lo han enviado todavía?",
    "it": "Dov'è il mio ordine e perché non mi è stato ancora spedito?",
    "pt": "Onde está o meu pedido e por que ainda não foi enviado para mim?",
    "nl": "Waar is mijn bestelling en waarom is die nog niet naar mij verstuurd?",
    "sv": "Var är min beställning och varför har den inte skickats till mig än?",
    "da": "Hvor er min ordre, og hvorfor er den ikke sendt til mig, når jeg har betalt?",
    "no": "Hvor er pakken min, og hvorfor er den ikke sendt til meg? Jeg vil ha noe nå.",
    "fi": "Missä minun tilaukseni on ja miksi sitä ei ole vielä lähetetty minulle?",
    "pl": "Gdzie jest moje zamówienie i dlaczego nie zostało jeszcze do mnie wysłane?",
    "cs": "Kde je moje objednávka a proč mi ještě nebyla odeslána, když jsem ji už zaplatil?",
    "ru": "Где мой заказ и почему он мне ещё не отправлен?",
    "tr": "Siparişim nerede ve neden bana henüz gönderilmedi, bu çok uzun bir süre değil mi?",
    "bg": "Къде е моята поръчка и защо още не е изпратена до мен?",
    "vi": "Đơn hàng của tôi đâu và tại sao nó vẫn chưa được gửi cho tôi?",
    "uk": "Де моє замовлення і чому його ще не відправили до мене?",
    "ar": "أين طلبي ولماذا لم يتم إرساله إلى الآن من المتجر؟",
    "he": "איפה ההזמנה שלי ולמה היא עוד לא נשלחה אל הבית שלי?",
    "hi": "मेरा ऑर्डर कहाँ है और यह अभी तक मुझे क्यों नहीं भेजा गया है?",
}  # fmt: skip


# There is no list of their function words: the script tells.
SCRIPTS = {
    "ja": "注文した商品がまだ届きません",
    "ko": "주문한 상품이 아직 도착하지 않았습니다",
    "th": "สินค้ายังไม่ถึง",
    "zh": "我的订单还没有到",
    "ka": "ჩემი შეკვეთა არ მოსულა",
}


@pytest.mark.parametrize(("code", "text"), [*SAID.items(), *SCRIPTS.items()])
def test_a_corpus_tells_its_language(code: str, text: str) -> None:
    assert Terms([text] * 5).languages == [code]


def test_mixed_corpora_use_the_lists_of_all_their_languages() -> None:
    mixed = [SAID["en"]] * 10 + [SAID["de"]] * 6 + [SAID["fr"]] * 4
    assert Terms(mixed).languages == ["en", "de", "fr"]
    assert Terms([SAID["en"]] * 97 + [SAID["de"]] * 3).languages == ["en"]  # not substantial


def test_without_function_words_it_is_english() -> None:
    assert Terms(["laptop charger", "phone case", ""]).languages == ["en"]
    assert Terms([]).languages == ["en"]


CARS = [
    "car loan",
    "used car",
    "my car is broken",
    "rent a car in Rome",
    "sell the car",
    "car wash",
]


@pytest.mark.parametrize(
    "texts",
    [CARS, CARS * 20, ["car loan", "car rental"] * 9, [SAID["en"]] * 20 + ["car loan"] * 5],
    ids=["few", "many", "without function words", "beside long texts"],
)
def test_a_word_of_the_theme_tells_no_language(texts: list[str]) -> None:
    terms = Terms(texts)  # "car" is a function word of French
    assert terms.languages == ["en"] and terms.telling[terms.words.index("car")]


def test_stop_words_are_those_of_the_language_of_each_text() -> None:
    english = [f"{SAID['en']} It was for a car."] * 6 + ["car loan"] * 2
    french = [f"{SAID['fr']} C'est urgent car je pars."] * 5 + [SAID["fr"]] * 3
    first, second = describe(english + french, [0] * 8 + [1] * 8)
    assert "car" in dict(first.words) and "car" not in dict(second.words)
    assert not {"is", "pas"} & {word for word, _ in [*first.words, *second.words]}


def test_a_language_can_be_named_or_switched_off() -> None:
    assert Terms(["und und"], "german").words == ["und"]
    assert not Terms(["und"], "german").telling.any()
    assert Terms(["und"], None).telling.all() and Terms(["und"], "en").telling.all()
    with raises(UsageError, "has no list of stop", "'klingon'"):
        check_language("klingon")


def test_lists_are_of_single_folded_words() -> None:
    assert STOP_WORDS["en"] is ENGLISH
    assert NAMES.keys() == STOP_WORDS.keys() | set(ONE_LANGUAGE.values())
    for code, words in STOP_WORDS.items():
        assert len(words) >= 60, code
        assert all(word == word.lower() and " " not in word for word in words), code


def test_each_text_of_a_mixed_corpus_has_its_language() -> None:
    terms = Terms([SAID["ru"], SAID["en"], SAID["ru"], SAID["en"], "退款", "XR-7"])
    assert terms.languages == ["en", "ru"]
    assert terms.language_of.tolist() == [1, 0, 1, 0, -1, -1]
    assert list(languages_of([SAID["ru"], SAID["ru"], "XR-7"]).items()) == [("ru", 2), ("", 1)]


@pytest.mark.parametrize(
    ("code", "forms"),
    [
        ("de", ["rechnung", "rechnungen"]),
        ("ru", ["заказ", "заказа", "заказы", "заказов"]),
        ("es", ["factura", "facturas"]),
        ("tr", ["sipariş", "siparişler", "siparişleri"]),
        ("hi", ["लड़का", "लड़के", "लड़कों"]),
        ("ar", ["الحساب", "حساب", "حسابي"]),
        ("ko", ["주문이", "주문을", "주문에서"]),
    ],
)
def test_forms_of_a_word_are_one_term_in_its_language(code: str, forms: list[str]) -> None:
    texts = [f"{SAID.get(code, '내 것 그리고 나는 지금 여기')} {form}" for form in forms] * 2
    terms = Terms(texts)
    assert terms.languages == [code]
    place = {word: i for i, word in enumerate(terms.words)}
    assert len({int(terms.stem[place[form]]) for form in forms}) == 1


def test_words_of_a_mixed_corpus_are_stemmed_in_the_language_of_their_texts() -> None:
    terms = Terms([f"{SAID['de']} Häuser", f"{SAID['de']} Haus", f"{SAID['en']} houses"] * 3)
    place = {word: i for i, word in enumerate(terms.words)}
    assert terms.stem[place["häuser"]] == terms.stem[place["haus"]]
    assert terms.stem[place["houses"]] != terms.stem[place["haus"]]


def test_a_korean_name_has_no_particle_where_the_bare_word_occurs() -> None:
    texts = ["환불을 받고 싶어요", "환불이 안 됩니다", "환불을 요청했어요", "환불 문의"]
    (cluster,) = describe(texts, [0, 0, 0, 0])
    assert cluster.words[0][0] == "환불"


def test_english_words_in_other_texts_keep_english_stems() -> None:
    texts = ["मेरा update कहाँ है", "यह updates के लिए है", "मुझे updated नहीं है"] * 2
    terms = Terms(texts)
    place = {word: i for i, word in enumerate(terms.words)}
    assert terms.languages == ["hi"]
    assert len({int(terms.stem[place[w]]) for w in ("update", "updates", "updated")}) == 1
