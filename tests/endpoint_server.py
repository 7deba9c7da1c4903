"""A real HTTP server in a thread, in the place of a chat or embeddings endpoint."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def send(handler: Any, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for key, value in {"Content-Length": str(len(raw)), **(headers or {})}.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(raw)


class EndpointServer:
    """Answers as ``get`` and ``post`` say, and remembers the headers it was sent."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.headers.append(dict(self.headers))
                server.get(self)

            def do_POST(self) -> None:
                server.headers.append(dict(self.headers))
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    server.post(self, body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client has gone, as it should when answers take too long

            def log_message(self, *args: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def get(self, handler: Any) -> None:
        send(handler, 404, {})

    def post(self, handler: Any, body: Any) -> None:
        send(handler, 404, {})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def __enter__(self) -> EndpointServer:
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()
