"""Personal data is replaced in tables and texts; what is no personal data stays."""

import time
from itertools import product
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import coterie
from commands import run
from coterie.texts.masking import Masker, find_personal, passes_luhn, passes_mod97
from said import says

HITS = [
    ("write to anna.b+x@mail.example.org now", "write to [email] now"),
    ("anna (at) example (dot) org", "[email]"),
    ("ANNA@EXAMPLE.ORG", "[email]"),
    ("jürgen.müller@exämple.de", "[email]"),
    ("IBAN DE89 3704 0044 0532 0130 00 and more", "IBAN [iban] and more"),
    ("gb82west12345698765432 is mine", "[iban] is mine"),
    ("card 4111 1111 1111 1111, 12/28", "card [card], 12/28"),
    ("4111-1111-1111-1111", "[card]"),
    ("5500005555555559", "[card]"),
    ("from 192.168.0.12.", "from [ip]."),
    ("from 2001:db8::8a2e:370:7334 today", "from [ip] today"),
    ("https://user:pw@example.org/x", "[link]"),
    ("see https://example.org/a?token=1&x=2 please", "see [link] please"),
    ("https://example.org/#access_token=a", "[link]"),
    ("https://example.org/reset/kJh87sGhs76sGhsgHs7sgHs72", "[link]"),
    ("call +49 30 1234567 today", "call [phone] today"),
    ("(030) 123 4567", "[phone]"),
    ("+1 (415) 555-2671", "[phone]"),
    ("0171/1234567", "[phone]"),
    ("555-0123", "[phone]"),
    ("social security 123-45-6789", "social security [phone]"),
    ("order 123456 is late", "order [number] is late"),
    ("#A98765432", "#A[number]"),
    ("key sk-abcdEFGH1234567890xyz", "key [code]"),
    ("550e8400-e29b-41d4-a716-446655440000", "[code]"),
    ("device 00:1A:2B:3C:4D:5E", "device [code]"),
    ("Dear Anna, where is it?", "Dear [name], where is it?"),
    ("Hello Mr. John Smith, hi", "Hello Mr. [name], hi"),
    ("Sehr geehrte Frau Müller, ich", "Sehr geehrte Frau [name], ich"),
    ("Bonjour Marie, merci", "Bonjour [name], merci"),
    ("my name is Peter Pan and", "my name is [name] and"),
    ("It broke.\nThanks,\nJane Doe", "It broke.\nThanks,\n[name]"),
    ("It broke. Best regards Jane van der Berg", "It broke. Best regards [name]"),
    ("Defekt. Mit freundlichen Grüßen\nMax Mustermann", "Defekt. Mit freundlichen Grüßen\n[name]"),
    ("call 030\u2011123\u20114567 today", "call [phone] today"),  # hyphens that do not break a line
    ("call 030\u2212123\u22124567 today", "call [phone] today"),  # minus signs
    ("call \uff10\uff13\uff10\uff0d\uff11\uff12\uff13\uff14\uff15\uff16\uff17", "call [phone]"),
    ("anna\uff20example.org", "[email]"),  # full-width
    ("anna\ufe6bexample\u3002org", "[email]"),  # small, and an ideographic full stop
    ("anna@exa\u200bmple.o\u2060rg", "[email]"),  # nothing to see
    ("an\u00adna@example.org", "[email]"),
    ("D\u200bear An\u200dna, hi", "Dear [name], hi"),
    ("4111\u20091111\u00a01111\u202f1111", "[card]"),  # blanks of other widths
]
NOT = [
    "Dear support, where is it? Hi there, Hello Team, Dear Customer Service",
    "Hi, Where is my parcel",
    "Hi I want a refund",
    "Thanks. Great service",
    "version 1.2.3 on 2026-01-05 at 10:30, between 05.01.2026 and 6/1/26",
    "12:30:45 and 24/7, 2019-2024 and 2019 - 2024, 9:30-12:45",
    "cost 1,299.00 or 1 000 000 or 12.500.000 in total",
    "https://example.org/help and www.example.org",
    "size 10x20, 12345 people, error 404",
    "@handle and user@ and @ home",
    "AB12 CDEF GHIJ KLMN is my product",
    "300.1.2.3 is no address",
    "well-known-state-of-the-art-thing",
    "ﬁne – a ½ price，नमस्ते می\u200cخواهم 👩\u200d🔧",
    "",
]  # fmt: skip


def mask(text: str) -> str:
    return find_personal(text)[0]


