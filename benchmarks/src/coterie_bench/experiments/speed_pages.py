"""Put the newest tables of time and memory into the pages that show them, between their marks.

coterie-bench fill
"""

from __future__ import annotations

from coterie_bench.experiments import calibrate, command, curve, encode, gpu, tune
from coterie_bench.experiments import compared_page as compared

PAGES: dict[str, dict[str, compared.Table]] = {
    "speed.md": {
        "encode": encode.table,
        "command": command.table,
        "command:parts": command.parts,
        "speed": gpu.table,
        "speed:whole": gpu.phases,
        "same-labels": gpu.same,
        "tune": tune.table,
    },
    "large-files.md": {"curve": curve.table, "calibrate": calibrate.table},
}


def main() -> None:
    for name, scripts in PAGES.items():
        page = compared.ROOT / "results" / "pages" / name
        text = compared.fill(page.read_text("utf-8"), compared.ROOT / "results", scripts)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
