"""Greetings and signatures: kept out of names, unless there is nothing else."""

from itertools import cycle, islice

import pytest

from coterie import describe_clusters
from coterie.describe.terms import greeting_words, mark_greetings
from coterie.texts.words.cutting import pieces

PARCEL = ["my parcel is late", "the parcel has not arrived", "parcel still not delivered",
          "late delivery of a parcel", "where is my parcel"]  # fmt: skip
REFUND = ["the refund is missing", "I want a refund", "no refund yet", "refund for a broken lamp",
          "when do I get my refund"]  # fmt: skip
OPENINGS = ["Hi, ", "Hello Anna, ", "Dear Sir or Madam, ", "Good morning, ", "Hi team, ",
            "Dear Support Team, ", "Hey there! "]  # fmt: skip
CLOSINGS = [" Thanks, John", " Kind regards, Maria Lopez", " Best regards, John Smith",
            " Best, Anna", " Sincerely, Tom Baker", " Thanks in advance! Maria",
            " Regards, Anna. Sent from my iPhone", " Many thanks, John Smith"]  # fmt: skip
COURTESY = {"hi", "hello", "dear", "sir", "madam", "morning", "team", "support", "thanks",
            "regards", "best", "sincerely", "advance", "maria", "lopez", "john", "smith", "anna",
            "tom", "baker", "iphone", "sent", "kind", "many"}  # fmt: skip


def letters(n: int = 60) -> list[str]:
    """Polite letters about parcels; openings, themes and closings in all combinations."""
    parts = zip(cycle(OPENINGS), cycle(PARCEL), cycle(CLOSINGS), strict=False)
    return [f"{opening}{theme}.{closing}" for opening, theme, closing in islice(parts, n)]


def test_greetings_and_signatures_do_not_name_a_cluster() -> None:
    """One cluster is polite, the other is not: then greetings set the two apart."""
    polite = letters()
    texts = [*polite, *islice(cycle(REFUND), 60)]
    first, second = describe_clusters(texts, [0] * 60 + [1] * 60)
    words = {word for text, _ in first.words for word in text.split()}
    assert not words & COURTESY
    assert not {word.strip(",").lower() for word in first.name.split()} & COURTESY
    assert "Parcel" in first.name and "Refund" in second.name


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["Thanks!", "Thank you so much", "thanks a lot", "Many thanks", "thanks, Anna"], "Thanks"),
        (["Hello", "Hello there", "hello!", "Hello Anna"], "Hello"),
        (["👍", "👍👍", "👍 👍", "👍!"], "👍"),
        (["Vielen Dank!", "danke schön", "Danke für die Hilfe", "danke", "Danke euch"], "Danke"),
    ],
)
def test_a_cluster_of_nothing_else_is_named_by_them(texts: list[str], name: str) -> None:
    others = list(islice(cycle(PARCEL), 20))
    polite, parcel = describe_clusters(texts * 3 + others, [0] * 3 * len(texts) + [1] * 20)
    assert polite.name.split(",")[0] == name
    assert "Parcel" in parcel.name


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi Anna, my order is late. Thanks, John Smith", "my order is late"),
        ("Hi my order is late thanks", "my order is late"),
        ("Good morning my card is lost Kind regards Anna", "my card is lost"),
        ("Where is my refund? Best, Tom", "Where is my refund"),
        ("Card lost. Thanks! Jane. Sent from my Samsung Galaxy phone", "Card lost"),
        ("Sehr geehrte Damen und Herren, meine Karte ist weg. Mit freundlichen Grüßen Hans Meier",
         "meine Karte ist weg"),
        ("Bonjour, où est ma commande ? Cordialement, Marie Dupont", "où est ma commande"),
        ("Hola, no funciona. Muchas gracias, Carlos", "no funciona"),
        ("The Very Best Love Songs", "The Very Best Love Songs"),  # a title
        ("Hello Kitty Backpack", "Kitty Backpack"),
        ("thanks, great service", "great service"),
        ("all good with the app", "all good with the app"),
        ("Re: Fwd: Invoice 12, please", "Invoice 12 please"),
        ("Old pads (was: Re: New pads)", "Old pads was New pads"),
        ("AW: Rechnung fehlt", "Rechnung fehlt"),
        ("inexperienced RE team", "inexperienced RE team"),  # no mail
    ],
)  # fmt: skip
def test_what_is_left_of_a_message(text: str, left: str) -> None:
    words = pieces(text)
    marked = mark_greetings(words, greeting_words(["de", "es", "fr"]))
    assert " ".join(w for i, w in enumerate(words) if w and i not in marked) == left
