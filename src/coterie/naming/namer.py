"""Asking an endpoint for the names of clusters, and keeping the own ones where it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coterie._progress import Progress, Silent
from coterie._validation import check_integer
from coterie.description import Cluster
from coterie.naming.answer import clean_name, make_unique
from coterie.naming.endpoint import Endpoint, EndpointError, UnusableError
from coterie.naming.journal import FILE, LONGEST, Journal
from coterie.naming.request import EXAMPLES, Request, make_requests

log = logging.getLogger(__name__)

GIVE_UP = 3  # useless answers in a row


@dataclass(frozen=True)
class Naming:
    """What came of asking.

    Attributes
    ----------
    clusters : list of Cluster
        With new names where there are any.
    model : str
    named, asked, total : int
        Clusters with a name from the endpoint, questions sent now, and clusters with texts.
    problem : str or None
        Why not all have one.
    """

    clusters: list[Cluster]
    model: str
    named: int
    asked: int
    total: int
    problem: str | None = None


def name_clusters(  # noqa: PLR0913 - each is a choice of its own
    clusters: Sequence[Cluster],
    endpoint: str | Endpoint,
    *,
    model: str | None = None,
    folder: str | Path | None = None,
    examples: int = EXAMPLES,
    texts: Iterable[str] = (),
    progress: Progress | None = None,
) -> Naming:
    """Names from any OpenAI-compatible chat endpoint, one question per cluster.

    Personal data are masked before anything is sent (:mod:`coterie.masking`). A key is taken from
    the environment variable COTERIE_API_KEY; that of OPENAI_API_KEY goes to OpenAI alone. Where the
    endpoint fails, clusters keep the names they have, and ``problem`` says why.

    Parameters
    ----------
    clusters : sequence of Cluster
        From :func:`coterie.describe`.
    endpoint : str or Endpoint
        Such as "http://localhost:11434/v1".
    model : str, optional
        Name of the model there; may be left out where there is one only.
    folder : path, optional
        Where names.jsonl keeps questions and answers; what it holds is not asked again.
    examples : int, default=6
        Texts of each cluster to send; 0 sends its words alone.
    texts : iterable of str, optional
        All texts of the clusters, never sent: words that are masked in most of them (names of
        persons among the words of a cluster) are masked, too. Without them, only the examples of
        the clusters are looked at.
    progress : Progress, optional

    Returns
    -------
    Naming
    """
    check_integer("examples", examples, 0)
    at = Endpoint(endpoint) if isinstance(endpoint, str) else endpoint
    journal = Journal(None if folder is None else Path(folder) / FILE)
    try:
        model = model or at.only_model()
    except (EndpointError, UnusableError) as error:
        total = sum(cluster.size > 0 for cluster in clusters)
        return Naming(list(clusters), "", 0, 0, total, str(error))
    requests = make_requests(clusters, model, examples=examples, texts=texts)
    asked, problem = _ask_all(at, requests, journal, progress or Silent(), _names(clusters))
    answers = {
        request.cluster: name
        for request in requests
        if (name := clean_name(journal.answers.get(request.digest(at.url), ""))) is not None
    }
    return Naming(_rename(clusters, answers), model, len(answers), asked, len(requests), problem)


def renamed(clusters: Sequence[Cluster], names: Mapping[int, str]) -> list[Cluster]:
    """The clusters with these names, also where they are named as neighbours."""
    return [
        replace(
            cluster,
            name=names.get(cluster.id, cluster.name),
            near=[replace(near, name=names.get(near.id, near.name)) for near in cluster.near],
        )
        for cluster in clusters
    ]


def _rename(clusters: Sequence[Cluster], answers: Mapping[int, str]) -> list[Cluster]:
    """New names where there is an answer; no two alike, and none like one that stays."""
    names = {cluster.id: cluster.name for cluster in clusters if cluster.id not in answers}
    for cluster in clusters:
        if cluster.id in answers:
            words = [word for word, _ in cluster.words]
            names[cluster.id] = make_unique(answers[cluster.id], names.values(), words)
    return renamed(clusters, names)


def _ask_all(
    endpoint: Endpoint,
    requests: Sequence[Request],
    journal: Journal,
    progress: Progress,
    own: Mapping[int, str],
) -> tuple[int, str | None]:
    """Ask what the journal does not know; how many were asked, and what went wrong."""
    asked, useless, problem = 0, 0, None
    open_ = [r for r in requests if r.digest(endpoint.url) not in journal.answers]
    progress.start("names", len(requests), len(requests) - len(open_))
    try:
        for done, request in enumerate(open_, len(requests) - len(open_) + 1):
            asked += 1
            try:
                _ask(endpoint, request, journal, own[request.cluster])
                useless = 0
            except UnusableError as error:
                useless, problem = useless + 1, str(error)
                if useless == GIVE_UP:
                    break
            except EndpointError as error:
                return asked, str(error)
            progress.advance(done)
    finally:
        progress.stop()
    return asked, problem


def _ask(endpoint: Endpoint, request: Request, journal: Journal, own: str) -> None:
    begun = time.monotonic()
    entry = {
        "digest": request.digest(endpoint.url),
        "cluster": request.cluster,
        "own_name": own,
        "endpoint": endpoint.url,
        "masked": request.masked,
        "request": request.body,
    }
    try:
        answer = endpoint.ask(request.body)
        name = clean_name(answer)
        if name is None:
            raise UnusableError("naming.no_usable_name", url=endpoint.url)
    except (EndpointError, UnusableError) as error:
        journal.write(entry | {"status": "failed", "error": str(error)})
        raise
    took = {"seconds": round(time.monotonic() - begun, 3)}
    journal.write(entry | took | {"status": "answered", "answer": answer[:LONGEST], "name": name})


def _names(clusters: Sequence[Cluster]) -> dict[int, str]:
    return {cluster.id: cluster.name for cluster in clusters}
