"""``coterie serve``: finished runs as a service."""

from __future__ import annotations

import os

import typer

from coterie._util.progress import say
from coterie._util.validation import need
from coterie.cli import options
from coterie.cli.options import option, switch
from coterie.errors import UsageError


def serve(
    runs: list[str] = typer.Argument(
        ..., metavar="RUN...", help="Folders of finished runs, or NAME=FOLDER."
    ),
    host: str = option(
        "127.0.0.1", "Address to listen on. Others than this machine's need a token."
    ),
    port: int = option(8000, "0: any that is free.", "--port -p", min=0, max=65_535),
    allow_host: list[str] | None = option(
        None, "A name that clients use, e.g. desk.example.org, or *; repeatable."
    ),
    allow_origin: list[str] | None = option(
        None, "A site whose pages may ask, e.g. https://desk.example.org; repeatable."
    ),
    max_texts: int = option(1_000, "Most texts of a request.", min=1),
    max_body: float = option(8.0, "Most megabytes of a request.", min=0.001),
    timeout: float = option(60.0, "Seconds until a prediction or a search is given up.", min=0.1),
    mcp: bool = switch(
        "--mcp", "Answer an assistant over standard input and output (MCP) instead of HTTP."
    ),
    mcp_http: bool = switch("--mcp-http", "Answer assistants at /mcp, too."),
    allow_edits: bool = switch("--allow-edits", "Assistants may rename and merge clusters."),
    quiet: bool = options.QUIET,
    verbose: bool = options.VERBOSE,
) -> None:
    """Serve runs over HTTP: predict, search, edit, update, and the page.

    POST /predict takes {"text": "..."} or {"texts": [...]}, and answers cluster, name, confidence,
    runner-up and outlier. Texts of many clients are encoded in one batch. GET /clusters, /texts,
    /search?q=..., /similar/ID and / (the page) read the run. POST /edits takes the edits of
    coterie edit, POST /update new rows. /openapi.json describes all of it, with examples.

    If a run changes on disk, the service reads it again and loses no request. With several runs,
    paths begin with /runs/NAME.

    It listens on this machine alone. With --host for others, set COTERIE_READ_TOKEN and
    COTERIE_EDIT_TOKEN: clients send one of them as "Authorization: Bearer TOKEN". With a
    read token alone nobody can edit. Put a proxy with HTTPS before it.

    Ctrl-C ends it after the requests that have begun. Texts are never logged; --verbose logs
    each request.

    With --mcp an assistant on this machine starts it and asks for themes, examples, search,
    predictions and comparisons; with --mcp-http the service has them at /mcp. Assistants only
    read, unless --allow-edits is given.

    Examples:

        coterie serve tickets.clusters
        coterie serve tickets.clusters survey=out/run7 --port 9000
        coterie serve tickets.clusters --mcp
        curl localhost:8000/predict -H 'Content-Type: application/json' -d '{"text": "no parcel"}'
    """
    for package in ("fastapi", "prometheus_client", "uvicorn"):
        need(package, "serve")
    if mcp or mcp_http:
        need("mcp", "mcp")
    elif allow_edits:
        raise UsageError("`allow_edits` is about assistants; give --mcp or --mcp-http, too.")
    from coterie.serve.access import Settings, Tokens
    from coterie.serve.server import name_runs
    from coterie.serve.server import serve as start

    named = name_runs(runs)
    for folder in named.values():
        options.there(folder)
    settings = Settings(
        tokens=Tokens.find(os.environ),
        hosts=tuple(allow_host or ()),
        origins=tuple(origin.rstrip("/") for origin in allow_origin or ()),
        max_body=int(max_body * (1 << 20)),
        max_texts=max_texts,
        timeout=timeout,
        assistants_edit=allow_edits,
    )
    say(f"reading {', '.join(named)} ...")
    if mcp:
        from coterie.serve.assistants import serve_assistant

        return serve_assistant(named, settings)

    def started(address: str) -> None:
        say(f"serving {', '.join(named)} at {address} (Ctrl-C stops it)")

    start(named, settings, host=host, port=port, assistants=mcp_http, started=started)
