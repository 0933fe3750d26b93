"""Serve tools as an MCP server on standard input and output: one JSON-RPC message a line.

Each call runs in a thread, so that a long command delays neither a ping nor another call. A call
ends with its result, or when the client cancels it; all end with standard input.
"""

import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from urllib.parse import quote

from orchestrator.extensions.workspace.served_tool import (
    Arguments,
    CallFailure,
    Json,
    NamedFile,
    Picture,
    ServedTool,
)

MAX_MESSAGE = 4 * 1024 * 1024  # bytes of a request
MAX_CALLS = 16  # at a time
LAST_WAIT = 5.0  # seconds for calls to end after standard input
NO_METHOD, BAD_PARAMETERS = -32601, -32602  # JSON-RPC 2.0
ENV = "orchestrator/env"  # in the _meta of a call: its variables, as the tool host sends them
VERSION = "2025-06-18"  # of the protocol, for a client that names none


@dataclass
class StdioLoop:
    """A server with a fixed list of tools; ``hidden`` ones can be called but are not listed."""

    name: str
    tools: Sequence[ServedTool]
    hidden: Sequence[ServedTool] = ()
    source: BinaryIO = field(default_factory=lambda: sys.stdin.buffer)
    sink: BinaryIO = field(default_factory=lambda: sys.stdout.buffer)
    _calls: dict[str, threading.Event] = field(default_factory=dict, init=False)
    _threads: set[threading.Thread] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def serve(self) -> None:
        """Answer until standard input ends, or sends more than a message may have."""
        while line := self.source.readline(MAX_MESSAGE):
            if not line.endswith(b"\n"):
                break
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and isinstance(message.get("method"), str):
                self._process_message(message)
        with self._lock:
            for cancelled in self._calls.values():
                cancelled.set()
        for thread in list(self._threads):
            thread.join(LAST_WAIT)

    def _process_message(self, message: Json) -> None:
        method, params = message["method"], message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._cancel_call(params.get("requestId"))
        elif "id" in message:
            if method == "tools/call":
                self._start_call(message["id"], params)
            else:
                self._write_answer(message["id"], self._build_reply(method, params))

    def _build_reply(self, method: str, params: Json) -> Json:
        replies: dict[str, Callable[[], Json]] = {
            "initialize": lambda: {
                "protocolVersion": params.get("protocolVersion", VERSION),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self.name, "version": "1"},
            },
            "ping": dict,
            "tools/list": lambda: {"tools": [tool.build_listing() for tool in self.tools]},
        }
        if method in replies:
            return {"result": replies[method]()}
        return {"error": {"code": NO_METHOD, "message": f"there is no method {method}"}}

    def _start_call(self, number: Any, params: Json) -> None:  # noqa: ANN401 - an id is any JSON
        known = {tool.name: tool for tool in (*self.tools, *self.hidden)}
        tool, values = known.get(str(params.get("name"))), params.get("arguments") or {}
        if tool is None or not isinstance(values, dict):
            text = f"there is no tool {params.get('name')!r}" if tool is None else "no arguments"
            self._write_answer(number, {"error": {"code": BAD_PARAMETERS, "message": text}})
            return
        cancelled = threading.Event()
        with self._lock:
            full = len(self._calls) >= MAX_CALLS
            if not full:
                self._calls[json.dumps(number)] = cancelled
        if full:
            self._write_answer(
                number, _build_failure_result(f"{MAX_CALLS} calls run already; wait for one to end")
            )
            return
        thread = threading.Thread(
            target=self._run_tool,
            args=(number, tool, Arguments(values, cancelled, _read_variables(params))),
            daemon=True,
        )
        self._threads.add(thread)
        thread.start()

    def _run_tool(self, number: Any, tool: ServedTool, arguments: Arguments) -> None:  # noqa: ANN401 - see above
        try:
            reply = _build_result(tool.run(arguments))
        except CallFailure as failure:
            reply = _build_failure_result(str(failure))
        except OSError as error:
            reply = _build_failure_result(f"{tool.name} failed: {error.strerror or error}")
        except Exception as error:  # noqa: BLE001 - a fault in one tool must not end the others
            reply = _build_failure_result(f"{tool.name} failed: {type(error).__name__}: {error}")
        with self._lock:
            del self._calls[json.dumps(number)]
        self._write_answer(number, reply)
        self._threads.discard(threading.current_thread())

    def _cancel_call(self, number: Any) -> None:  # noqa: ANN401 - see above
        with self._lock:
            cancelled = self._calls.get(json.dumps(number))
        if cancelled is not None:
            cancelled.set()

    def _write_answer(self, number: Any, reply: Json) -> None:  # noqa: ANN401 - see above
        data = json.dumps({"jsonrpc": "2.0", "id": number, **reply}).encode() + b"\n"
        with self._lock:
            self.sink.write(data)
            self.sink.flush()


def _read_variables(params: Json) -> dict[str, str]:
    meta = params.get("_meta")
    found = meta.get(ENV) if isinstance(meta, dict) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _build_result(answer: str | Picture | NamedFile) -> Json:
    if isinstance(answer, NamedFile):
        uri = f"workspace:///{quote(answer.name)}"
        resource = {"uri": uri, "mimeType": "application/octet-stream", "blob": answer.data}
        return {"result": {"content": [{"type": "resource", "resource": resource}]}}
    if isinstance(answer, Picture):
        block = {"type": "image", "data": answer.data, "mimeType": answer.media_type}
        return {"result": {"content": [block]}}
    return {"result": {"content": [{"type": "text", "text": answer}]}}


def _build_failure_result(text: str) -> Json:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}
