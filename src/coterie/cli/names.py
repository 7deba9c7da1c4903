"""``coterie name``: a language model names the clusters of a finished run."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from coterie._progress import say
from coterie.cli import options
from coterie.cli.options import option, switch
from coterie.cli.talk import show_json, show_table
from coterie.errors import DataError, UsageError

if TYPE_CHECKING:
    from coterie.naming import Budget, Endpoint
    from coterie.runs.names import NameOptions


def name(
    folder: Path = options.RUN,
    endpoint: str | None = option(
        None, "URL of the language model, e.g. http://localhost:11434/v1.", "--with"
    ),
    model: str | None = option(None, "Model at that URL, if there are several."),
    examples: int = option(6, "Texts per cluster to send; 0 sends words only.", min=0),
    timeout: float = option(120, "Seconds to wait for an answer.", min=0.1),
    prompt: str | None = option(None, "The task in your own words, or @FILE with them."),
    language: str | None = option(None, "Of the names, e.g. German. Default: that of the texts."),
    max_tokens: int | None = option(None, "Stop before more tokens than this are used.", min=1),
    max_cost: float | None = option(None, "Stop before more is spent; needs --price."),
    price: str | None = option(
        None, "Of a million tokens, sent and answered, e.g. 0.15,0.60; for --max-cost."
    ),
    show_request: bool = switch(
        "--show-request", "Print what would be sent for names; send nothing."
    ),
    own_names: bool = switch("--own-names", "Restore the names made of words."),
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Name the clusters of a run with a language model.

    Sends one request per cluster with its words and a few texts; personal data is masked first.
    Then the groups of each coarser level are named, with the names of their parts. An answer has a
    name, a sentence, and two quotes from the texts; a name that the texts do not back is
    rejected. Requests and answers are saved in names.jsonl: after Ctrl-C or a failure, repeat the
    command to continue. The key is read from COTERIE_API_KEY.

    Examples:

        coterie name tickets.clusters --with http://localhost:11434/v1 --show-request
        coterie name tickets.clusters --with http://localhost:11434/v1 --model llama3.2
        coterie name tickets.clusters --with URL --language German --max-tokens 50000
        coterie name tickets.clusters --with URL --max-cost 0.50 --price 0.15,0.60
        coterie name tickets.clusters --own-names
    """
    from coterie._folders import held
    from coterie.clustering import read
    from coterie.naming import Budget, Endpoint, EndpointError
    from coterie.runs import open_run
    from coterie.runs.names import NameOptions, OwnNames, restore_names

    if own_names == (endpoint is not None):
        raise UsageError("give either --with URL or --own-names.")
    open_run(folder)
    problem = None
    with nullcontext() if show_request else held(folder):
        own = OwnNames(read(folder)).clusters
        if endpoint is None:
            restore_names(folder)
        else:
            there = Endpoint(endpoint, timeout=timeout)
            asked = NameOptions(model, examples, read_prompt(prompt), language)
            if show_request:
                show_requests(folder, there, asked)
                return
            budget = Budget(max_tokens, max_cost, read_price(price))
            problem = ask_names(folder, there, asked, budget, quiet=quiet)
    clusters = open_run(folder).clusters
    if as_json:
        show_json({c.id: c.name for c in clusters})
    else:
        rows = [[c.id, c.size, c.name, own.get(c.id, "")] for c in clusters]
        show_table("", ["#", "texts", "name", "own name"], rows, numbers=(0, 1))
    if problem is not None:
        raise EndpointError(f"{problem} The other clusters keep their names; to go on, repeat.")


def read_prompt(said: str | None) -> str | None:
    """A prompt, or that of a file that is named behind an @."""
    if said is None or not said.startswith("@"):
        return said
    try:
        return Path(said[1:]).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--prompt: {said[1:]} cannot be read: {error}") from error


def read_price(said: str | None) -> tuple[float, float]:
    """The two numbers of ``--price``."""
    if said is None:
        return 0.0, 0.0
    try:
        sent, answered = (float(part) for part in said.split(","))
    except ValueError as error:
        raise UsageError(
            "`max_cost` needs an amount above 0 and `price`: what a million tokens cost, sent "
            "and answered, such as 0.15,0.60."
        ) from error
    return sent, answered


def show_requests(folder: Path, endpoint: Endpoint, asked: NameOptions) -> None:
    """Print what would be sent."""
    from coterie.runs.names import requests_for

    if asked.model is None:
        say("the model, null here, would be asked of the endpoint; --model sets it")
    say(f"POST {endpoint.url}/chat/completions, each line a request; nothing is sent")
    for request in requests_for(folder, asked):
        show_json(request.body, indent=None)


def ask_names(
    folder: Path,
    endpoint: Endpoint,
    asked: NameOptions,
    budget: Budget | None = None,
    *,
    quiet: bool,
) -> str | None:
    """Name the clusters; returns what went wrong, and says how to go on where it is stopped."""
    from coterie.runs.names import name_run

    try:
        return name_run(folder, endpoint, asked, budget=budget, verbose=0 if quiet else 1)
    except KeyboardInterrupt:
        again = ["coterie", "name", str(folder), "--with", endpoint.url]
        again += ["--model", asked.model] if asked.model else []
        say(f"\nStopped; the clusters are finished. For names:\n  {shlex.join(again)}")
        raise
