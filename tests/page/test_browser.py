"""The page in a real browser: it works, it is quiet, and texts of strangers stay texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.summary import make_overview
from coterie.page import Points, ReportData, without_texts, write_report

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 2">',
    "${window.hacked = 3} `${window.hacked = 3}` {{ 7 * 7 }}",
    "javascript:window.hacked=4 <a href='javascript:window.hacked=4'>click</a>",
    "null \x00 byte, \x1b[31mred\x1b[0m, \u202eesrever, line\u2028separator\u2029end",
    "=HYPERLINK(\"http://example.invalid\") <!-- <script> ]]> \\u003c",
    "x" * 1_000_000,
    "'\"><svg onload=window.hacked=5><iframe src=http://example.invalid>",
]  # fmt: skip
# Five points: one in each corner and one in the middle, where no other is near.
X, Y = [0, 10_000, 0, 10_000, 5_000], [0, 0, 10_000, 10_000, 5_000]
TEXTS = ["north west refund", "north east parcel", "south west refund", "south east", "dead centre"]
PAD = 36  # pixels between the outermost points and the edge


def clusters(names: list[str]) -> list[Cluster]:
    return [Cluster(i, name, 3 - i, 0.5, [("word", 1.0)], ["an example"])
            for i, name in enumerate(names)]  # fmt: skip


def data(texts: list[str] | None = None, names: list[str] | None = None) -> ReportData:
    points = Points(
        X, Y, rows=[1, 2, 3, 4, 5], clusters=[0, 1, 0, 1, 0], texts=texts or TEXTS, total=5,
        confidence=[0.9, 0.8, 0.7, 0.6, 0.5],
        columns={"channel": ["mail", "mail", "chat", "chat", "mail"]},
    )  # fmt: skip
    return ReportData("5 texts", ["One."], clusters(names or ["Money", "Post"]), points=points)


def corner(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where a point of the map is in the window, by the rule of the map: edges less the pad."""
    box = page.box("#canvas")
    across = PAD + x / 10_000 * (box["width"] - 2 * PAD)
    down = PAD + y / 10_000 * (box["height"] - 2 * PAD)
    return box["x"] + across, box["y"] + down


