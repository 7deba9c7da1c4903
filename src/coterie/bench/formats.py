"""A table as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from coterie.bench.tables import markdown

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "▲": r"$\uparrow$", "▼": r"$\downarrow$", "†": r"$\dagger$", "–": "--",
    "<": r"$<$", ">": r"$>$",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Cells as texts, with a title and a caption."""

    title: str
    caption: str
    header: list[str]
    body: list[list[str]]

    def to_markdown(self, level: int = 2) -> str:
        """Heading, caption, table."""
        table = markdown(_cells(self.header), [_cells(line) for line in self.body])
        return f"{'#' * level} {self.title}\n\n{self.caption}\n\n{table}"

    def to_latex(self) -> str:
        """A floating table that needs no package."""
        lines = [" & ".join(map(escape_latex, line)) + r" \\" for line in self.body]
        columns = "l" * len(self.header)
        return "\n".join([
            r"\begin{table}",
            rf"\caption{{{escape_latex(self.title)}. {escape_latex(self.caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            " & ".join(map(escape_latex, self.header)) + r" \\",
            r"\hline",
            *lines,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ])  # fmt: skip

    def to_csv(self) -> str:
        """Header and lines; the caption is left to the reader's file name."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([self.header, *self.body])
        return stream.getvalue()


def escape_latex(text: str) -> str:
    r"""A text in which LaTeX finds no commands.

    Examples
    --------
    >>> escape_latex("50% & a_b")
    '50 \\% \\& a\\_b'
    """
    return "".join(LATEX.get(letter, letter) for letter in text)


def _cells(line: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in line]
