"""Install what a target of the Makefile needs: by digest where the locks fit, else by version.

    python tools/install.py run | docs | test | torture

The lists in ``locks`` are for the kind of machine that continuous integration has, and for the
same on ARM. There each file has to have a digest that is in the list, nothing is built but coterie
itself, and nothing that the lists do not name is installed. On ARM torch comes by version, since
PyPI has no build of it for the CPU alone, and so does the fuzzer of ``torture``. Elsewhere the
versions of ``constraints.txt`` are taken, whatever files the index has of them, and a line says so.
A file with a wrong digest ends the installation; it is never a reason to go on without digests.

Environment
-----------
LOCK
    ``no``: go by version here, too.
CONSTRAINTS
    The file of versions; empty: take the newest. Any but the usual one means going by version.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

HOME = Path(__file__).parents[1]
MACHINE = "CPython 3.11, Linux x86_64"
ARM = "CPython 3.11, Linux aarch64"
USUAL = "constraints.txt"
OWN = {"run": ".", "test": "./benchmarks"}  # packages of this checkout
BUILD = ("hatchling", "editables")  # make coterie's own package, also for a release
PARTS = {"run": ["run"], "docs": ["docs"], "test": ["docs", "test"], "torture": ["torture"]}


def this_machine() -> str:
    """What the locks have to be made for."""
    python = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    return f"{python}, {platform.system()} {platform.machine()}"


def pip(*arguments: str) -> str:
    """Install quietly; what was wrong, or nothing."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
    done = subprocess.run(command, cwd=HOME, stderr=subprocess.PIPE, text=True, check=False)
    return (done.stderr or "pip failed") if done.returncode else ""


def must(*arguments: str) -> None:
    """Install or end."""
    if wrong := pip(*arguments):
        raise SystemExit(wrong)


def locked(*names: str) -> list[str]:
    """The arguments that install some lists by digest."""
    listed = [part for name in names for part in ("--requirement", f"locks/{name}.txt")]
    return ["--no-deps", "--only-binary", ":all:", "--require-hashes", *listed]


def by_digest(part: str) -> str:
    """Install by digest; if the list is not for here: why."""
    if os.environ.get("LOCK") == "no" or os.environ.get("CONSTRAINTS", USUAL) != USUAL:
        return "as asked"
    if this_machine() not in (MACHINE, ARM):
        return f"the locks are for {MACHINE} and {ARM}, this is {this_machine()}"
    if this_machine() == ARM:
        return by_digest_on_arm(part)
    if part == "run":
        wrong = pip(*locked("torch"))
        if "No matching distribution found for torch" in wrong:
            return "the build of torch in locks/torch.txt is not offered here"
        if wrong:
            raise SystemExit(wrong)
    else:
        pinned = re.findall(r"^torch==(\S+)", (HOME / "locks/torch.txt").read_text("utf-8"), re.M)
        if [metadata.version("torch")] != pinned:
            return "torch is another build than that in locks/torch.txt"
    the_rest(part)
    return ""


def the_rest(part: str) -> None:
    """Install all but torch by digest."""
    must(*locked(*PARTS[part]))
    if part in OWN:
        must("--no-deps", "--no-build-isolation", "--editable", OWN[part])


def by_digest_on_arm(part: str) -> str:
    """Install by digest what the lists have for ARM; if they have nothing: why."""
    if part == "torture":
        return "the fuzzer has no wheel for ARM"
    the_rest(part)
    if part == "run":  # last, so that what it needs in turn is there by digest
        sys.stderr.write("Installing torch by version, without a digest: the machine is ARM.\n")
        must("--constraint", USUAL, "torch")
    return ""


def by_version(part: str) -> None:
    """Install within the constraints."""
    file = os.environ.get("CONSTRAINTS", USUAL)
    within = ["--constraint", file] if file else []
    if part == "run":
        must(*within, "torch")  # first and alone, so that its constraint decides which build it is
        must(*within, *BUILD)
    extra = "" if part == "run" else f"[{part}]"
    own = ("--no-build-isolation", "--editable", f".{extra}")
    must(*within, *(("atheris",) if part == "torture" else own))
    if part == "test":
        must(*within, "--no-build-isolation", "--editable", OWN[part])


def main(arguments: list[str]) -> int:
    """Install one part."""
    if len(arguments) != 1 or arguments[0] not in PARTS:
        sys.stderr.write(f"usage: install.py {' | '.join(PARTS)}\n")
        return 2
    if why := by_digest(arguments[0]):
        sys.stderr.write(f"Installing by version, without digests: {why}.\n")
        by_version(arguments[0])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