@pytest.fixture
def opened(visit: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def make(report: ReportData, **more: Any) -> Any:
        write_report(tmp_path / "page.html", report)
        page = visit(tmp_path / "page.html", **more)
        page.evaluate("document.getElementById('map').scrollIntoView()")
        return page

    return make


def check_quiet(page: Any) -> None:
    # Reading pictures takes time, as the browser notes; the tests do it.
    noted = ("GPU stall due to ReadPixels", "Multiple readback operations")
    assert [t for t in page.troubles if not any(part in t for part in noted)] == []
    assert all(url.startswith(("file://", "blob:")) for url in page.requests)
    assert sum(url.startswith("file://") for url in page.requests) == 1


def test_hover_shows_the_text_of_the_point(opened: Callable[..., Any]) -> None:
    page = opened(data())
    assert page.evaluate("document.getElementById('tip').hidden")
    for i, text in enumerate(TEXTS):
        page.mouse.move(*corner(page, X[i], Y[i]))
        tip = page.text("#tip")
        assert text in tip and ["Money", "Post"][i % 2] in tip and f"confidence 0.{9 - i}0" in tip
    page.mouse.move(*corner(page, 2_500, 1_000))  # nothing there
    assert page.evaluate("document.getElementById('tip').hidden")
    check_quiet(page)


def found(page: Any) -> list[str]:
    return list(
        page.evaluate("[...document.querySelectorAll('#found bdi')].map(x => x.textContent)")
    )


def test_a_click_selects_the_cluster(opened: Callable[..., Any]) -> None:
    page = opened(data())
    page.mouse.click(*corner(page, X[1], Y[1]))
    pressed = "[...document.querySelectorAll('#legend [aria-pressed=true] span')]"
    assert page.evaluate(f"{pressed}.map(x => x.textContent)") == ["Post"]
    assert found(page) == ["north east parcel", "south east"]  # the surest first
    chosen = page.evaluate("[...document.querySelectorAll('article.chosen')].map(x => x.id)")
    assert chosen == ["cluster-1"]
    assert (
        page.evaluate("document.getElementById('focus-link').getAttribute('href')") == "#cluster-1"
    )
    page.mouse.click(*corner(page, 2_500, 1_000))  # beside all points: nothing is selected
    assert page.evaluate("document.getElementById('focus').hidden")
    assert page.evaluate("document.querySelectorAll('.chosen').length") == 0
    check_quiet(page)


def test_search_finds(opened: Callable[..., Any]) -> None:
    page = opened(data())
    page.evaluate("document.getElementById('search').focus()")
    page.keyboard.insert_text("REFUND")
    page.until(lambda: found(page))
    assert found(page) == ["north west refund", "south west refund"]
    marked = "[...document.querySelectorAll('#found mark')].map(x => x.textContent)"
    assert page.evaluate(marked) == ["refund", "refund"]
    assert page.text("#focus-title") == "2 texts containing “refund”"
    page.keyboard.insert_text(" and nothing")
    page.until(lambda: not found(page))
    assert found(page) == [] and page.text("#focus-title").startswith("0 texts")
    page.keyboard.press("Escape")
    assert page.evaluate("document.getElementById('focus').hidden")
    check_quiet(page)


def test_the_lasso_catches_what_is_inside(opened: Callable[..., Any]) -> None:
    page = opened(data())
    page.evaluate("document.getElementById('lasso').click()")
    around = [(-200, -200), (3_000, -200), (3_000, 9_990 + 300), (-200, 10_290), (-200, -200)]
    path = [corner(page, x, y) for x, y in around]
    page.drag(path)
    assert found(page) == ["north west refund", "south west refund"]
    check_quiet(page)


def test_the_keyboard_reaches_everything(opened: Callable[..., Any]) -> None:
    page = opened(data())
    page.evaluate("document.getElementById('canvas').focus()")
    page.keyboard.press("+")
    assert "dead centre" in page.text("#tip")  # the point in the middle of the map is read out
    page.keyboard.press("Enter")
    assert page.text("#focus-title").startswith("3 texts in “Money”")
    for _ in range(30):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
    assert "south east" in page.text("#tip")
    page.keyboard.press("Escape")
    assert page.evaluate("document.getElementById('focus').hidden")
    page.keyboard.press("0")
    assert "dead centre" in page.text("#tip")
    walked = []
    for _ in range(2):
        page.keyboard.press("Tab")
        walked.append(page.evaluate("document.activeElement.querySelector('span').textContent"))
    assert walked == ["Money", "Post"]
    page.keyboard.press("Enter")
    assert found(page) == ["north east parcel", "south east"]
    check_quiet(page)


def test_colours_by_column_and_by_confidence(opened: Callable[..., Any]) -> None:
    page = opened(data())
    choose = (
        "(v => { const s = document.getElementById('color'); s.value = v;"
        "s.dispatchEvent(new Event('change')); })"
    )
    assert page.evaluate("[...document.getElementById('color').options].map(o => o.text)") == [
        "cluster", "confidence", "channel",
    ]  # fmt: skip
    page.evaluate(f"{choose}('0')")
    assert page.text("#legend-title") == "channel"
    assert page.locator("#legend button").all_inner_texts() == ["mail\n3", "chat\n2"]
    page.evaluate("document.querySelectorAll('#legend button')[1].click()")
    assert found(page) == ["south west refund", "south east"]
    page.evaluate(f"{choose}('confidence')")
    assert "unsure" in page.text("#legend")
    assert found(page) == ["south west refund", "south east"]  # a value is a filter, which stays
    check_quiet(page)


def test_the_download_holds_the_selection(opened: Callable[..., Any]) -> None:
    page = opened(data([*HOSTILE[:1], "a", HOSTILE[5], "b", 'said "hi"']))
    page.evaluate(
        "URL.createObjectURL = blob => { window.saved = blob.text(); return 'blob:none'; };"
        "HTMLAnchorElement.prototype.click = function () { window.asked = this.download; };"
        "document.querySelectorAll('#legend button')[0].click();"
        "document.getElementById('download').click()"
    )
    assert page.evaluate("window.asked") == "selected-texts.csv"
    lines = page.evaluate("window.saved").removeprefix("\ufeff").split("\r\n")
    assert lines[0] == '"row","cluster","name","confidence","channel","text"'
    assert lines[1].endswith(f'"1","0","Money","0.90","mail","{HOSTILE[0]}"')
    assert '"\'=HYPERLINK(""http://example.invalid"")' in lines[2]  # no formula
    assert lines[3].endswith('"said ""hi"""') and lines[4:] == [""]


@pytest.mark.parametrize("script", [True, False])
def test_hostile_texts_are_inert(visit: Callable[..., Any], tmp_path: Path, script: bool) -> None:
    n = len(HOSTILE)
    points = Points(
        list(range(n)), [0] * n, rows=list(range(1, n + 1)), clusters=[0] * n, texts=HOSTILE,
        confidence=[0.5] * n, total=n, columns={HOSTILE[1]: [HOSTILE[0], HOSTILE[7]] * (n // 2)},
    )  # fmt: skip
    cluster = Cluster(0, HOSTILE[0], n, 1.0, [(HOSTILE[1], 1.0)], HOSTILE, [[HOSTILE[2]]])
    said = {"encoder": {"warnings": HOSTILE}}
    overview = make_overview(said, [cluster], Tree((0,), (), {"shown": 1}, 1), {0: cluster})
    report = ReportData(HOSTILE[0], HOSTILE, [cluster], HOSTILE, {HOSTILE[1]: HOSTILE[0]},
                        overview=overview,
                        made=HOSTILE, points=points)  # fmt: skip
    write_report(tmp_path / "page.html", replace(report))
    page = visit(tmp_path / "page.html", java_script_enabled=script)
    if script:
        page.evaluate("document.querySelector('#legend button').click()")
        shown = found(page)
        assert shown[:4] == HOSTILE[:4]
        assert shown[4] == "null ␀ byte, ␛[31mred␛[0m, �esrever, line�separator�end"
        assert len(shown[6]) < 400
        page.mouse.click(*corner(page, 0, 5_000))
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, iframe, svg[onload]').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("[...document.links].every(a => a.hash && a.protocol === 'file:')")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_quiet(page)


def test_the_page_without_texts(opened: Callable[..., Any]) -> None:
    page = opened(without_texts(data()))
    content = page.evaluate("document.documentElement.outerHTML")
    assert not any(text in content for text in [*TEXTS, "an example", "mail", "chat"])
    page.mouse.move(*corner(page, X[0], Y[0]))
    assert "Row 1" in page.text("#tip") and "Money" in page.text("#tip")
    page.mouse.click(*corner(page, X[1], Y[1]))
    assert found(page) == ["Row 2", "Row 4"]
    assert page.evaluate("document.getElementById('search')") is None
    check_quiet(page)


def many(n: int, total: int) -> ReportData:
    """Marks spread evenly, one cluster in the west and one in the east."""
    x = [(i * 7919) % 10_001 for i in range(n)]
    points = Points(
        x, [(i * 104_729) % 10_001 for i in range(n)],
        rows=list(range(1, n + 1)), clusters=[int(place > 5_000) for place in x],
        confidence=[0.5] * n, texts=[f"text {i}" for i in range(n)], total=total,
    )  # fmt: skip
    return replace(data(), points=points)


STATE = "document.getElementById('canvas').mapState()"
NO_GL = "HTMLCanvasElement.prototype.getContext = (plain => function (kind, ...more) {"\
    "return kind === 'webgl' ? null : plain.call(this, kind, ...more); })"\
    "(HTMLCanvasElement.prototype.getContext)"  # fmt: skip


def seen_at(page: Any, x: float, y: float) -> tuple[list[float], int]:
    """Mean colour of the marks around a place of the map, and how many of 400 pixels they fill."""
    box, (across, down) = page.box("#canvas"), corner(page, x, y)
    left, top = int(across - box["x"]) - 10, int(down - box["y"]) - 10
    pixels = page.evaluate(
        f"[...document.getElementById('canvas').getContext('2d').getImageData({left}, {top}, "
        "20, 20).data]"
    )
    seen = [pixels[i : i + 3] for i in range(0, len(pixels), 4) if pixels[i + 3] > 100]
    return [sum(part) / len(seen) for part in zip(*seen, strict=True)], len(seen)


@pytest.mark.parametrize("painter", ["webgl", "2d"])
def test_very_many_marks_are_drawn(opened: Callable[..., Any], painter: str) -> None:
    """The two painters show the same: blue marks in the west, orange ones in the east."""
    page = opened(many(10_000, 10_000), before=NO_GL if painter == "2d" else "")
    page.uncheck("#shade")
    page.drawn()
    assert page.evaluate(STATE)["painter"] == painter
    (west, filled), (east, _) = seen_at(page, 2_000, 5_000), seen_at(page, 8_000, 5_000)
    assert west[2] > west[0] + 80 and east[0] > east[2] + 80
    page.evaluate("document.querySelectorAll('#legend button')[1].click()")
    page.drawn()
    assert seen_at(page, 2_000, 5_000)[1] < filled / 2  # what is not selected is transparent
    assert seen_at(page, 8_000, 5_000)[1] > filled / 2
    for _ in range(4):
        page.evaluate("document.getElementById('zoom-in').click()")
    page.drawn()
    assert page.evaluate(STATE)["zoom"] == pytest.approx(1.5**4)
    page.evaluate("document.getElementById('canvas').focus()")
    page.keyboard.press("ArrowRight")
    assert "Post" in page.text("#tip")  # the marks in focus win
    check_quiet(page)


def test_a_sample_is_said(opened: Callable[..., Any]) -> None:
    page = opened(many(6_000, 100_000))
    assert "Map of 6,000 of 100,000 texts" in page.text("#map-title")
    assert "random sample" in page.text("#map .hint")
    check_quiet(page)


def saved(page: Any, button: str) -> tuple[str, str]:
    """Name and content of the file that a button gives, as characters of one byte."""
    page.evaluate(
        "URL.createObjectURL = blob => { window.saved = new Promise(done => {"
        "const r = new FileReader(); r.onload = () => done(r.result); r.readAsBinaryString(blob);"
        "}); return 'blob:none'; };"
        "HTMLAnchorElement.prototype.click = function () { window.asked = this.download; };"
        f"document.getElementById('{button}').click()"
    )
    page.until(lambda: page.evaluate("window.saved"))
    return page.evaluate("window.asked"), page.evaluate("window.saved")


def test_the_map_is_saved_as_svg(opened: Callable[..., Any]) -> None:
    from xml.etree import ElementTree

    page = opened(data(names=["</text><script>alert(1)</script>", "Post"]))
    name, content = saved(page, "svg")
    root = ElementTree.fromstring(content.encode("latin-1"))
    space = "{http://www.w3.org/2000/svg}"
    assert name == "map.svg" and root.tag == space + "svg"
    assert len(root.findall(f".//{space}path")) == 5
    texts = [text.text for text in root.iter(f"{space}text")]
    assert "Post" in texts and any(text.startswith("</text><script>") for text in texts)
    assert not list(root.iter(f"{space}script"))
    check_quiet(page)


FOLDED = "Object.fromEntries([...document.querySelectorAll('article')].map(\
    a => [a.id, a.querySelector('details').open]))"


def test_clusters_are_folded_and_open_where_somebody_goes(opened: Callable[..., Any]) -> None:
    page = opened(data())
    assert page.evaluate(FOLDED) == {"cluster-0": False, "cluster-1": False}
    page.click(".overview a[href='#cluster-1']")
    assert page.evaluate(FOLDED) == {"cluster-0": False, "cluster-1": True}
    page.click("#close-all")
    page.click(".overview a[href='#cluster-1']")  # the address has it already
    assert page.evaluate(FOLDED)["cluster-1"]
    page.evaluate("document.querySelector('#legend button').click()")
    assert page.evaluate(FOLDED)["cluster-0"]
    page.click("#close-all")
    assert not any(page.evaluate(FOLDED).values())
    page.click("#open-all")
    assert all(page.evaluate(FOLDED).values())
    bare = opened(data(), java_script_enabled=False)
    assert bare.locator("article details[open]").count() == 2
    check_quiet(page)
