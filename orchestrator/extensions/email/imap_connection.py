"""The part of IMAP (RFC 9051, RFC 2177) that reading a mailbox needs.

The standard library's client blocks a thread, and the jail forbids the call that could unblock it.
"""

import base64
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSStream

from orchestrator.extensions.email.mail_server import TLS, MailServer

CONNECT_SECONDS = 20.0
COMMAND_SECONDS = 120.0  # for the largest mail over a slow line
QUIET_SECONDS = 540.0  # after which an idle connection is tested; routers drop it sooner or later
POLL_SECONDS = 15.0  # between two checks if the server cannot push changes
MAX_LINE = 4_000_000  # bytes; a search may return many numbers
MAX_LITERAL = 64 * 1024 * 1024  # bytes
CLOSED = (
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.BrokenResourceError,
    anyio.DelimiterNotFound,
)
_LITERAL = re.compile(rb"\{(\d{1,12})\}$")
_EXISTS = re.compile(rb"\* \d+ EXISTS", re.IGNORECASE)


class ImapError(Exception):
    """The server refused a command."""


class LoginRefusedError(ImapError):
    """The server refused the password."""


@dataclass(frozen=True)
class ImapLine:
    """A server's line, and the byte strings in it."""

    text: bytes
    literals: tuple[bytes, ...] = ()


class ImapConnection:
    """A connection; ``changed`` is set when the folder changes.

    Every method raises `ConnectionError` when the connection is lost.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._received = BufferedByteReceiveStream(stream)
        self._tags = 0
        self._capabilities: frozenset[bytes] = frozenset()
        self.changed = False

    async def begin_session(self, server: MailServer) -> None:
        """Read the greeting, and make sure that the connection is encrypted.

        Raises:
            ImapError: the server offers no encryption, or no service.
        """
        with _limit_time(CONNECT_SECONDS):
            greeting = await self._read_line()
        if not greeting.text.upper().startswith(b"* OK"):
            raise ImapError(_decode_words(greeting.text))
        await self._fetch_capabilities()
        if server.tls or server.is_local:
            return
        if b"STARTTLS" not in self._capabilities:
            raise ImapError("it offers no encryption; write imaps:// in channels.email.imap")
        await self.run_command("STARTTLS")
        with _limit_time(CONNECT_SECONDS):
            self._stream = await TLSStream.wrap(
                self._stream, hostname=server.host, ssl_context=TLS, standard_compatible=False
            )
        self._received = BufferedByteReceiveStream(self._stream)

    async def log_in(self, user: str, password: str) -> None:
        """Log in.

        Raises:
            LoginRefusedError: the server refuses the password.
        """
        plain = base64.b64encode(f"\0{user}\0{password}".encode())
        try:
            await self.run_command("AUTHENTICATE PLAIN", plain)
        except ImapError as error:
            raise LoginRefusedError(str(error)) from error
        await self._fetch_capabilities()

    async def run_command(self, text: str, then: bytes = b"") -> list[ImapLine]:
        """Send a command and return the response; ``then`` is sent when the server asks for more.

        Raises:
            ImapError: the server refuses the command.
        """
        with _limit_time(COMMAND_SECONDS):
            tag = await self._send_command(text)
            lines: list[ImapLine] = []
            while not (line := await self._read_line()).text.startswith(tag):
                if line.text.startswith(b"+"):
                    await self._send_line(then)
                else:
                    lines.append(line)
        _require_ok(line, tag)
        return lines

    async def wait(self) -> None:
        """Wait until the folder has changed, or until it is time to check."""
        if self.changed:
            return
        if b"IDLE" not in self._capabilities:
            await anyio.sleep(POLL_SECONDS)
            await self.run_command("NOOP")
            return
        tag, idling = await self._send_command("IDLE"), False
        with anyio.move_on_after(QUIET_SECONDS):
            while not (idling and self.changed):
                line = await self._read_line()
                idling = idling or line.text.startswith(b"+")
                if line.text.startswith(tag):
                    _require_ok(line, tag)
                    return
        with _limit_time(CONNECT_SECONDS):
            await self._send_line(b"DONE")
            while not (line := await self._read_line()).text.startswith(tag):
                pass
        _require_ok(line, tag)

    async def _fetch_capabilities(self) -> None:
        """Fetch the server's capabilities, which may grow after login."""
        said = await self.run_command("CAPABILITY")
        words = b" ".join(line.text.upper() for line in said).split()
        self._capabilities = frozenset(words)

    async def _send_command(self, text: str) -> bytes:
        self._tags += 1
        tag = f"a{self._tags} "
        await self._send_line((tag + text).encode())
        return tag.encode()

    async def _send_line(self, text: bytes) -> None:
        try:
            await self._stream.send(text + b"\r\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ConnectionError("the server closed the connection") from error

    async def _read_line(self) -> ImapLine:
        text, literals = b"", []
        try:
            while True:
                text += await self._received.receive_until(b"\r\n", MAX_LINE)
                found = _LITERAL.search(text)
                if found is None:
                    break
                size = int(found[1])
                if size > MAX_LITERAL:
                    raise ConnectionError(f"the server sent {size} bytes at once")
                literals.append(await self._received.receive_exactly(size))
        except CLOSED as error:
            raise ConnectionError("the server closed the connection") from error
        self.changed = self.changed or _EXISTS.match(text) is not None
        return ImapLine(text, tuple(literals))


@asynccontextmanager
async def open_imap_connection(server: MailServer) -> AsyncIterator[ImapConnection]:
    """Open a connection with encryption.

    Raises:
        ConnectionError: the server cannot be reached, or its certificate is not trusted.
        ImapError: the server offers no encryption, or no service.
    """
    try:
        with _limit_time(CONNECT_SECONDS):
            stream = await _open_stream(server)
    except OSError as error:
        raise ConnectionError(str(error)) from error
    async with stream:
        connection = ImapConnection(stream)
        await connection.begin_session(server)
        yield connection


async def _open_stream(server: MailServer) -> ByteStream:
    if not server.tls:
        return await anyio.connect_tcp(server.host, server.port)
    return await anyio.connect_tcp(
        server.host, server.port, ssl_context=TLS, tls_standard_compatible=False
    )


@contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise ConnectionError("the server does not answer") from error


def _require_ok(line: ImapLine, tag: bytes) -> None:
    """Require that a command succeeded."""
    status = line.text[len(tag) :]
    if not status.upper().startswith(b"OK"):
        raise ImapError(_decode_words(status))


def _decode_words(text: bytes) -> str:
    return text.decode("utf-8", "replace")[:300]
