"""A stand-in for a model's interface on loopback: it plays a fixed list of turns and remembers what it was sent.

It knows the wire of the Messages interface as far as a streaming client needs it, and nothing of kernels.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]


def says(text: str) -> Block:
    return {"type": "text", "text": text}


def calls(name: str, **given: Any) -> Block:
    return {"type": "tool_use", "name": name, "input": given}


class ScriptedModel:
    """Answers the n-th request that brings tools with the n-th turn, and every later one with the last."""

    def __init__(self, turns: list[Block]) -> None:
        self._turns = turns
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        """Those that brought tools."""
        self.address = ""

    def answer(self, request: dict[str, Any]) -> tuple[str, Block]:
        """An id, and what to say."""
        if not request.get("tools"):
            return "aside", says("ok")
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        return f"turn{number}", self._turns[min(number, len(self._turns) - 1)]

    def results(self) -> dict[str, Any]:
        """What came back from each call, by the id it was made under, as the model saw it."""
        messages = self.requests[-1]["messages"] if self.requests else []
        blocks = [block for one in messages if isinstance(one["content"], list) for block in one["content"]]
        return {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}

    def heard(self) -> str:
        """All that the model was told, as text."""
        return json.dumps(self.requests[-1]["messages"]) if self.requests else ""


@contextmanager
def speaking(turns: list[Block]) -> Generator[ScriptedModel]:
    """The model, listening on a free port of loopback."""
    model = ScriptedModel(turns)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    model.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the standard library
            """Silent: the test looks at `requests`."""

        def do_HEAD(self) -> None:
            self._send(b"")

        def do_GET(self) -> None:
            self._send(b'{"data": []}')

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if "count_tokens" in self.path:
                return self._send(b'{"input_tokens": 100}')
            if not self.path.startswith("/v1/messages"):
                return self._send(b"{}")
            request = json.loads(body)
            name, block = model.answer(request)
            if request.get("stream"):
                events = stream(name, request["model"], block)
                return self._send("".join(events).encode(), "text/event-stream")
            return self._send(json.dumps(message(name, request["model"], [finished(name, block)])).encode())

        def _send(self, body: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def finished(name: str, block: Block) -> Block:
    return block if block["type"] == "text" else {**block, "id": f"toolu_{name}"}


def message(name: str, model: str, content: list[Block]) -> dict[str, Any]:
    ends = "tool_use" if content and content[-1]["type"] == "tool_use" else "end_turn"
    return {
        "id": f"msg_{name}", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": ends if content else None, "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def stream(name: str, model: str, block: Block) -> Iterator[str]:
    """The turn as server-sent events."""
    whole = finished(name, block)
    if block["type"] == "text":
        begun, delta = {**whole, "text": ""}, {"type": "text_delta", "text": whole["text"]}
    else:
        begun = {**whole, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(whole["input"])}
    ends = message(name, model, [whole])["stop_reason"]
    for event in (
        {"type": "message_start", "message": message(name, model, [])},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": ends, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
