"""Names for clusters from a chat endpoint: only when asked, with personal data masked."""

from coterie._http import EndpointError
from coterie.naming.endpoint import Endpoint
from coterie.naming.namer import Budget, Naming, Request, make_requests, make_unique, name_clusters

__all__ = [
    "Budget",
    "Endpoint",
    "EndpointError",
    "Naming",
    "Request",
    "make_requests",
    "make_unique",
    "name_clusters",
]
