"""The README does what it says."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_python_example_of_the_readme_runs_as_printed(
    tmp_path: Path, kept_vectors, warm_python: list[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    done = subprocess.run(
        [*warm_python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "COTERIE_CACHE": str(kept_vectors)},
    )  # fmt: skip
    assert len(done.stdout.splitlines()) >= 18  # a line per cluster, and the prediction
    assert (tmp_path / "support.clusters" / "model" / "config.json").exists()
