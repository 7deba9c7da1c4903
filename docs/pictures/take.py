"""Take the pictures of the page that README and site show.

    coterie cluster sample --out out/pictures
    python docs/pictures/take.py out/pictures/report.html

Needs Chromium and pillow. The pictures show the bundled messages, which were written for coterie.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
LARGEST = 200_000  # bytes of a picture
SHOTS = {"page-wide": "1280,1360", "page-phone": "500,1660"}  # name: window


def take(page: Path, window: str) -> Image.Image:
    """A picture of a page as Chromium draws it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shot.png"
        command = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            f"--window-size={window}",
            f"--screenshot={file}",
            "--virtual-time-budget=20000",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return Image.open(file).convert("RGB")


def main(page: Path) -> None:
    """Take all pictures, each with 256 colours so that it stays small."""
    if not page.is_file():
        raise SystemExit(f"there is no page {page}")
    for name, window in SHOTS.items():
        picture = take(page, window).quantize(256, kmeans=4, dither=Image.Dither.NONE)
        file = HERE / f"{name}.png"
        picture.save(file, optimize=True)
        if file.stat().st_size > LARGEST:
            raise SystemExit(f"{file} is larger than {LARGEST:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
