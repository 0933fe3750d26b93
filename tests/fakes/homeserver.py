"""A real homeserver of Matrix, Synapse, and people who write there."""

import hashlib
import hmac
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fakes.fault_proxy import LOST_ANSWER, FaultProxy
from fakes.partial_world import PartialWorld
from fakes.time_limit import LIMIT, time_limit

from orchestrator.channel_api import Adapter
from orchestrator.extensions.channel_folders.testing.memory_host import hosted_adapter
from orchestrator.extensions.matrix.matrix_channel import connect
from orchestrator.testing.loopback import find_free_port

SYNAPSE = Path(sys.prefix) / "synapse" / "bin" / "python"  # where scripts/test installs it
DOMAIN = "test.local"
SHARED_SECRET = "only-for-tests"
UNLIMITED = "{per_second: 10000, burst_count: 10000}"
CONFIG = """\
server_name: "test.local"
pid_file: {folder}/synapse.pid
listeners:
  - {{port: {port}, type: http, bind_addresses: ["127.0.0.1"], resources: [{{names: [client]}}]}}
database: {{name: sqlite3, args: {{database: "{folder}/homeserver.db"}}}}
log_config: "{folder}/log.yaml"
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
registration_shared_secret: "only-for-tests"
macaroon_secret_key: "only-for-tests"
form_secret: "only-for-tests"
enable_registration: true
enable_registration_without_verification: true
report_stats: false
bcrypt_rounds: 4
trusted_key_servers: []
presence: {{enabled: false}}
rc_message: {unlimited}
rc_registration: {unlimited}
rc_login: {{address: {unlimited}, account: {unlimited}}}
rc_joins: {{local: {unlimited}, remote: {unlimited}}}
rc_invites: {{per_room: {unlimited}, per_user: {unlimited}}}
rc_room_creation: {unlimited}
"""
LOG = "version: 1\nroot: {level: ERROR}\ndisable_existing_loggers: true\n"
_numbers = itertools.count(1)


@dataclass
class Homeserver:
    """A running Synapse; `kill` and `start` as often as wanted."""

    folder: Path
    url: str
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        notified = self.folder / "notify"
        notified.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(notified))
            ready.settimeout(LIMIT)
            self.process = subprocess.Popen(
                [SYNAPSE, "-m", "synapse.app.homeserver", "--config-path", "config.yaml"],
                cwd=self.folder,
                env={**os.environ, "NOTIFY_SOCKET": str(notified)},
                stdout=subprocess.DEVNULL,
            )
            while b"READY=1" not in ready.recv(4096):
                pass

    def kill(self) -> None:
        """End it as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def homeserver(folder: Path) -> Iterator[Homeserver]:
    """Run Synapse in a folder; skip the test where it is not installed."""
    if not SYNAPSE.exists():
        pytest.skip("Synapse is not installed; scripts/test installs it when CI is set")
    port = find_free_port()
    config = CONFIG.format(folder=folder, port=port, unlimited=UNLIMITED)
    (folder / "config.yaml").write_text(config)
    (folder / "log.yaml").write_text(LOG)
    subprocess.run(
        [SYNAPSE, "-m", "synapse.app.homeserver", "-c", "config.yaml", "--generate-keys"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    server = Homeserver(folder, f"http://127.0.0.1:{port}")
    server.start()
    try:
        yield server
    finally:
        server.kill()


@dataclass
class MatrixPerson:
    """An account, and what it does over the client-server API."""

    http: httpx.AsyncClient
    user: str
    token: str

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Make a call that succeeds."""
        answer = await self.http.request(
            method, path, json=body, headers={"Authorization": f"Bearer {self.token}"}
        )
        assert answer.is_success, answer.text
        return answer.json()

    async def room(self, *guests: "MatrixPerson", direct: bool = False) -> str:
        """Make a room in which these people are."""
        body = {"invite": [guest.user for guest in guests], "is_direct": direct}
        preset = {"preset": "trusted_private_chat" if direct else "private_chat"}
        found = await self.ask("POST", "/_matrix/client/v3/createRoom", body | preset)
        room = str(found["room_id"])
        for guest in guests:
            await guest.ask("POST", f"/_matrix/client/v3/rooms/{quote(room)}/join", {})
        return room

    async def write(self, room: str, content: Any) -> str:
        """Send a message; return its id."""
        path = f"/_matrix/client/v3/rooms/{quote(room)}/send/m.room.message/t{next(_numbers)}"
        return str((await self.ask("PUT", path, content))["event_id"])

    async def messages(self, room: str) -> list[Any]:
        """All messages of a room, the oldest first."""
        path, found, start = f"/_matrix/client/v3/rooms/{quote(room)}/messages", [], ""
        while True:
            page = await self.ask("GET", f"{path}?dir=b&limit=500{start}")
            found += page["chunk"]
            if "end" not in page:
                break
            start = f"&from={page['end']}"
        return [event for event in reversed(found) if event["type"] == "m.room.message"]


