"""``coterie serve``: finished runs as a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie._progress import say
from coterie._validation import need


def serve(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Folders of finished runs, or NAME=FOLDER."),
    ],
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on. Others than this machine's need a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, help="0: any that is free.")
    ] = 8000,
    read_token_file: Annotated[
        Path | None,
        typer.Option(
            "--read-token-file", help="File with the token to read. Default: COTERIE_READ_TOKEN."
        ),
    ] = None,
    edit_token_file: Annotated[
        Path | None,
        typer.Option(
            "--edit-token-file",
            help="File with the token to read and edit. Default: COTERIE_EDIT_TOKEN.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="A name that clients use, e.g. desk.example.org; repeatable."
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            help="A site whose pages may ask, e.g. https://desk.example.org; repeatable.",
        ),
    ] = None,
    max_texts: Annotated[
        int, typer.Option("--max-texts", min=1, help="Most texts of a request.")
    ] = 1_000,
    max_body: Annotated[
        float, typer.Option("--max-body", min=0.001, help="Most megabytes of a request.")
    ] = 8.0,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds until a request is given up.")
    ] = 60.0,
    max_batch: Annotated[
        int, typer.Option("--max-batch", min=1, help="Most texts that are encoded at once.")
    ] = 64,
    max_wait: Annotated[
        float,
        typer.Option(
            "--max-wait", min=0, help="Milliseconds that a batch waits for requests on their way."
        ),
    ] = 3.0,
    mask_names: Annotated[
        Path | None,
        typer.Option(
            "--mask-names", help="File with names to mask; needed if a run was masked by one."
        ),
    ] = None,
) -> None:
    """Serve runs over HTTP: predict, search, edit, update, and the page.

    POST /predict takes {"text": "..."} or {"texts": [...]}, and answers cluster, name, confidence,
    runner-up and outlier. Texts of many clients are encoded in one batch. GET /clusters, /texts,
    /search?q=..., /similar/ID and / (the page) read the run. POST /edits takes the edits of
    coterie edit, POST /update new rows. /openapi.json describes all of it, with examples.

    A run that changes on disk is taken in without losing a request. With several runs, paths begin
    with /runs/NAME.

    It listens on this machine alone. With --host for others, set COTERIE_READ_TOKEN and
    COTERIE_EDIT_TOKEN: clients send one of them as "Authorization: Bearer TOKEN". Without an
    edit token nobody can edit. Put a proxy with HTTPS before it.

    Ctrl-C ends it after the requests that have begun. Texts are never logged; --verbose before
    the verb logs each request.

    Examples:

        coterie serve tickets.clusters
        coterie serve tickets.clusters survey=out/run7 --port 9000
        curl localhost:8000/predict -H 'Content-Type: application/json' -d '{"text": "no parcel"}'
    """
    for package in ("fastapi", "prometheus_client", "uvicorn"):
        need(package, "serve")
    from coterie.runs.masked import make_masker
    from coterie.serve.access import Doors, environment_tokens
    from coterie.serve.app import Settings
    from coterie.serve.server import name_runs
    from coterie.serve.server import serve as start

    named = name_runs(runs)
    names = frozenset(name.lower() for name in allow_host or ())
    settings = Settings(
        tokens=environment_tokens(read_token_file, edit_token_file),
        doors=Doors(names, tuple(origin.rstrip("/") for origin in allow_origin or ())),
        max_body=int(max_body * (1 << 20)),
        max_texts=max_texts,
        timeout=timeout,
        max_batch=max_batch,
        max_wait=max_wait / 1000,
        masker=None if mask_names is None else make_masker(mask_names),
    )
    say(f"reading {', '.join(named)} ...")

    def started(address: str) -> None:
        say(f"serving {', '.join(named)} at {address} (Ctrl-C stops it)")

    start(named, settings, host=host, port=port, started=started)
