"""How long ``coterie --help`` and ``import coterie`` take, as ratios to an empty Python program.

Absolute times move with the load of the machine; ratios of the least times, taken in turns in one
run, do so least.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import coterie": [sys.executable, "-c", "import coterie"],
    "coterie --help": [str(Path(sys.executable).with_name("coterie")), "--help"],
}
ROUNDS = 15


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - begun)
    bare = min(times["python -c pass"])
    for name, values in times.items():
        print(
            f"{name:16} {1000 * min(values):6.0f} ms   {min(values) / bare:5.1f} x python -c pass"
        )
