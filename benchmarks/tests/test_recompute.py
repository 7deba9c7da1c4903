"""Numbers of the pages are recomputed from the lines by a script that shares no code with them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "recompute.py"


def run(*words: str) -> subprocess.CompletedProcess:
    asked = [sys.executable, "-W", "error::DeprecationWarning", str(SCRIPT), *words]
    return subprocess.run(asked, capture_output=True, text=True, check=False)


def test_numbers_drawn_from_the_pages_are_those_of_the_lines() -> None:
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "30 of 30 drawn" in done.stdout
    assert "coterie_bench" not in re.findall(r"^(?:import|from) (\w+)", SCRIPT.read_text(), re.M)


def test_a_wrong_number_is_found_on_every_kind_of_page(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    shutil.copytree(ROOT / "results" / "pages", tmp_path / "results" / "pages")
    shutil.copy(ROOT / "README.md", tmp_path)
    broken = {
        "README.md": r"(\| tweet \| )(\d)",
        "results/pages/sccl.md": r"(\| tweet \|.*? ± )(\d)",
        "results/pages/benchmarks.md": r"(\| AECL, default \| \+)(\d)",
    }
    for name, place in broken.items():
        page = tmp_path / name
        text = page.read_text("utf-8")
        changed = re.sub(place, lambda m: f"{m[1]}{(int(m[2]) + 1) % 10}", text, count=1)
        assert changed != text, name
        page.write_text(changed, encoding="utf-8")
    done = run("--all", "--pages", str(tmp_path))
    assert done.returncode == 1
    wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert len(wrong) == len(broken)  # and all others agree
    for name in broken:
        assert any(f" {Path(name).name}: " in line for line in wrong), (name, wrong)
