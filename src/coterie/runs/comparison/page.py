"""A comparison as one self-contained HTML page: no network, no script."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coterie._util.files import write_text
from coterie.page.page import render_page
from coterie.runs.comparison.result import Change, Comparison

LISTED = 60  # groups of moved rows in the table, the largest first


def render_comparison(found: Comparison) -> str:
    """The page as text; all names and texts are escaped."""
    moved = [flow for flow in found.flows if not flow.kept]
    return render_page(
        "comparison.html",
        ("comparison.css",),
        found=found,
        sentences=found.sentences(),
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
