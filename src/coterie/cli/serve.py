"""``coterie serve``: finished runs as a service."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from coterie._progress import say
from coterie._validation import need
from coterie.cli.options import option, switch
from coterie.errors import UsageError
from coterie.serve.access import HostPolicy, Settings, Tokens

MEGABYTE = 1 << 20


def serve(
    runs: list[str] = typer.Argument(
        ..., metavar="RUN...", help="Folders of finished runs, or NAME=FOLDER."
    ),
    host: str = option(
        "127.0.0.1", "Address to listen on. Others than this machine's need a token."
    ),
    port: int = option(8000, "0: any that is free.", "--port -p", min=0, max=65_535),
    read_token_file: Path | None = option(
        None, "File with the token to read. Default: COTERIE_READ_TOKEN."
    ),
    edit_token_file: Path | None = option(
        None, "File with the token to read and edit. Default: COTERIE_EDIT_TOKEN."
    ),
    allow_host: list[str] | None = option(
        None, "A name that clients use, e.g. desk.example.org; repeatable."
    ),
    allow_origin: list[str] | None = option(
        None, "A site whose pages may ask, e.g. https://desk.example.org; repeatable."
    ),
    max_texts: int = option(Settings.max_texts, "Most texts of a request.", min=1),
    max_body: float = option(
        Settings.max_body / MEGABYTE, "Most megabytes of a request.", min=0.001
    ),
    timeout: float = option(Settings.timeout, "Seconds until a request is given up.", min=0.1),
    max_batch: int = option(Settings.max_batch, "Most texts that are encoded at once.", min=1),
    max_wait: float = option(
        1000 * Settings.max_wait,
        "Milliseconds that a batch waits for requests on their way.",
        min=0,
    ),
    mcp: bool = switch(
        "--mcp", "Answer an assistant over standard input and output (MCP) instead of HTTP."
    ),
    mcp_http: bool = switch("--mcp-http", "Answer assistants at /mcp, too."),
    allow_edits: bool = switch("--allow-edits", "Assistants may rename and merge clusters."),
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

    Ctrl-C ends it after the requests that have begun. Texts are never logged; coterie --verbose
    serve logs each request.

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
    from coterie.serve.server import name_runs
    from coterie.serve.server import serve as start

    named = name_runs(runs)
    hosts = frozenset(name.lower() for name in allow_host or ())
    settings = Settings(
        tokens=Tokens.find(os.environ, read_token_file, edit_token_file),
        hosts=HostPolicy(hosts, tuple(origin.rstrip("/") for origin in allow_origin or ())),
        max_body=int(max_body * MEGABYTE),
        max_texts=max_texts,
        timeout=timeout,
        max_batch=max_batch,
        max_wait=max_wait / 1000,
        assistants_edit=allow_edits,
    )
    say(f"reading {', '.join(named)} ...")
    if mcp:
        from coterie.serve.assistants import serve_assistant

        return serve_assistant(named, settings)

    def started(address: str) -> None:
        say(f"serving {', '.join(named)} at {address} (Ctrl-C stops it)")

    start(named, settings, host=host, port=port, assistants=mcp_http, started=started)
