"""A chat endpoint: any server with ``/chat/completions`` and ``/models`` of OpenAI.

Ollama, llama.cpp, vLLM and LM Studio are such servers, on the same machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coterie._http import Client, RefusedError, UnusableError


@dataclass
class Endpoint(Client):
    """A chat endpoint; see :class:`coterie._http.Client` for its settings."""

    _plain: bool = False  # temperature was refused
    usage: Mapping[str, Any] = field(default_factory=dict)  # tokens of the last answer, if told

    def ask(self, body: Mapping[str, Any]) -> str:
        """What the model answers to a chat request."""
        try:
            found = self.send("chat/completions", self._body(body))
        except RefusedError as error:
            if self._plain or "temperature" not in str(error):
                raise
            self._plain = True  # some models have one temperature; not sent from now on
            found = self.send("chat/completions", self._body(body))
        usage = found.get("usage") if isinstance(found, dict) else None
        self.usage = usage if isinstance(usage, dict) else {}
        try:
            content = found["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise UnusableError(f"the answer of {self.url} contains no message.") from error
        if not isinstance(content, str):
            raise UnusableError(f"the answer of {self.url} contains no text.")
        return self.without_key(content)

    def _body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in body.items() if not (self._plain and k == "temperature")}
