"""A chat endpoint: any server with ``/chat/completions`` and ``/models`` of OpenAI.

Ollama, llama.cpp, vLLM and LM Studio are such servers, on the same machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coterie._util.http import Client, RefusedError, UnusableError


@dataclass
class Endpoint(Client):
    """A chat endpoint; see :class:`coterie._util.http.Client` for its settings."""

    def ask(self, body: Mapping[str, Any]) -> str:
        """What the model answers to a chat request."""
        try:
            answer = self.send("chat/completions", body)
        except RefusedError as error:  # some models have one temperature
            if "temperature" not in str(error) or "temperature" not in body:
                raise
            return self.ask({key: value for key, value in body.items() if key != "temperature"})
        try:
            content = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise UnusableError(f"the answer of {self.url} contains no message.") from error
        if not isinstance(content, str):
            raise UnusableError(f"the answer of {self.url} contains no text.")
        return self.without_key(content)
