"""A comparison as one self-contained HTML page: no network, no script."""

from __future__ import annotations

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
    names = [{c.id: c.name for c in side} for side in (found.clusters_a, found.clusters_b)]
    left_ids = _by_size(found.flows, "a")
    right_ids = _by_origin(found.flows, left_ids)
    total = sum(flow.count for flow in found.flows)
    left = _column(left_ids, found.flows, "a", names[0], total)
    right = _column(right_ids, found.flows, "b", names[1], total)
    height = max(column[-1].slot_top + column[-1].slot for column in (left, right))
    return Picture(round(height, 2), left, right, _bands(found.flows, left, right, total))


def _by_size(flows: Sequence[Flow], side: str) -> list[int | None]:
    counts: dict[int | None, int] = {}
    for flow in flows:
        key = getattr(flow, side)
        counts[key] = counts.get(key, 0) + flow.count
    # Rows without a cluster come last, whatever their number.
    return sorted(counts, key=lambda i: (i is None, -counts[i], i or 0))


def _by_origin(flows: Sequence[Flow], left: Sequence[int | None]) -> list[int | None]:
    """Clusters of B at the mean height of the rows they come from: bands cross less."""
    place = {cluster: i for i, cluster in enumerate(left)}
    sums: dict[int | None, list[float]] = {}
    for flow in flows:
        entry = sums.setdefault(flow.b, [0.0, 0.0])
        entry[0] += flow.count * place[flow.a]
        entry[1] += flow.count
    return sorted(sums, key=lambda i: (i is None, sums[i][0] / sums[i][1], i or 0))


def _column(
    ids: Sequence[int | None],
    flows: Sequence[Flow],
    side: str,
    names: dict[int, str],
    total: int,
) -> list[Bar]:
    out: list[Bar] = []
    y = 0.0
    for cluster in ids:
        count = sum(flow.count for flow in flows if getattr(flow, side) == cluster)
        height = TALL * count / total
        slot = max(height, SLOT)
        name = "(no cluster)" if cluster is None else names.get(cluster, f"Cluster {cluster}")
        out.append(Bar(cluster, name, count, y + (slot - height) / 2, height, y, slot))
        y += slot + GAP
    return out


def _bands(
    flows: Sequence[Flow], left: Sequence[Bar], right: Sequence[Bar], total: int
) -> list[Band]:
    """Bands leave and enter every bar in the order of the other side, so that they do not twist."""
    starts, ends = {b.id: b.top for b in left}, {b.id: b.top for b in right}
    names = {b.id: b.name for b in left}, {b.id: b.name for b in right}
    rank = ({b.id: i for i, b in enumerate(left)}, {b.id: i for i, b in enumerate(right)})
    from_top = {}
    for flow in sorted(flows, key=lambda f: (rank[0][f.a], rank[1][f.b])):
        from_top[flow.a, flow.b] = starts[flow.a]
        starts[flow.a] += TALL * flow.count / total
    into_top = {}
    for flow in sorted(flows, key=lambda f: (rank[1][f.b], rank[0][f.a])):
        into_top[flow.a, flow.b] = ends[flow.b]
        ends[flow.b] += TALL * flow.count / total
    out = []
    for flow in sorted(flows[:MOST_BANDS], key=lambda f: (not f.kept, -f.count)):
        key, thick = (flow.a, flow.b), TALL * flow.count / total
        title = f"{flow.count:,} from {names[0][flow.a]} to {names[1][flow.b]}"
        out.append(Band(flow, title, _outline(from_top[key], into_top[key], thick)))
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