async def account(http: httpx.AsyncClient, name: str, *, admin: bool = False) -> MatrixPerson:
    """Register an account."""
    name = f"{name}{next(_numbers)}-{os.getpid()}"
    if not admin:
        dummy = {"username": name, "password": "x", "auth": {"type": "m.login.dummy"}}
        found = (await http.post("/_matrix/client/v3/register", json=dummy)).json()
        return MatrixPerson(http, found["user_id"], found["access_token"])
    path = "/_synapse/admin/v1/register"
    nonce = (await http.get(path)).json()["nonce"]
    signed = f"{nonce}\0{name}\0x\0admin"
    mac = hmac.new(SHARED_SECRET.encode(), signed.encode(), hashlib.sha1).hexdigest()
    body = {"nonce": nonce, "username": name, "password": "x", "admin": True, "mac": mac}
    found = (await http.post(path, json=body)).json()
    return MatrixPerson(http, found["user_id"], found["access_token"])


@dataclass
class MatrixWorld(PartialWorld):
    """A `ChannelWorld`: ann and the bot in a room, and ann, bob and the bot in another."""

    proxy: FaultProxy
    bot: MatrixPerson
    ann: MatrixPerson
    bob: MatrixPerson
    private: str
    group: str
    lacks: frozenset[str] = frozenset({"connections", "nonsense", "gone"})

    @asynccontextmanager
    async def open_adapter(self) -> AsyncIterator[Adapter]:
        options = {"homeserver": self.proxy.url, "user": self.bot.user}
        secrets = {"MATRIX_ACCESS_TOKEN": self.bot.token}
        async with hosted_adapter("matrix", options, secrets, connect) as adapter:
            yield adapter

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        content: dict[str, Any] = {"msgtype": "m.text", "body": text, "m.mentions": {}}
        if mention:
            content |= {"body": f"{self.bot.user}: {text}"}
            content |= {"m.mentions": {"user_ids": [self.bot.user]}}
        if answers:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": answers}}
        if thread:
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread}
        return await self.ann.write(chat, content)

    async def change(self, chat: str, message_id: str, text: str) -> None:
        new = {"msgtype": "m.text", "body": text}
        relation = {"rel_type": "m.replace", "event_id": message_id}
        content = {"msgtype": "m.text", "body": f"* {text}"}
        await self.ann.write(chat, content | {"m.new_content": new, "m.relates_to": relation})

    async def say_as_bot(self, chat: str, text: str) -> None:
        await self.bob.write(chat, {"msgtype": "m.notice", "body": text})

    async def hand_in_file(self, chat: str, name: str, data: bytes, **fields: Any) -> None:
        answer = await self.ann.http.post(
            f"/_matrix/media/v3/upload?filename={name}",
            content=data,
            headers={"Authorization": f"Bearer {self.ann.token}", "Content-Type": "text/plain"},
        )
        content = {"msgtype": "m.file", "body": name, "url": answer.json()["content_uri"]}
        await self.ann.write(chat, content | fields)

    async def shows(self, chat: str, text: str) -> str:
        """Wait until the bot has written a message that begins so, and return it."""
        since, seen = "", [""]
        try:
            with time_limit():
                while True:
                    seen = await self.list_shown_texts(chat)
                    for found in seen:
                        if found.startswith(text):
                            return found
                    path = f"/_matrix/client/v3/sync?timeout=10000{since}"
                    since = f"&since={(await self.ann.ask('GET', path))['next_batch']}"
        except TimeoutError:
            raise AssertionError(f"{text!r} is not in {seen}") from None

    async def list_shown_texts(self, chat: str) -> list[str]:
        room, _, thread = chat.partition("/")
        texts: dict[str, str] = {}
        for event in await self.ann.messages(room):
            content = event["content"]
            relation = content.get("m.relates_to", {})
            if event["sender"] != self.bot.user or not content:
                continue
            if relation.get("rel_type") == "m.replace":
                if relation["event_id"] in texts:
                    texts[relation["event_id"]] = content["m.new_content"]["body"]
            elif thread in ("", relation.get("event_id")):
                texts[event["event_id"]] = content.get("filename") or content["body"]
        return list(texts.values())

    async def load_shown_file(self, chat: str) -> bytes:
        files = [
            m["content"]["url"] for m in await self.ann.messages(chat) if "url" in m["content"]
        ]
        path = f"/_matrix/client/v1/media/download/{files[-1].removeprefix('mxc://')}"
        headers = {"Authorization": f"Bearer {self.ann.token}"}
        return (await self.ann.http.get(path, headers=headers)).content

    @asynccontextmanager
    async def lose_answers(self) -> AsyncIterator[None]:
        self.proxy.spoil("PUT ", "/send/", fault=LOST_ANSWER, times=3)
        yield
        self.proxy.heal()

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[None]:
        admin = await account(self.ann.http, "admin", admin=True)
        path = f"/_synapse/admin/v1/users/{quote(self.bot.user)}/override_ratelimit"
        await admin.ask("POST", path, {"messages_per_second": 1, "burst_count": 1})
        yield
        await admin.ask("DELETE", path)

    async def leave(self) -> str:
        room = await self.ann.room(self.bot)
        path = f"/_matrix/client/v3/rooms/{quote(room)}/kick"
        await self.ann.ask("POST", path, {"user_id": self.bot.user})
        return room


@asynccontextmanager
async def matrix_world(server: Homeserver) -> AsyncIterator[MatrixWorld]:
    """Make accounts and rooms of their own for one test."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(
            httpx.AsyncClient(base_url=server.url, timeout=LIMIT)
        )
        proxy = await stack.enter_async_context(FaultProxy(server.url))
        bot, ann, bob = [await account(http, name) for name in ("bot", "ann", "bob")]
        private, group = await ann.room(bot, direct=True), await ann.room(bot, bob)
        yield MatrixWorld(proxy, bot, ann, bob, private, group)
