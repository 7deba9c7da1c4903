"""A Python that starts at once, for tests of the command in a process of its own.

Importing torch and scikit-learn takes longer than most of these tests. One process does it and
waits at a socket; each command is a fork of it. ``[sys.executable, "-IS", warm.py, SOCKET]`` takes
the place of ``sys.executable`` before ``-m coterie``, ``-c CODE`` or a script: it hands over its
streams, folder and environment, passes signals on, and ends as the command ends. What a variable
such as ``PYTHONPATH`` does at the start of Python is not repeated.
"""

import array
import contextlib
import json
import os
import selectors
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LARGEST = 1 << 20  # bytes of a request


def ask(path: str, arguments: list[str]) -> int:
    """Have a command run with the streams of this process; its exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(path)
        told = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
        streams = array.array("i", [0, 1, 2])
        sent = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
        for number in FORWARDED:
            signal.signal(number, lambda number, _: server.send(bytes([number])))
        server.sendmsg([json.dumps(told).encode()], sent)
        for stream in (0, 1, 2):  # else a pipe that the command closes would stay open
            os.close(stream)
        ended = server.recv(16)
        return int(ended) if ended else 1


def serve(path: str) -> None:
    """Import everything, then fork for each request until standard input is closed."""
    import_all()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as place:
        place.bind(path)
        place.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        print("ready", flush=True)  # noqa: T201
        with selectors.DefaultSelector() as waiting:
            waiting.register(place, selectors.EVENT_READ)
            waiting.register(0, selectors.EVENT_READ)
            while all(key.fileobj is place for key, _ in waiting.select()):
                client, _ = place.accept()
                if os.fork() == 0:
                    place.close()
                    watch(client)
                client.close()


def import_all() -> None:
    """Import also what commands import only when they need it: by use, but without training.

    Threads of training would not live on in a fork.
    """
    import tempfile
    from pathlib import Path

    from typer.testing import CliRunner

    from coterie.cli import app

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.txt"
        file.write_text("".join(f"{word} text\n" for word in ("one", "two", "red", "blue")))
        for method in (["kmeans"], ["sccl", "--set", "steps=0"]):
            told = ["cluster", str(file), "-k", "2", "--encoder", "tfidf", "-q", "--overwrite"]
            done = CliRunner().invoke(app, [*told, "--method", *method])
            assert done.exit_code == 0, done.output


def watch(client: socket.socket) -> None:
    """Run one command; it gets the signals of its client, and dies with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams = array.array("i")
    message, sent, *_ = client.recvmsg(LARGEST, socket.CMSG_SPACE(3 * streams.itemsize))
    streams.frombytes(sent[0][2])
    ended, end = os.pipe()
    command = os.fork()
    if command == 0:
        client.close()
        os.close(ended)
        run(json.loads(message), list(streams))
    os.close(end)  # the command holds the other one: it closes when that ends
    for stream in (0, 1, 2, *streams):
        os.close(stream)
    with selectors.DefaultSelector() as waiting:
        waiting.register(client, selectors.EVENT_READ)
        waiting.register(ended, selectors.EVENT_READ)
        while ended not in [key.fileobj for key, _ in waiting.select()]:
            number = client.recv(16)
            os.kill(command, number[0] if number else signal.SIGKILL)
            if not number:
                waiting.unregister(client)
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with contextlib.suppress(OSError):  # the client may be gone
        client.send(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def run(told: dict, streams: list[int]) -> None:
    """Become the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    code = 1
    try:
        execute(told["arguments"])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def execute(arguments: list[str]) -> None:
    """What Python does with these arguments."""
    import runpy

    first, *rest = arguments
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(first)))  # noqa: PTH100, PTH120
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
