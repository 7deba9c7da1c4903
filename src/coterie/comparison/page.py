"""A comparison as one self-contained HTML page: no network, no script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie._files import write_text
from coterie.comparison.result import Change, Comparison, Flow
from coterie.report.page import render_page

WIDTH = 100.0  # of the drawing, which is stretched to the width of the page
BAR = 1.6
SLOT = 24.0  # pixels that a cluster has at least, so that its name can be read
TALL = 420.0  # pixels for all rows together, before small clusters are given room
GAP = 6.0
MOST_BANDS = 400  # bands drawn; the smallest beyond that could not be seen


@dataclass(frozen=True)
class Bar:
    """A cluster in the picture: its slot, and the bar in the middle of it."""

    id: int | None
    name: str
    count: int
    top: float
    height: float
    slot_top: float
    slot: float


@dataclass(frozen=True)
class Band:
    """Rows that go from a bar on the left to one on the right, as the outline of a band."""

    flow: Flow
    title: str
    path: str


@dataclass(frozen=True)
class Picture:
    """Everything the template draws."""

    height: float
    left: list[Bar]
    right: list[Bar]
    bands: list[Band]


def draw(found: Comparison) -> Picture | None:
    """Lay out the picture; None if no rows were followed."""
    if not found.flows:
        return None
    counts: tuple[Counter[int | None], Counter[int | None]] = Counter(), Counter()
    for flow in found.flows:
        counts[0][flow.a] += flow.count
        counts[1][flow.b] += flow.count
    # Rows without a cluster come last, whatever their number.
    left = sorted(counts[0], key=lambda i: (i is None, -counts[0][i], i or 0))
    place = {cluster: i for i, cluster in enumerate(left)}
    origins: Counter[int | None] = Counter()
    for flow in found.flows:
        origins[flow.b] += flow.count * place[flow.a]
    # Clusters of B are at the mean height of the rows they come from: bands cross less.
    right = sorted(counts[1], key=lambda i: (i is None, origins[i] / counts[1][i], i or 0))
    bars_a = _column(left, counts[0], {c.id: c.name for c in found.clusters_a})
    bars_b = _column(right, counts[1], {c.id: c.name for c in found.clusters_b})
    height = max(bars[-1].slot_top + bars[-1].slot for bars in (bars_a, bars_b))
    bands = _bands(found.flows, bars_a, bars_b)
    return Picture(round(height, 2), bars_a, bars_b, bands)


def _column(
    ids: Sequence[int | None], counts: Counter[int | None], names: dict[int, str]
) -> list[Bar]:
    out: list[Bar] = []
    y = 0.0
    for cluster in ids:
        height = TALL * counts[cluster] / counts.total()
        slot = max(height, SLOT)
        name = "(no cluster)" if cluster is None else names.get(cluster, f"Cluster {cluster}")
        out.append(Bar(cluster, name, counts[cluster], y + (slot - height) / 2, height, y, slot))
        y += slot + GAP
    return out


def _bands(flows: Sequence[Flow], left: Sequence[Bar], right: Sequence[Bar]) -> list[Band]:
    """Bands leave and enter every bar in the order of the other side, so that they do not twist."""
    lefts, rights = {bar.id: bar for bar in left}, {bar.id: bar for bar in right}
    total = sum(bar.count for bar in left)
    leaves, enters = ({i: bar.top for i, bar in bars.items()} for bars in (lefts, rights))
    begins, ends = {}, {}
    for flow in sorted(flows, key=lambda f: (lefts[f.a].top, rights[f.b].top)):
        begins[flow] = leaves[flow.a]
        leaves[flow.a] += TALL * flow.count / total
    for flow in sorted(flows, key=lambda f: (rights[f.b].top, lefts[f.a].top)):
        ends[flow] = enters[flow.b]
        enters[flow.b] += TALL * flow.count / total
    out = []
    for flow in sorted(flows[:MOST_BANDS], key=lambda f: (not f.kept, -f.count)):
        title = f"{flow.count:,} from {lefts[flow.a].name} to {rights[flow.b].name}"
        outline = _outline(begins[flow], ends[flow], TALL * flow.count / total)
        out.append(Band(flow, title, outline))
    return out


def _outline(a: float, b: float, thick: float) -> str:
    x, far, middle = BAR, WIDTH - BAR, WIDTH / 2
    thick = max(thick, 0.6)  # one row of a million should still be seen
    return (
        f"M{x:g} {a:.2f}C{middle:g} {a:.2f} {middle:g} {b:.2f} {far:g} {b:.2f}"
        f"V{b + thick:.2f}C{middle:g} {b + thick:.2f} {middle:g} {a + thick:.2f} "
        f"{x:g} {a + thick:.2f}Z"
    )


LISTED = 60  # groups of moved rows in the table, the largest first


def render_comparison(found: Comparison) -> str:
    """The page as text; all names and texts are escaped."""
    moved = [flow for flow in found.flows if not flow.kept]
    return render_page(
        "comparison.html",
        ("comparison.css",),
        found=found,
        sentences=found.sentences(),
        picture=draw(found),
        bar_width=BAR,
        width=WIDTH,
        rows=table_rows(found),
        moved=moved[:LISTED],
        hidden=moved[LISTED:],
        names_a={c.id: c.name for c in found.clusters_a},
        names_b={c.id: c.name for c in found.clusters_b},
    )


def write_comparison(path: str | Path, found: Comparison) -> None:
    """Write the page, whole or not at all."""
    write_text(Path(path), render_comparison(found))


def table_rows(found: Comparison) -> list[dict[str, Any]]:
    """Clusters side by side: those of A with their partners, then what B has besides."""
    after = {c.id: c for c in found.clusters_b}
    taken = set(found.partners.values())
    rows: list[dict[str, Any]] = []
    for before in found.clusters_a:
        mate = after.get(before.partner) if before.partner is not None else None
        rows.append({"a": before, "b": mate, "said": say(before, mate)})
    rows += [
        {"a": None, "b": c, "said": say(None, c)} for c in found.clusters_b if c.id not in taken
    ]
    return rows


def say(before: Change | None, after: Change | None) -> str:
    """What happened to a pair of partners, or to a cluster without one, in a few words."""
    if before is None:
        return _arrived(after) if after is not None else ""
    if before.status == "died":
        return "died"
    out = []
    if before.status == "split":
        out.append(f"split into {_list(before.linked)}")
    if before.status == "merged" or (after is not None and len(after.linked) > 1):
        into = before.linked[0] if after is None else after.id
        others = [i for i in after.linked if i != before.id] if after is not None else []
        out.append(f"merged with {_list(others)}" if others else f"merged into {into}")
    return " and ".join(out) or "matched"


def _arrived(after: Change) -> str:
    if not after.linked:
        return "born"
    if len(after.linked) > 1:
        return f"merged from {_list(after.linked)}"
    return f"split from {after.linked[0]}"


def _list(clusters: Iterable[int]) -> str:
    *first, last = map(str, clusters)
    return f"{', '.join(first)} and {last}" if first else last
