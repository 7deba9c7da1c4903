"""Names for clusters from a chat endpoint: only when asked, with personal data masked."""

from coterie.naming.answer import make_unique
from coterie.naming.endpoint import Endpoint, EndpointError
from coterie.naming.namer import Naming, name_clusters, renamed
from coterie.naming.request import Request, make_requests

__all__ = [
    "Endpoint",
    "EndpointError",
    "Naming",
    "Request",
    "make_requests",
    "make_unique",
    "name_clusters",
    "renamed",
]
