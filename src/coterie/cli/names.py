"""``coterie name``: a language model names the clusters of a finished run."""

from __future__ import annotations

from pathlib import Path

from coterie._util.progress import say
from coterie.cli import options
from coterie.cli.options import option, switch
from coterie.cli.talk import show_json, show_table
from coterie.errors import DataError


def name(
    folder: Path = options.RUN,
    endpoint: str = option(
        ..., "URL of the language model, e.g. http://localhost:11434/v1.", "--with"
    ),
    model: str | None = option(None, "Model at that URL, if there are several."),
    examples: int = option(6, "Texts per cluster to send; 0 sends words only.", min=0),
    timeout: float = option(120, "Seconds to wait for an answer.", min=0.1),
    prompt: str | None = option(None, "The task in your own words, or @FILE with them."),
    language: str | None = option(None, "Of the names, e.g. German. Default: that of the texts."),
    show_request: bool = switch(
        "--show-request", "Print what would be sent for names; send nothing."
    ),
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Name the clusters of a run with a language model.

    Sends one request for each cluster, and for each group of a coarser level, with its words and a
    few texts; personal data is masked first. An answer has a name and a sentence. Clusters that you
    have named keep their names. 'coterie edit RUN --undo' takes the names back. The key is read
    from COTERIE_API_KEY.

    Examples:

        coterie name tickets.clusters --with http://localhost:11434/v1 --show-request
        coterie name tickets.clusters --with http://localhost:11434/v1 --model llama3.2
        coterie name tickets.clusters --with URL --language German
        coterie edit tickets.clusters --undo
    """
    from coterie.describe.naming import Endpoint, EndpointError, NameOptions
    from coterie.runs import open_run
    from coterie.runs.names import name_run, requests_for

    before = {cluster.id: cluster.name for cluster in open_run(folder).clusters}
    there = Endpoint(endpoint, timeout=timeout)
    asked = NameOptions(model, examples, read_prompt(prompt), language)
    if show_request:
        say(f"POST {there.url}/chat/completions, each line a request; nothing is sent")
        for request in requests_for(folder, asked):
            show_json(request, indent=None)
        return
    problem = name_run(folder, there, asked, verbose=0 if quiet else 1)
    clusters = open_run(folder).clusters
    if as_json:
        show_json({c.id: c.name for c in clusters})
    else:
        rows = [[c.id, c.size, c.name, before.get(c.id, "")] for c in clusters]
        show_table("", ["#", "texts", "name", "name before"], rows, numbers=(0, 1))
    if problem is not None:
        raise EndpointError(f"{problem} The other clusters keep their names; to go on, repeat.")


def read_prompt(prompt: str | None) -> str | None:
    """A prompt, or that of a file that is named behind an @."""
    if prompt is None or not prompt.startswith("@"):
        return prompt
    try:
        return Path(prompt[1:]).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--prompt: {prompt[1:]} cannot be read: {error}") from error