@pytest.mark.parametrize(("text", "masked"), HITS)
def test_hits(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert mask(masked) == masked  # a second time changes nothing


@pytest.mark.parametrize("text", NOT)
def test_non_hits(text: str) -> None:
    assert mask(text) == text


def test_a_card_with_a_wrong_digit_is_still_a_long_number() -> None:
    assert "4111" not in mask("4111 1111 1111 1112") and "1112" not in mask("4111111111111112")


def test_kinds_are_counted() -> None:
    assert find_personal("a@b.org, c@d.org, 192.168.0.1")[1] == {"email": 2, "ip": 1}


def test_luhn_against_the_definition() -> None:
    """Double every second digit from the right, add the digits of what results, divide by ten."""
    for number in range(0, 20_000, 7):
        digits = [int(d) for d in str(number)]
        total = 0
        for i, digit in enumerate(digits[::-1]):
            total += sum(int(d) for d in str(digit * 2 if i % 2 == 1 else digit))
        assert passes_luhn(str(number)) == (total % 10 == 0)
    assert passes_luhn("79927398713")  # worked by hand: 67 of the first ten, and 3


def test_mod97_by_hand() -> None:
    # The four first signs go to the end, letters become numbers from A = 10; 1 is left of 97.
    assert int("3704004405320130001314" + "89") % 97 == 1
    assert passes_mod97("DE89370400440532013000")
    for wrong in ("DE98370400440532013000", "DE89370400440532013001", "DE89730400440532013000"):
        assert not passes_mod97(wrong)


@pytest.mark.full
@pytest.mark.parametrize(
    "unit", ["a@", "1", "1 ", "A ", "dear ", ":", "a-", "http://", "a.", "de12", "A'", "(", "1-",
             "1.1.", "_", "thanks\n", "thanks ", "Dear A ", "[at]", "\t", "."]
)  # fmt: skip
def test_no_text_takes_long(unit: str) -> None:
    for begin, end in product(["", "Dear ", "Thanks A"], ["", "x", "@", "@a.b"]):
        begun = time.process_time()
        mask(begin + unit * (19_980 // len(unit)) + end)
        assert time.process_time() - begun < 1, (begin, end)


def test_a_long_local_part_is_masked_to_its_begin() -> None:
    assert mask("x" * 100 + "@example.org'anna@example.org") == "[email][email]"


def test_the_part_that_is_not_looked_at_is_not_passed_on() -> None:
    assert "a@b.org" not in mask("x " * 10_001 + "a@b.org")


def test_many_accents_on_one_letter_take_linear_time() -> None:
    begun = time.process_time()
    mask("a" + "\u0315\u0300" * 9_999)
    assert time.process_time() - begun < 2


def test_a_list_of_names_is_found_in_any_writing() -> None:
    masker = Masker(["José García", "Li", "de la Cruz"])
    said = masker.text("JOSE GARCÍA met li, Lisa and Maria de la Cruz; José stayed.")
    assert said == "[name] met [name], Lisa and Maria [name]; José stayed."
    assert masker.counts == {"name": 3}


def test_cells_beside_the_texts_keep_their_numbers() -> None:
    masker = Masker()
    kept = "20260105|2026-01-05 10:22|12345678|T-0001|3f2504e04f8911d39a0c0305e82|ﬁne – ½"
    for cell in kept.split("|"):
        assert masker.cell(cell) == cell
    assert masker.cell("a.b@example.org") == masker.cell("a.b\uff20example.org") == "[email]"
    assert masker.cell("4111111111111111") == "[card]" != masker.cell("4111111111111112")
    assert masker.counts == {"email": 2, "card": 1}


def test_names_from_a_list_take_time_linear_in_the_text() -> None:
    masker = Masker([f"name{i} surname{i}" for i in range(20_000)])
    text = "name7 " * 20_000
    assert masker.text(text[:19_000]).count("[name]") == 0


def test_a_table_is_masked_but_for_its_ids() -> None:
    texts = ["refund for a.b@example.org", "Zebedee met me", "order 4111111111111111"]
    columns = {
        "id": ["20260105", "20260106", "20260107"],
        "text": [text.encode() for text in texts],
        "order": ["1234567"] * 3,
        "by": [{"mail": ["a.b@example.org"], "n": 1}] * 3,
        "raw": [b"\xff\x00"] * 3,
    }
    done = coterie.mask(pa.table(columns), "text", id_column="id", names=["zebedee"])
    assert done["text"].to_pylist() == [b"refund for [email]", b"[name] met me", b"order [card]"]
    assert done["by"].to_pylist() == [{"mail": ["[email]"], "n": 1}] * 3
    for name in ("id", "order", "raw"):
        assert done[name].to_pylist() == columns[name]


def test_a_frame_stays_a_frame() -> None:
    frame = pd.DataFrame({"text": ["my mail: a@b.org", "late", ""], "n": [1, 2, 3]}, list("xyz"))
    done = coterie.mask(frame)
    assert done["text"].tolist() == ["my mail: [email]", "late", ""]
    assert done.index.tolist() == list("xyz") and done["n"].tolist() == [1, 2, 3]


def test_the_verb_writes_a_table_that_other_verbs_take(tmp_path: Path) -> None:
    file, names, out = (tmp_path / name for name in ("a.csv", "names.txt", "masked.csv"))
    rows = ["7654321,refund to a@b.org,c@d.org", "7654322,where is Zebedee,x"] * 2
    file.write_text("\n".join(["id,text,by", *rows]), "utf-8")
    names.write_text("Zebedee\n", "utf-8")
    asked = ["mask", file, "--names", names, "--id-column", "id"]
    said = run(*asked, "--out", out).output
    assert says(said, "4 rows written", "e-mail address 4x", "name of a person 2x")
    lines = out.read_text("utf-8").splitlines()
    assert lines[1:3] == ["7654321,refund to [email],[email]", "7654322,where is [name],x"]
    assert run(*asked).stdout == out.read_text("utf-8")
    assert says(run(*asked, "--out", out, code=2).output, "already exists")
    run("cluster", out, "-k", 2, "-m", "kmeans", "--encoder", "tfidf", "--out", tmp_path / "run")
