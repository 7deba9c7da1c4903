"""Install what PyPI does not have, where that is allowed; else print the line that does.

    python tools/system.py run       # what an environment needs
    python tools/system.py test      # what "make test" needs: WordNet's files
    python tools/system.py test-all  # and a browser, and axe-core
    python tools/system.py remove    # take these away again, for tools/bare.py

Debian packages are installed by apt-get, as root or by sudo without a password. axe-core, a test of
whether everybody can use a page, comes by npm into the environment. This never fails: what is still
missing is left out by the tests, which say so at their end, or fail if CI is "true".

Environment
-----------
SYSTEM
    ``no``: install nothing, only print the line.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
AXE, AXE_FILE = "axe-core@4.14.0", Path(sys.prefix) / "axe.min.js"
ALL = ("chromium", "wordnet-base")


def missing(part: str) -> list[str]:
    """Debian packages that bring what is not here."""
    if part == "run":
        return [] if importlib.util.find_spec("ensurepip") else ["python3-venv"]
    packages = []
    if part == "test-all" and not any(map(shutil.which, BROWSERS)):
        packages.append("chromium")
    if not Path("/usr/share/wordnet/index.noun").exists():
        packages.append("wordnet-base")
    return packages


def rights() -> list[str] | None:
    """What has to stand before a command that needs to be root; None: it cannot be."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and not subprocess.run([*sudo, "true"], capture_output=True).returncode:
        return sudo
    return None


def apt_get(before: list[str], *arguments: str) -> str:
    """Call apt-get without questions; what was wrong, or nothing."""
    quiet = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-q",
        "-y",
        "-o",
        "Dpkg::Use-Pty=0",
    ]
    done = subprocess.run(
        [*before, *quiet, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return "" if not done.returncode else "\n".join(done.stdout.splitlines()[-8:])


def install(packages: list[str]) -> str:
    """Install them; what was wrong, or nothing."""
    if os.environ.get("SYSTEM") == "no":
        return "SYSTEM=no"
    if not shutil.which("apt-get"):
        return "there is no apt-get here"
    before = rights()
    if before is None:
        return "it needs root"
    sys.stderr.write(f"Installing {' '.join(packages)} with apt-get.\n")
    apt_get(before, "update")  # an old list may do
    return apt_get(before, "install", "--no-install-recommends", *packages)


def fetch_axe() -> str:
    """Put axe-core beside Python; what was wrong, or nothing."""
    if os.environ.get("SYSTEM") == "no" or not shutil.which("npm"):
        return "SYSTEM=no, or there is no npm here"
    with tempfile.TemporaryDirectory() as place:
        asked = subprocess.run(["npm", "pack", AXE], cwd=place, capture_output=True, text=True)
        if asked.returncode:
            return asked.stderr.strip()[-200:]
        with tarfile.open(next(Path(place).glob("*.tgz"))) as packed:
            script = packed.extractfile("package/axe.min.js")
            assert script is not None
            AXE_FILE.write_bytes(script.read())
    return ""


def remove() -> int:
    """Remove all that the tests would install, and check that it is gone."""
    state = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", *ALL],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ).stdout  # fmt: skip
    here = [line.split()[1] for line in state.splitlines() if line.startswith("ii")]
    if here and (wrong := apt_get([], "purge", "--auto-remove", *here)):
        sys.stderr.write(f"{wrong}\n")
        return 1
    if missing("test-all") != list(ALL):
        sys.stderr.write(f"Of {', '.join(ALL)}, only {missing('test-all')} could be removed.\n")
        return 1
    return 0


def main(arguments: list[str]) -> int:
    """Install what one target needs."""
    if arguments == ["remove"]:
        return remove()
    if arguments not in (["run"], ["test"], ["test-all"]):
        sys.stderr.write("usage: system.py run | test | test-all | remove\n")
        return 2
    packages = missing(arguments[0])
    if packages and (wrong := install(packages)):
        line = f"sudo apt-get install {' '.join(packages)}"
        sys.stderr.write(f"Not installed ({wrong}). To have all of it, run: {line}\n")
    if arguments == ["test-all"] and not AXE_FILE.exists() and (wrong := fetch_axe()):
        sys.stderr.write(f"axe-core is left out ({wrong}).\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
