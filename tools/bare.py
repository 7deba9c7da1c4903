"""Run ``make run``, ``make test`` and ``make test-all`` as on a bare machine.

    python tools/bare.py [ARGUMENTS OF PYTEST]
    python tools/bare.py --can       # exit code 0 if it is possible here; else why not

They run in a fresh clone of the last commit, in a view of the file system from which the
packages that ``tools/system.py`` installs are removed, with an empty home and an empty environment.
The view is an overlay in a mount namespace: apt-get and pip install into it, and nothing outside it
changes. It needs root.

Environment
-----------
COTERIE_DATA
    The benchmark files, which the view shows beside the clone.
BARE
    The folder for the view, which takes some GB. Default: /var/tmp.

These, CI, and what tells pip and apt-get the way to the network are all that is passed on.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
TOOLS = ("unshare", "chroot", "git", "apt-get", "make")
PASSED = re.compile(r"CI|PIP_[A-Z_]+|[a-z]+_proxy|[A-Z]+_PROXY|SSL_CERT_[A-Z]+")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def sh(*command: str | Path, **more: object) -> int:
    """Exit code of a command."""
    return subprocess.run([str(part) for part in command], check=False, **more).returncode  # type: ignore[call-overload,no-any-return]


def must(*command: str | Path, **more: object) -> None:
    """Run a command or end."""
    if code := sh(*command, **more):
        raise SystemExit(f"make bare: exit code {code} of: {shlex.join(map(str, command))}")


def layer(place: Path) -> bool:
    """Mount a view of the file system in ``place/root``; this has to run in a namespace."""
    must("mount", "--make-rprivate", "/")
    for memory in (False, True):  # an overlay cannot be the upper layer of another
        if memory and sh("mount", "-t", "tmpfs", "tmpfs", place):
            return False
        upper, work, root = (place / name for name in ("upper", "work", "root"))
        for folder in (upper, work, root):
            folder.mkdir(exist_ok=True)
        options = f"lowerdir=/,upperdir={upper},workdir={work}"
        if not sh("mount", "-t", "overlay", "overlay", "-o", options, root):
            return True
    return False


def commands_pass(place: Path, tests: list[str]) -> int:
    """Make the view, and run the commands in it; with some tests named, these alone."""
    if not layer(place):
        raise SystemExit("make bare: no overlay could be mounted.")
    root = place / "root"
    home = root / "bare" / "home"
    home.mkdir(parents=True)
    settings = place / "gitconfig"  # the checkout may belong to somebody else
    settings.write_text("[safe]\n\tdirectory = *\n")
    must(
        "git", "clone", "--quiet", HOME, root / "bare" / "coterie",
        env={**os.environ, "GIT_CONFIG_GLOBAL": str(settings)},
    )  # fmt: skip
    for name in ("proc", "sys", "dev"):
        must("mount", "--rbind", f"/{name}", root / name)
    if data := os.environ.get("COTERIE_DATA"):
        shown = root / "bare" / "shared"
        shown.mkdir()
        must("mount", "--bind", data, shown)
        must("mount", "-o", "remount,bind,ro", shown)
    passed = [f"{name}={value}" for name, value in os.environ.items() if PASSED.fullmatch(name)]
    python = shlex.quote(os.environ.get("PYTHON") or shutil.which("python3", path=PATH) or "")
    more = f"test TESTS={shlex.quote(shlex.join(tests))}" if tests else "test test-all"
    commands = [
        "cd /bare/coterie",
        f"{python} tools/system.py remove",
        f"make run PYTHON={python}",
        f"make PYTHON={python} {more}",
    ]
    return sh(
        "chroot", root, "env", "-i", f"PATH={PATH}", "HOME=/bare/home", "LANG=C.UTF-8", *passed,
        "sh", "-euxc", "\n".join(commands),
    )  # fmt: skip


def why_not() -> str:
    """What keeps a view from being made here; empty: nothing."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "it needs root for a mount namespace (try: sudo make bare)"
    if lacking := [tool for tool in TOOLS if not shutil.which(tool)]:
        return f"there is no {lacking[0]}"
    with tempfile.TemporaryDirectory(dir=os.environ.get("BARE", "/var/tmp")) as folder:
        if in_namespace("--layer", folder, capture_output=True):
            return "an overlay of the file system is not permitted"
    return ""


def in_namespace(*arguments: str, **more: object) -> int:
    """Run this file in a mount namespace of its own."""
    return sh("unshare", "-m", sys.executable, __file__, *arguments, **more)


def main(arguments: list[str]) -> int:
    """Run the commands, or say why that cannot be."""
    if arguments[:1] == ["--layer"]:
        return 0 if layer(Path(arguments[1])) else 1
    if arguments[:1] == ["--inside"]:
        return commands_pass(Path(arguments[1]), arguments[2:])
    if wrong := why_not():
        sys.stderr.write(f"make bare cannot run here: {wrong}.\n")
        return 2
    if arguments == ["--can"]:
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("BARE", "/var/tmp")) as folder:
        code = in_namespace("--inside", folder, *arguments)
    sys.stderr.write(f"make bare: {'all commands pass' if not code else 'failed'}.\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
