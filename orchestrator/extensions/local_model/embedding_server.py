"""Serve one embeddings model with OpenAI's API on this machine, until the daemon ends.

    python -P -m orchestrator.extensions.local_model.embedding_server PORT

The engine is native code that reads what strangers wrote. So the process listens first, then gives
up files, programs and all other connections, and only then loads the engine. The exit code is 3 if
the engine is not installed, and 4 if it cannot be used, or not within its jail.

The model's vectors all point the same way: two sentences without anything in common have a cosine
of 0.74. So the mean vector of common sentences in many languages is subtracted, which finds one in
ten messages more.
"""

import json
import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from socketserver import TCPServer
from threading import Condition
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.extensions.local_model.llama_server import ADDRESS, MISSING, UNUSABLE
from orchestrator.extensions.local_model.served_programs import ENGINE
from orchestrator.findings import JailKind, ProbeTargets
from thinker.jail import kernel
from thinker.jail.worker_jail import prepare_jail
from thinker.protocol.sandbox import SandboxReport

MODEL = "multilingual-e5-small"
QUESTION, PASSAGE = "query: ", "passage: "  # what the engine adds itself
HOLDING = ("full", "no-landlock")  # levels of jails that keep out network and programs
THREADS = "1"  # of the engine for one text: agents need the other cores
MAX_BODY = 4 * 1024**2  # bytes of a request
MAX_TEXT = 8000  # characters of a text that are read: some four windows of the model
MAX_TEXTS = 64
KEPT = 1000  # vectors, of 1.5 KB each
COMMON = Path(__file__).with_name("common_sentences.txt").read_text("utf-8").splitlines()
SECONDS = 30.0  # for a client to send its request


class _Request(BaseModel):
    model_config = ConfigDict(strict=True)
    input: str | list[str] = Field(max_length=MAX_BODY)
    model: str = MODEL
    dimensions: int | None = None

    @property
    def texts(self) -> list[str]:
        given = [self.input] if isinstance(self.input, str) else self.input
        # The engine takes strings that end with a zero byte.
        cleaned = (text[:MAX_TEXT].replace("\0", " ") for text in given)
        return [text.encode("utf-8", "replace").decode() for text in cleaned]


class EmbeddingLibrary(Protocol):
    """What is used of the engine; each call takes a while and holds no lock of Python's."""

    def query(self, texts: str) -> Iterable[float]:
        """Return the vector of a question."""

    def passage(self, texts: str) -> Iterable[float]:
        """Return the vector of a text that may answer one."""

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a text."""


class EmbeddingEngine:
    """Embeds one text at a time; a single text goes before the next one of a list."""

    def __init__(self, model: EmbeddingLibrary) -> None:
        self._model = model
        self._free = Condition()
        self._known: dict[bytes, array[float]] = {}  # the ones used last are at the end
        self._busy = False
        self._urgent = 0  # single texts that wait
        vectors = zip(*map(model.passage, COMMON), strict=True)
        self._center = [sum(map(float, column)) / len(COMMON) for column in vectors]
        self.length = len(self._center)

    def embed_texts(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return the vectors of texts, and the number of tokens that were read."""
        vectors, tokens, urgent = [], 0, len(texts) == 1
        for text in texts:
            with self._take_turn(urgent=urgent):
                vector = self._embed_text(text)
                tokens += self._model.token_count(text)
            numbers = zip(vector, self._center, strict=True)
            vectors.append([float(number) - mean for number, mean in numbers])
        return vectors, tokens

    def _embed_text(self, text: str) -> Iterable[float]:
        """Return the vector of a text with the prefix that the model's card asks for, or none.

        Vectors are kept for a while by a hash of the text: each worker has its tools embedded.
        """
        key = blake2b(text.encode()).digest()
        vector = self._known.pop(key, None)
        if vector is None:
            asked = text.startswith(QUESTION)
            embed = self._model.query if asked else self._model.passage
            vector = array("f", embed(text.removeprefix(QUESTION if asked else PASSAGE)))
        self._known[key] = vector
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        return vector

    def is_awaited(self) -> bool:
        """Return whether a single text waits."""
        return self._urgent > 0

    @contextmanager
    def _take_turn(self, *, urgent: bool) -> Iterator[None]:
        with self._free:
            self._urgent += urgent
            self._free.wait_for(lambda: not self._busy and (urgent or not self._urgent))
            self._urgent -= urgent
            self._busy = True
        try:
            yield
        finally:
            with self._free:
                self._busy = False
                self._free.notify_all()


