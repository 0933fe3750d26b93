"""A collector on loopback that reads OTLP as it is defined, and fails on command."""

import gzip
import json
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.time_limit import time_limit
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from orchestrator.testing.loopback import MAX_HEAD, LoopbackServer

IDS = ("traceId", "spanId", "parentSpanId")


@dataclass(frozen=True)
class Told:
    """What the collector answers."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)


class OtlpCollector(LoopbackServer):
    """``spans`` and ``metrics`` are those that it took, ``heads`` the headers of every request.

    ``script`` is used up first; then ``judge`` decides about the spans of a request. While it is
    ``dead``, connections end without an answer; while it is ``silent``, they wait for one.
    """

    def __init__(self, judge: Callable[[Sequence[Span]], Told] = lambda _: Told()) -> None:
        self.spans: list[Span] = []
        self.metrics: list[list[Metric]] = []
        self.resources: list[dict[str, str]] = []
        self.heads: list[dict[str, str]] = []
        self.posts: list[tuple[str, int]] = []
        self.script: deque[Told] = deque()
        self.dead = self.silent = False
        self._judge = judge
        self._changed = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is looked at after every request."""
        with time_limit():
            while not condition():
                await self._changed.wait()

    def ids(self) -> list[tuple[str, str]]:
        """Trace and span of each span that was taken."""
        return [(span.trace_id.hex(), span.span_id.hex()) for span in self.spans]

    async def _serve_connection(self, stream: SocketStream) -> None:
        received = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                while not self.dead:
                    head = (await received.receive_until(b"\r\n\r\n", MAX_HEAD)).decode("ascii")
                    await self._exchange(stream, received, head)
                self.posts.append(("dead", 0))
                self._notify()
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return

    async def _exchange(
        self, stream: SocketStream, received: BufferedByteReceiveStream, head: str
    ) -> None:
        line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
        body = await received.receive_exactly(int(headers["content-length"]))
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert headers["content-type"] == "application/json"
        self.heads.append(headers)
        path = line.split()[1]
        if self.silent:
            await anyio.sleep_forever()
        told = self._take(path, json.loads(body))
        self.posts.append((path, told.status))
        extra = "".join(f"{name}: {value}\r\n" for name, value in told.headers.items())
        answer = f"HTTP/1.1 {told.status} Told\r\ncontent-length: {len(told.body)}\r\n{extra}\r\n"
        await stream.send(answer.encode() + told.body)
        self._notify()

    def _take(self, path: str, body: dict[str, Any]) -> Told:
        """Read a request with the real definitions, which know no other field."""
        if path.endswith("/v1/traces"):
            traces = ParseDict(with_bytes(body), ExportTraceServiceRequest())
            spans = [
                span
                for one in traces.resource_spans
                for scope in one.scope_spans
                for span in scope.spans
            ]
            told = self.script.popleft() if self.script else self._judge(spans)
            if told.status == 200:
                self.spans += spans
                self.resources += [_texts(one.resource) for one in traces.resource_spans]
            return told
        assert path.endswith("/v1/metrics")
        metrics = ParseDict(body, ExportMetricsServiceRequest())
        told = self.script.popleft() if self.script else Told()
        if told.status == 200:
            self.metrics += [
                list(scope.metrics)
                for one in metrics.resource_metrics
                for scope in one.scope_metrics
            ]
            self.resources += [_texts(one.resource) for one in metrics.resource_metrics]
        return told

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def values(attributes: Any) -> dict[str, Any]:
    """Attributes by name."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def _texts(resource: Any) -> dict[str, str]:
    return {name: str(value) for name, value in values(resource.attributes).items()}


def with_bytes(value: Any) -> Any:
    """JSON of OTLP has ids in hexadecimal, that of Protocol Buffers in base 64."""
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64encode(bytes.fromhex(item)).decode() if name in IDS else with_bytes(item)
        for name, item in value.items()
    }
