"""An IMAP server on loopback that tells little: it has no IDLE and no UIDNEXT."""

import re
from contextlib import suppress

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.testing.loopback import LoopbackServer


class TerseImap(LoopbackServer):
    """Has mails with these numbers, of 1 January 2026, in a folder with a ``validity``."""

    def __init__(self, uids: list[int], validity: int = 7) -> None:
        self.uids = uids
        self.validity = validity

    async def _serve_connection(self, stream: SocketStream) -> None:
        received = BufferedByteReceiveStream(stream)
        async with stream:
            with suppress(anyio.IncompleteRead):  # the client has gone
                await self._talk(stream, received)

    async def _talk(self, stream: SocketStream, received: BufferedByteReceiveStream) -> None:
        await stream.send(b"* OK ready\r\n")
        while True:
            line = (await received.receive_until(b"\r\n", 65_536)).decode()
            tag, _, command = line.partition(" ")
            if command.startswith("AUTHENTICATE"):
                await stream.send(b"+ \r\n")
                await received.receive_until(b"\r\n", 65_536)
            said = "".join(f"* {text}\r\n" for text in self._answers(command))
            await stream.send(f"{said}{tag} OK done\r\n".encode())

    def _answers(self, command: str) -> list[str]:
        if command.startswith("CAPABILITY"):
            return ["CAPABILITY IMAP4rev1"]
        if command.startswith("SELECT"):
            return [f"{len(self.uids)} EXISTS", f"OK [UIDVALIDITY {self.validity}] ok"]
        if command.startswith("UID SEARCH SINCE"):
            return [" ".join(["SEARCH", *map(str, self.uids)])]
        if found := re.match(r"UID SEARCH UID (\d+):", command):
            # The last one is always in such a range.
            uids = {uid for uid in self.uids if uid >= int(found[1])} | {self.uids[-1]}
            return [" ".join(["SEARCH", *map(str, sorted(uids))])]
        if found := re.match(r"UID FETCH (\S+) \(UID INTERNALDATE", command):
            asked = self.uids[-1:] if found[1] == "*" else [int(uid) for uid in found[1].split(",")]
            facts = 'INTERNALDATE "01-Jan-2026 00:00:00 +0000" RFC822.SIZE 10'
            return [f"1 FETCH (UID {uid} {facts})" for uid in asked]
        return []