class EmbeddingListener(ThreadingHTTPServer):
    """Listens at once, and answers when it has its ``engine``."""

    daemon_threads = True
    engine: EmbeddingEngine

    def __init__(self, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking for the name of the host, as the base class does."""
        TCPServer.server_bind(self)
        self.server_port = self.socket.getsockname()[1]


class _Handler(BaseHTTPRequestHandler):
    timeout = SECONDS
    server: EmbeddingListener

    def do_POST(self) -> None:
        """Answer ``/v1/embeddings``."""
        size = self.headers.get("Content-Length", "")
        if self.path != "/v1/embeddings":
            self._send_error(404, "only /v1/embeddings is served")
        elif not size.isdecimal() or int(size) > MAX_BODY:
            self._send_error(413, f"send a Content-Length of at most {MAX_BODY} bytes")
        else:
            self._answer_request(self.rfile.read(int(size)))

    def do_GET(self) -> None:
        """Tell which model there is."""
        if self.path == "/v1/models":
            self._send_json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self._send_error(404, "only /v1/models and /v1/embeddings are served")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's
        """Log nothing."""

    def _answer_request(self, body: bytes) -> None:
        try:
            request = _Request.model_validate_json(body)
        except ValidationError as error:
            self._send_error(400, f'"{error.errors()[0]["loc"]}" is not valid')
            return
        texts, engine = request.texts, self.server.engine
        if request.model != MODEL:
            self._send_error(404, f'the model is not here; "model" must be "{MODEL}"')
            return
        if request.dimensions not in (None, engine.length) or not 1 <= len(texts) <= MAX_TEXTS:
            self._send_error(400, f"ask for 1 to {MAX_TEXTS} texts, of {engine.length} dimensions")
            return
        vectors, tokens = engine.embed_texts(texts)
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ]
        used = {"prompt_tokens": tokens, "total_tokens": tokens}
        self._send_json(200, {"object": "list", "data": data, "model": MODEL, "usage": used})

    def _send_error(self, code: int, message: str) -> None:
        self._send_json(code, {"error": {"message": message, "type": "invalid_request_error"}})

    def _send_json(self, code: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _enter_jail(home: Path) -> SandboxReport:
    return prepare_jail(serves=True).close_jail((), home).report


def _enter_as_server(targets: ProbeTargets) -> SandboxReport:
    return _enter_jail(targets.home)


JAIL_KINDS = (JailKind("embeddings server", _enter_as_server),)


def serve_embeddings(port: int) -> int:
    """Serve until this process is killed; return an exit code if it cannot."""
    with EmbeddingListener(port) as listener:
        # Before the jail nothing is loaded that has threads, which would stay outside.
        if _enter_jail(Path.cwd()).level not in HOLDING:
            return UNUSABLE
        os.environ |= {"OMP_NUM_THREADS": THREADS, "OPENBLAS_NUM_THREADS": THREADS}
        try:
            library = import_module(ENGINE)
        except ModuleNotFoundError:
            return MISSING
        try:
            listener.engine = EmbeddingEngine(library.E5())
        except Exception:  # noqa: BLE001 - whatever the library says, it does not work here
            return UNUSABLE
        listener.serve_forever()
    return 0


if __name__ == "__main__":
    kernel.die_with_parent(os.getppid())
    os.chdir("/")
    os._exit(serve_embeddings(int(sys.argv[1])))
