"""Names for clusters from a chat endpoint: only when asked, with personal data masked."""

from coterie._util.http import EndpointError
from coterie.describe.naming.endpoint import Endpoint
from coterie.describe.naming.namer import NameOptions, ask_names, make_requests, name_clusters

__all__ = [
    "Endpoint",
    "EndpointError",
    "NameOptions",
    "ask_names",
    "make_requests",
    "name_clusters",
]
