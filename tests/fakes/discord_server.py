"""Discord as its bots see it: a gateway and a REST API on loopback, which misbehave on command."""

import json
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
from aiohttp import WSMsgType, web
from fakes.time_limit import time_limit

TOKEN = "token-of-the-bot"
EPOCH = 1_420_070_400_000
MESSAGE_CONTENT = 1 << 15  # the intent
ALL = str((1 << 50) - 1 - (1 << 3))  # permissions but the administrator's
TEXT, DM, THREAD = 0, 1, 11  # types of channels
REPLY = 19  # the type of an answer


def user(number: int, name: str, *, bot: bool = False) -> dict[str, Any]:
    """An account."""
    return {
        "id": str(number),
        "username": name.lower(),
        "global_name": name,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
    }


BOT = user(90_000_000_000_000_001, "Helper", bot=True)
ANN = user(90_000_000_000_000_002, "Ann")
ROBOT = user(90_000_000_000_000_003, "Robot", bot=True)
GUILD = "80000000000000001"
ROLE = "80000000000000009"  # the bot's own


@dataclass
class Channel:
    """A channel, private chat or thread with its messages."""

    id: str
    type: int
    parent: str = ""
    readable: bool = True
    messages: list[dict[str, Any]] = field(default_factory=list)

    def shape(self) -> dict[str, Any]:
        """It as the gateway describes it."""
        last = self.messages[-1]["id"] if self.messages else None
        common = {"id": self.id, "type": self.type, "last_message_id": last, "guild_id": GUILD}
        if self.type != THREAD:
            denied = "0" if self.readable else str(1 << 10 | 1 << 16)
            overwrite = {"id": GUILD, "type": 0, "allow": "0", "deny": denied}
            return common | {"name": "talk", "position": 0, "permission_overwrites": [overwrite]}
        meta = {"archived": False, "auto_archive_duration": 60, "locked": False}
        meta["archive_timestamp"] = "2026-01-01T00:00:00+00:00"  # type: ignore[assignment]
        about = {"name": "aside", "parent_id": self.parent, "owner_id": ANN["id"]}
        return common | about | {"message_count": 0, "member_count": 1, "thread_metadata": meta}


@dataclass
class Session:
    """A login at the gateway; ``log`` is what it was or should have been told."""

    id: str
    socket: web.WebSocketResponse | None = None
    packer: Any = None
    log: list[bytes] = field(default_factory=list)

    async def tell(self, event: str, data: dict[str, Any]) -> None:
        """Send an event with the next number, now or when it resumes."""
        packet = {"op": 0, "t": event, "s": len(self.log) + 1, "d": data}
        self.log.append(json.dumps(packet).encode())
        await self.write(self.log[-1])

    async def write(self, packet: bytes) -> None:
        """Send a packet, compressed with all before it, if the connection is there."""
        if self.socket is not None and not self.socket.closed:
            packed = self.packer.compress(packet) + self.packer.flush(zlib.Z_SYNC_FLUSH)
            with suppress(ConnectionError):  # it ended just now
                await self.socket.send_bytes(packed)


