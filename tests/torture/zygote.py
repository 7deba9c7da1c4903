"""Runs commands of coterie in copies of itself, and kills them where it is told to.

Started as a process of its own. It imports everything once; each command is a fork, so that a
hundred of them cost what they do and not a hundred imports. What changes a folder passes through
the audit hooks of Python before it is done: opening for writing, renaming, deleting, making
folders. A command killed with SIGKILL just before its n-th such moment leaves the disk as a kill at
any time between the moments n - 1 and n would, so trying every n tries every state.

One JSON object per line comes in, one goes out.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

from coterie.cli import main
from coterie.models.registry import BUILT_IN

sys.path.insert(0, str(Path(__file__).parents[1]))
from warm import import_all

import_all()
for recipe in BUILT_IN.values():
    recipe.cls  # noqa: B018

LIMIT = 120  # seconds that a command may take
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "open"}


class Moments:
    """Counts what changes files in a folder; kills the process before the n-th, or interrupts."""

    def __init__(self, told: dict, log: str) -> None:
        self.folder, self.count = told["folder"], 0
        self.kill_at, self.interrupt_at = told.get("kill_at"), told.get("interrupt_at", ())
        self.vanish_at = told.get("vanish_at")
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def __call__(self, event: str, arguments: tuple) -> None:
        if event not in CHANGES or not self._inside(arguments[0]):
            return
        if event == "open" and not self._writes(arguments):
            return
        what = f"{event} {os.path.relpath(os.fspath(arguments[0]), self.folder)}"
        if self.kill_at == self.count:
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(self.log, what.encode() + b"\n")
        self.count += 1
        if self.count - 1 in self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        if self.count - 1 == self.vanish_at:
            shutil.rmtree(os.path.join(self.folder, "run"), ignore_errors=True)  # noqa: PTH118

    def _inside(self, path: object) -> bool:
        return isinstance(path, (str, os.PathLike)) and os.path.abspath(path).startswith(  # noqa: PTH100
            self.folder
        )

    def _writes(self, arguments: tuple) -> bool:
        path, _, flags = arguments
        flushed = str(path).endswith(".tmp")  # opened to be flushed to disk
        return flushed or bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def child(told: dict) -> None:
    out = os.open(told["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.update(told.get("environment", {}))
    os.chdir(told["folder"])
    sys.argv = ["coterie", *told["command"]]
    code = 1
    try:
        sys.addaudithook(Moments(told, told["output"] + ".moments"))
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def waited(pid: int) -> int:
    """How a command ended; one that hangs, as on a pipe, is killed."""
    end = time.monotonic() + LIMIT
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def serve() -> None:
    for line in sys.stdin:
        told = json.loads(line)
        begun = time.monotonic()
        pid = os.fork()
        if pid == 0:
            child(told)
        if told.get("kill_after") is not None:
            time.sleep(told["kill_after"])
            os.kill(pid, signal.SIGKILL)
        status = waited(pid)
        code = os.waitstatus_to_exitcode(status)
        sys.stdout.write(json.dumps({"code": code, "seconds": time.monotonic() - begun}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
