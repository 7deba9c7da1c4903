"""The points of the map and how they travel into the page."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie._util.types import Ints
from coterie.describe import Cluster
from coterie.describe.columns import Periods
from coterie.describe.names import NONE_OF_THESE

LONGEST = 300  # characters of a text that the page holds
EMPTY = "(empty)"
# Characters that would steer a terminal, turn the writing direction around or break a line in
# JavaScript. They are shown as pictures of themselves.
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
STEERING = re.compile(r"[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Points:
    """Texts on the map, one entry per text in every list."""

    x: Sequence[int]  # from 0 to layout.SIDE
    y: Sequence[int]
    rows: Sequence[int]  # of the input, counted from one
    clusters: Sequence[int]
    confidence: Sequence[float]
    texts: Sequence[str] | None = None  # None keeps the texts off the page
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # categories
    dates: tuple[str, Periods] | None = None  # a column of dates, and the period of each text
    total: int = 0  # texts with a cluster, on the map or not
    layout: str = "neighbors"  # or "discs"
    leaves: Sequence[int] | None = None  # of the run's tree; -1 for texts in no cluster


def shorten(text: str, length: int = LONGEST) -> str:
    """Cut a text at a blank, with an ellipsis."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0] + " …"


def visible(text: str) -> str:
    r"""Make characters visible that would otherwise act, and fold line breaks to blanks.

    Examples
    --------
    >>> visible("two\nlines \x1b[31m \x00")
    'two lines ␛[31m ␀'
    """
    text = re.sub(r"[\t\n\r]+", " ", text)
    text = CONTROL.sub(lambda m: "␡" if m[0] == "\x7f" else chr(0x2400 + ord(m[0])), text)
    return STEERING.sub("\ufffd", text)


def safe_json(value: object) -> str:
    r"""JSON that may stand inside a script element: nothing in it can end the element.

    Examples
    --------
    >>> safe_json(["</script>", "a & b"])
    '["\\u003c/script\\u003e","a \\u0026 b"]'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def pack(points: Points, clusters: Sequence[Cluster]) -> dict[str, Any]:
    """Plain values for the page's script; clusters of points as places in the list of clusters."""
    place = {cluster.id: i for i, cluster in enumerate(clusters)}
    ids = [cluster.id for cluster in clusters]
    names = [visible(shorten(cluster.name)) for cluster in clusters]
    sizes = [cluster.size for cluster in clusters]
    alone = sum(cluster < 0 for cluster in points.clusters)
    if alone:  # outliers are on the map as a last cluster that is none
        place[-1] = len(ids)
        ids, names, sizes = [*ids, -1], [*names, NONE_OF_THESE], [*sizes, alone]
    columns = [
        {"name": visible(name), "values": kinds, "codes": in_base64(codes, "<u1"), "periods": 0}
        for name, (kinds, codes) in zip(
            points.columns, map(encode_column, points.columns.values()), strict=True
        )
    ]
    if points.dates is not None:
        columns.insert(0, _pack_dates(*points.dates))
    rows = np.asarray(points.rows, dtype=np.int64)
    texts = points.texts
    return {
        "x": in_base64(points.x, "<u2"),
        "y": in_base64(points.y, "<u2"),
        "row": None
        if np.array_equal(rows, np.arange(1, len(rows) + 1))
        else in_base64(rows, "<u4"),
        "cluster": in_base64([place[cluster] for cluster in points.clusters], "<u2"),
        "confidence": in_base64([round(100 * value) for value in points.confidence], "<u1"),
        "text": None if texts is None else [visible(shorten(text)) for text in texts],
        "columns": columns,
        "total": points.total,
        "ids": ids,
        "names": names,
        "sizes": sizes,
    }


def in_base64(values: Sequence[int] | Ints, kind: str) -> str:
    """Whole numbers as bytes in base64; 200,000 take a third of their digits.

    Examples
    --------
    >>> in_base64([1, 258], "<u2")
    'AQACAQ=='
    """
    return base64.b64encode(np.asarray(values).astype(kind).tobytes()).decode("ascii")


def encode_column(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """Values of a column, the most frequent first, and each row's place among them.

    Examples
    --------
    >>> encode_column(["mail", "chat", "mail", ""])
    (['mail', '(empty)', 'chat'], [0, 2, 0, 1])
    """
    shown = [visible(shorten(value, 60)) or EMPTY for value in values]
    ranked = sorted(Counter(shown).items(), key=lambda pair: (-pair[1], pair[0]))
    kinds = [kind for kind, _ in ranked]
    place = {kind: i for i, kind in enumerate(kinds)}
    return kinds, [place[value] for value in shown]


def _pack_dates(name: str, found: Periods) -> dict[str, Any]:
    """A column of periods; texts without a date come last."""
    periods = len(found.names)
    codes = np.where(found.of_row < 0, periods, found.of_row)
    values = [*found.names, *([EMPTY] if (found.of_row < 0).any() else [])]
    out = {"name": visible(name), "values": values, "periods": periods}
    return {**out, "codes": in_base64(codes, "<u1")}
