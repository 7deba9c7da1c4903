"""``coterie name``: names for the clusters of a finished run from a chat endpoint, when asked."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import UsageError
from coterie._progress import say
from coterie.cli.options import AsJson, Quiet
from coterie.cli.talk import show_table

SHOWN = {"email": "e-mail address", "phone": "telephone number", "iban": "IBAN", "link": "link",
         "card": "card number", "ip": "IP address", "code": "code", "number": "long number",
         "name": "name of a person"}  # fmt: skip

NameWith = Annotated[
    str | None,
    typer.Option(
        "--name-with", help="Chat endpoint that names the clusters, e.g. http://localhost:11434/v1."
    ),
]
NameModel = Annotated[
    str | None, typer.Option("--name-model", help="Model of that endpoint, if it has several.")
]
ShowRequest = Annotated[
    bool, typer.Option("--show-request", help="Print what would be sent for names; send nothing.")
]


def name(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    endpoint: Annotated[
        str | None,
        typer.Option("--with", help="Chat endpoint, e.g. http://localhost:11434/v1."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model of that endpoint, if it has several.")
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", min=0, help="Texts of each cluster to send; 0: words only.")
    ] = 6,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds per answer.")] = 120,
    show_request: ShowRequest = False,
    own_names: Annotated[
        bool, typer.Option("--own-names", help="Put coterie's own names back; asks nobody.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Name the clusters of a finished run by a language model, on this machine or elsewhere.

    One question per cluster with its words and a few texts; personal data are masked before. What
    was sent and answered is kept in names.jsonl and not asked twice: after Ctrl-C or a failure the
    same command goes on. A key is read from COTERIE_API_KEY.

    Examples:

        coterie name tickets.clusters --with http://localhost:11434/v1 --show-request
        coterie name tickets.clusters --with http://localhost:11434/v1 --model llama3.2
        coterie name tickets.clusters --own-names
    """
    from contextlib import nullcontext

    from coterie._folders import held
    from coterie.naming import EndpointError
    from coterie.runs.names import RunNames

    if own_names == (endpoint is not None):
        raise UsageError("give either --with URL or --own-names.")
    check_run(folder)
    asker = None if endpoint is None else Asker(endpoint, model, show_request, examples, timeout)
    with nullcontext() if show_request else held(folder):
        run, problem = RunNames(folder), None
        if asker is None:
            run.restore()
        else:
            problem = asker(folder, quiet=quiet)
    if show_request:
        return
    clusters = RunNames(folder).clusters
    if as_json:
        typer.echo(json.dumps({c.id: c.name for c in clusters}, ensure_ascii=False, indent=2))
    else:
        rows = [[str(c.id), str(c.size), c.name, run.own.get(c.id, "")] for c in clusters]
        show_table("", ["#", "texts", "name", "own name"], rows, numbers=(0, 1))
    if problem is not None:
        raise EndpointError(f"{problem} The other clusters keep their names; to go on, repeat.")


def make_asker(url: str | None, model: str | None, show: bool, as_json: bool) -> Asker | None:
    """What ``coterie cluster`` was given about names; the address is judged before the work."""
    if url is None:
        if model is not None or show:
            raise UsageError("--name-model and --show-request belong to --name-with URL.")
        return None
    if show and as_json:
        raise UsageError("--show-request and --json both print JSON; take one of them.")
    return Asker(url, model, show)


@dataclass
class Asker:
    """An endpoint to ask for the names of a finished run."""

    url: str
    model: str | None
    show: bool = False
    examples: int = 6
    timeout: float = 120.0

    def __post_init__(self) -> None:
        from coterie.naming import Endpoint

        self.endpoint = Endpoint(self.url, timeout=self.timeout)

    def __call__(self, path: Path, *, quiet: bool) -> str | None:
        """Name the clusters, or show the questions; returns what went wrong."""
        from coterie._progress import make_progress
        from coterie.naming import make_requests, name_clusters
        from coterie.runs.names import RunNames

        run = RunNames(path)
        clusters = run.to_name()
        texts = run.texts()
        requests = make_requests(clusters, self.model, examples=self.examples, texts=texts)
        if self.show:
            self._show([request.body for request in requests])
            return None
        if not quiet:
            say(f"asking {self.endpoint.url} for names of {len(requests)} clusters"
                f"{_masked(requests)}")  # fmt: skip
        try:
            naming = name_clusters(
                clusters, self.endpoint, model=self.model, folder=path, examples=self.examples,
                texts=texts, progress=make_progress(0 if quiet else 1),
            )  # fmt: skip
        except KeyboardInterrupt:
            again = ["coterie", "name", str(path), "--with", self.endpoint.url]
            again += ["--model", self.model] if self.model else []
            say(f"\nStopped; the clusters are finished. For names:\n  {shlex.join(again)}")
            raise
        if naming.named:
            run.take(naming, self.endpoint.url)
        return naming.problem

    def after(self, path: Path, *, quiet: bool) -> list[Any]:
        """The clusters after asking; what went wrong is said, and they keep their own names."""
        from coterie.runs.names import RunNames

        problem = self(path, quiet=quiet)
        if problem is not None:
            say(f"coterie: {problem} Clusters without an answer keep their own names; to go on: "
                f"coterie name {path} --with {self.endpoint.url}")  # fmt: skip
        return RunNames(path).clusters

    def _show(self, bodies: list[dict[str, Any]]) -> None:
        if self.model is None:
            say("the model, null here, would be asked of the endpoint; --name-model sets it")
        say(f"POST {self.endpoint.url}/chat/completions, each line a request; nothing is sent")
        for body in bodies:
            typer.echo(json.dumps(body, ensure_ascii=False))


def check_run(folder: Path) -> None:
    """Refuse what is not a finished run."""
    from coterie._folders import mend_folder
    from coterie.run_files import check_results

    mend_folder(folder)
    check_results(folder)


def _masked(requests: list[Any]) -> str:
    total: Counter[str] = sum((Counter(r.masked) for r in requests), Counter())
    if not total:
        return ""
    kinds = ", ".join(f"{SHOWN[kind]} {count}x" for kind, count in sorted(total.items()))
    return f"; masked before sending: {kinds}"
