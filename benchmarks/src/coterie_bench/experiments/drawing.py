"""Curves as an SVG that can be read in light and dark: panels with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 380, 270  # of a panel
LEFT, TOP, RIGHT, BOTTOM = 64, 40, 20, 44
COLORS = ("#0b6e99", "#c2571a", "#3c7d3c", "#8e4ba8", "#a8324a", "#6b6b1f", "#4a5568", "#1f7f7a")
STYLE = """
  .panel { fill: #f4f6f8; } text { fill: #16202a; } .small { font-size: 12px; fill: #46525c; }
  .grid { stroke: #d5dce1; } .curve { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    .panel { fill: #1d2329; } text { fill: #eef2f5; } .small { fill: #b9c4cc; }
    .grid { stroke: #36414a; } .curve, .dot { filter: brightness(1.5); }
  }
"""

Point = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """One picture: curves by name, over a logarithmic x, on a logarithmic y."""

    title: str
    x: str
    curves: Mapping[str, Sequence[Point]]


def draw(panels: Sequence[Panel], title: str, columns: int = 2) -> str:
    """The panels in rows, with one legend below."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    color = {name: COLORS[i % len(COLORS)] for i, name in enumerate(names)}
    rows = -(-len(panels) // columns)
    width, height = columns * WIDTH, rows * HEIGHT + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="t" font-family="system-ui, sans-serif" '
        'font-size="14">',
        f'<title id="t">{escape(title)}</title><style>{STYLE}</style>',
        f'<rect class="panel" width="{width}" height="{height}" rx="10"/>',
    ]
    for i, panel in enumerate(panels):
        at = f"translate({WIDTH * (i % columns)} {HEIGHT * (i // columns)})"
        parts.append(f'<g transform="{at}">{"".join(_panel(panel, color))}</g>')
    x, y = 20.0, height - 16
    for name in names:
        parts.append(f'<path d="M{x:.0f} {y - 4} h18" stroke="{color[name]}" class="curve"/>')
        parts.append(f'<text x="{x + 24:.0f}" y="{y}">{escape(name)}</text>')
        x += 44 + 7.5 * len(name)
    return "\n".join([*parts, "</svg>"]) + "\n"


def ticks(low: float, high: float) -> list[float]:
    """Powers of ten that cover a range.

    Examples
    --------
    >>> ticks(3, 1200)
    [1.0, 10.0, 100.0, 1000.0, 10000.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def short(value: float) -> str:
    """A power of ten as people write it.

    Examples
    --------
    >>> short(1000.0), short(1e6), short(0.1)
    ('1k', '1M', '0.1')
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _panel(panel: Panel, color: Mapping[str, str]) -> list[str]:
    points = [point for curve in panel.curves.values() for point in curve]
    out = [f'<text x="{LEFT}" y="24">{escape(panel.title)}</text>']
    if not points:
        return out
    xs, ys = ticks(*_range([x for x, _ in points])), ticks(*_range([y for _, y in points]))

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / xs[0]) / math.log(xs[-1] / xs[0])
        up = math.log(y / ys[0]) / math.log(ys[-1] / ys[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (
            HEIGHT - TOP - BOTTOM
        )

    for x in xs:
        at, bottom = place(x, ys[0])
        out.append(f'<path class="grid" d="M{at:.1f} {TOP} V{bottom:.1f}"/>')
        out.append(f'<text class="small" text-anchor="middle" x="{at:.1f}" y="{bottom + 16:.1f}">'
                   f"{short(x)}</text>")  # fmt: skip
    for y in ys:
        left, at = place(xs[0], y)
        out.append(f'<path class="grid" d="M{left} {at:.1f} H{WIDTH - RIGHT}"/>')
        out.append(f'<text class="small" text-anchor="end" x="{left - 6}" y="{at + 4:.1f}">'
                   f"{short(y)}</text>")  # fmt: skip
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text class="small" text-anchor="middle" x="{middle}" y="{HEIGHT - 8}">'
               f"{escape(panel.x)}</text>")  # fmt: skip
    for name, curve in panel.curves.items():
        placed = [place(*point) for point in sorted(curve)]
        line = " L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
        out.append(f'<path class="curve" stroke="{color[name]}" d="M{line}"/>')
        out += [f'<circle class="dot" fill="{color[name]}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
                for x, y in placed]  # fmt: skip
    return out


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)