class DiscordServer:
    """The platform; ``posts`` are the bodies of messages that bots sent."""

    def __init__(self) -> None:
        self.url = ""
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, bytes] = {}
        self.sessions: list[Session] = []
        self.posts: list[dict[str, Any]] = []
        self.nonces: dict[str, dict[str, Any]] = {}
        self.typing = 0
        self.logins = 0
        self.flood: list[float] = []  # seconds to wait, one for each refusal to come
        self.content_granted = True
        self.unreachable = False  # the guild
        self._last_id = 0
        self._changed = anyio.Event()

    # --- what happens ----------------------------------------------------------------------------

    def new_id(self) -> str:
        """An id that is later than all before."""
        now = (int(time.time() * 1000) - EPOCH) << 22
        self._last_id = max(self._last_id + 1, now)
        return str(self._last_id)

    def open(self, kind: int, parent: str = "", number: str = "") -> Channel:
        """Make a channel."""
        channel = Channel(number or self.new_id(), kind, parent)
        self.channels[channel.id] = channel
        return channel

    async def write(
        self, channel: str, author: dict[str, Any], content: str, **more: Any
    ) -> dict[str, Any]:
        """Let a person's message stand in a channel, and tell all logins."""
        message = {
            "id": self.new_id(),
            "channel_id": channel,
            "author": author,
            "content": content,
            "timestamp": datetime.now(UTC).isoformat(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [who for who in (BOT, ANN) if f"<@{who['id']}>" in content],
            "mention_roles": [ROLE] if f"<@&{ROLE}>" in content else [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
        } | more
        self.channels[channel].messages.append(message)
        if not (self.unreachable and self.channels[channel].type != DM):
            await self.tell("MESSAGE_CREATE", self._placed(message))
        return message

    async def edit(self, channel: str, message_id: str, content: str) -> dict[str, Any]:
        """Change a message, and tell all logins."""
        message = self.find(channel, message_id)
        message |= {"content": content, "edited_timestamp": datetime.now(UTC).isoformat()}
        await self.tell("MESSAGE_UPDATE", self._placed(message))
        return message

    async def delete(self, channel: str, message_id: str) -> None:
        """Let a person delete a message."""
        self.channels[channel].messages.remove(self.find(channel, message_id))
        gone = {"id": message_id, "channel_id": channel}
        await self.tell("MESSAGE_DELETE", self._placed(gone))

    def find(self, channel: str, message_id: str) -> dict[str, Any]:
        """A message."""
        return next(m for m in self.channels[channel].messages if m["id"] == message_id)

    def reply_to(self, channel: str, message_id: str) -> dict[str, Any]:
        """The fields of an answer, which names whom it answers as Discord's clients do."""
        answered = self.find(channel, message_id)
        reference = {"message_id": message_id, "channel_id": channel, "type": 0}
        fields = {"type": REPLY, "message_reference": reference, "referenced_message": answered}
        return fields | {"mentions": [answered["author"]]}

    async def tell(self, event: str, data: dict[str, Any]) -> None:
        """Tell all logins."""
        for session in self.sessions:
            await session.tell(event, data)

    def _placed(self, message: dict[str, Any]) -> dict[str, Any]:
        private = self.channels[message["channel_id"]].type == DM
        return message if private else message | {"guild_id": GUILD}

    async def reach(self) -> None:
        """End the outage of the guild."""
        self.unreachable = False
        await self.tell("GUILD_CREATE", self._guild())

    async def lose(self) -> None:
        """Begin one."""
        self.unreachable = True
        await self.tell("GUILD_DELETE", {"id": GUILD, "unavailable": True})

    async def hang_up(self, *, forget: bool = False) -> None:
        """Close all connections; with ``forget`` no session can be resumed."""
        sockets = [session.socket for session in self.sessions if session.socket is not None]
        if forget:
            self.sessions.clear()
        for socket in sockets:
            await socket.close(code=4000)

    async def seen(self, logins: int) -> None:
        """Wait for so many logins and resumed sessions."""
        with time_limit():
            while self.logins < logins:
                await self._changed.wait()

    # --- the gateway -----------------------------------------------------------------------------

    async def gateway(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one connection."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        session = Session(self.new_id(), socket, zlib.compressobj())
        await session.write(b'{"op": 10, "d": {"heartbeat_interval": 45000}}')
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                packet = json.loads(frame.data)
                session = await self._told(session, packet["op"], packet["d"])
        session.socket = None
        return socket

    async def _told(self, session: Session, op: int, data: Any) -> Session:
        if op == 1:
            await session.write(b'{"op": 11}')
        elif op == 2:
            await self._identify(session, data)
        elif op == 6:
            return await self._resume(session, data)
        return session

    async def _identify(self, session: Session, data: Any) -> None:
        assert session.socket is not None
        if data["token"] != TOKEN:
            await session.socket.close(code=4004)
        elif data["intents"] & MESSAGE_CONTENT and not self.content_granted:
            await session.socket.close(code=4014)
        else:
            self.sessions.append(session)
            ready = {"v": 10, "user": BOT, "guilds": [{"id": GUILD, "unavailable": True}]}
            ready |= {"session_id": session.id, "application": {"id": "1", "flags": 0}}
            ready["resume_gateway_url"] = self.url.replace("http", "ws") + "/gateway"
            await session.tell("READY", ready)
            if not self.unreachable:
                await session.tell("GUILD_CREATE", self._guild())
            self._login()

    async def _resume(self, new: Session, data: Any) -> Session:
        for session in self.sessions:
            if session.id == data["session_id"]:
                session.socket, session.packer = new.socket, new.packer
                for packet in session.log[data["seq"] :]:
                    await session.write(packet)
                await session.tell("RESUMED", {})
                self._login()
                return session
        await new.write(b'{"op": 9, "d": false}')
        return new

    def _login(self) -> None:
        self.logins += 1
        self._changed.set()
        self._changed = anyio.Event()

    def _guild(self) -> dict[str, Any]:
        shown = [channel for channel in self.channels.values() if channel.type != DM]
        role = {"color": 0, "hoist": False, "position": 0, "managed": True, "mentionable": True}
        own = {"id": ROLE, "name": "Helper", "permissions": "0", "tags": {"bot_id": BOT["id"]}}
        member = {"user": BOT, "roles": [ROLE], "joined_at": "2020-01-01T00:00:00+00:00"}
        return {
            "id": GUILD,
            "name": "Friends",
            "unavailable": False,
            "owner_id": ANN["id"],
            "member_count": 3,
            "roles": [role | {"id": GUILD, "name": "@everyone", "permissions": ALL}, role | own],
            "members": [member | {"deaf": False, "mute": False, "flags": 0}],
            "channels": [channel.shape() for channel in shown if channel.type != THREAD],
            "threads": [channel.shape() for channel in shown if channel.type == THREAD],
        }

    # --- the API ---------------------------------------------------------------------------------

    async def api(self, request: web.Request) -> web.Response:
        """Answer one request."""
        path = request.path.removeprefix("/api/v10/").split("/")
        if request.headers.get("Authorization") != f"Bot {TOKEN}":
            return answer({"message": "401: Unauthorized", "code": 0}, 401)
        fixed = {"users/@me": BOT, "oauth2/applications/@me": application()}
        if (found := fixed.get("/".join(path))) is not None:
            return answer(found)
        channel = self.channels.get(path[1])
        if channel is None:
            return answer({"message": "Unknown Channel", "code": 10003}, 404)
        if path[2] == "typing":
            self.typing += 1
            return web.Response(status=204)
        if len(path) > 3:
            return await self._message(channel, path[3], request)
        return await self._messages(channel, request)

    async def _messages(self, channel: Channel, request: web.Request) -> web.Response:
        if request.method == "GET":
            return answer(self._history(channel, request.query))
        return await self._post(channel, request)

    def _history(self, channel: Channel, query: Any) -> list[dict[str, Any]]:
        """A page of messages, the newest first."""
        after, before = int(query.get("after", 0)), int(query.get("before", 1 << 63))
        found = [m for m in channel.messages if after < int(m["id"]) < before]
        limit = int(query["limit"])
        page = found[:limit] if "after" in query else found[-limit:]
        return [{key: m[key] for key in m if key != "nonce"} for m in reversed(page)]

    async def _message(
        self, channel: Channel, message_id: str, request: web.Request
    ) -> web.Response:
        if message_id not in [message["id"] for message in channel.messages]:
            return answer({"message": "Unknown Message", "code": 10008}, 404)
        if request.method == "PATCH":
            body = await request.json()
            return answer(await self.edit(channel.id, message_id, body["content"]))
        message = self.find(channel.id, message_id)
        if request.method == "DELETE":
            channel.messages.remove(message)
            return web.Response(status=204)
        return answer(message)

    async def _post(self, channel: Channel, request: web.Request) -> web.Response:
        if self.flood:
            limited = {"message": "slower", "retry_after": self.flood.pop(0), "global": False}
            return answer(limited, 429, {"Via": "1.1 google"})
        if request.content_type == "multipart/form-data":
            form = await request.post()
            body, file = json.loads(str(form["payload_json"])), form["files[0]"]
            assert isinstance(file, web.FileField)
            attached = [self.attach(file.filename, file.file.read())]
        else:
            body, attached = await request.json(), []
        self.posts.append(body)
        if len(body["content"]) > 2000 or not (body["content"] or attached):
            return answer({"message": "Invalid Form Body", "code": 50035}, 400)
        known = self.nonces.get(body["nonce"]) if body["enforce_nonce"] else None
        if known is None:
            known = await self.write(channel.id, BOT, body["content"], attachments=attached)
            self.nonces[body["nonce"]] = known
        return answer(known | {"nonce": body["nonce"]})

    def attach(self, name: str, data: bytes) -> dict[str, Any]:
        """A file that Discord keeps."""
        number = self.new_id()
        self.files[number] = data
        url = f"{self.url}/cdn/{number}"
        return {"id": number, "filename": name, "size": len(data), "url": url, "proxy_url": url}

    async def cdn(self, request: web.Request) -> web.Response:
        """A file's bytes."""
        return web.Response(body=self.files[request.path.rpartition("/")[2]])


def application() -> dict[str, Any]:
    """What a bot's application says of itself."""
    about = {"id": "1", "name": "Helper", "description": "", "icon": None, "owner": ANN}
    return about | {"bot_public": True, "bot_require_code_grant": False, "verify_key": ""}


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """An answer in JSON."""
    kind = {"Content-Type": "application/json"}
    return web.Response(
        body=json.dumps(body).encode(), status=status, headers=kind | (headers or {})
    )


@asynccontextmanager
async def discord_server() -> AsyncIterator[DiscordServer]:
    """Serve on a free port of loopback."""
    server = DiscordServer()
    app = web.Application()
    app.router.add_get("/gateway", server.gateway)
    app.router.add_get("/cdn/{number}", server.cdn)
    app.router.add_route("*", "/api/v10/{path:.*}", server.api)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await server.hang_up()
        await runner.cleanup()
