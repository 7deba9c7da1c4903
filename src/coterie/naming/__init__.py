"""Names for clusters from a chat endpoint: only when asked, with personal data masked."""

from coterie._http import EndpointError
from coterie.naming.endpoint import Endpoint
from coterie.naming.namer import NameOptions, ask_names, make_requests, name_clusters

__all__ = [
    "Endpoint",
    "EndpointError",
    "NameOptions",
    "ask_names",
    "make_requests",
    "name_clusters",
]
