"""Print the oldest version of each requirement that pyproject.toml allows, as pins for pip.

python tools/oldest.py > oldest.txt && make test CONSTRAINTS=oldest.txt
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
# Tools of the tests are taken as they are: their age says nothing about the package.
TOOLS = (
    "hypothesis mypy pytest pytest-xdist ruff furo myst-parser sphinx hatchling ipykernel nbclient"
).split()


def pins(text: str) -> dict[str, str]:
    """Oldest version by name.

    Examples
    --------
    >>> pins('dependencies = ["numpy>=1.26", "some-model==0.1.0"]')
    {'numpy': '1.26', 'some-model': '0.1.0'}
    """
    found = dict(re.findall(r'"([A-Za-z][\w-]*) ?[>=]=([\d.]+)', text))
    return {name: version for name, version in found.items() if name not in TOOLS}


if __name__ == "__main__":
    for name, version in pins(PROJECT.read_text("utf-8")).items():
        sys.stdout.write(f"{name}=={version}\n")
