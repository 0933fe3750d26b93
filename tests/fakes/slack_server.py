"""Slack on loopback: a workspace with its Web API and Socket Mode, which misbehaves on command."""

import html
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import anyio
from aiohttp import WSMsgType, web
from fakes.time_limit import time_limit

BOT, BOT_ID, BOT_TOKEN, APP_TOKEN = "UBOT00001", "BBOT00001", "xoxb-right", "xapp-right"
START = 1_700_000_000  # seconds; the workspace has a clock of its own, one second for each event
Json = dict[str, Any]


class RefusedError(Exception):
    """An error of the Web API, by its code."""


@dataclass
class Chat:
    """A conversation; ``messages`` in order, also those of its threads."""

    id: str
    kind: str  # im | mpim | channel | group
    members: set[str]
    messages: list[Json] = field(default_factory=list)

    def find(self, ts: str) -> Json:
        """The message with this id."""
        found = next((message for message in self.messages if message["ts"] == ts), None)
        if found is None:
            raise RefusedError("message_not_found")
        return found


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a call: its ``code``, a ``status``, or an answer that is lost."""

    code: str = ""
    status: int = 200
    lost: bool = False
    wait: str = "7"  # what Retry-After says
    fields: Json = field(default_factory=dict)


class SlackServer:
    """The workspace. ``calls`` has what was asked, ``refuse`` lets calls go wrong.

    ``unacknowledged`` has the envelopes of events that Slack would repeat; ``page`` is the most
    objects of a page.
    """

    def __init__(self) -> None:
        self.chats: dict[str, Chat] = {}
        self.users = {"UANN00001": "Ann", "UBOB00001": "Bob", BOT: "helper"}
        self.files: dict[str, Json] = {}
        self.calls: list[tuple[str, Json]] = []
        self.unacknowledged: dict[str, Json] = {}
        self.fetched: list[str] = []  # ids of files
        self.page = 1000
        self.withheld = False  # files, from every token
        self.url = ""
        self._faults: list[tuple[str, Fault]] = []
        self._sockets: list[web.WebSocketResponse] = []
        self._now = START
        self._changed = anyio.Event()

    # --- what tests do ---------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator["SlackServer"]:
        """Serve on loopback."""
        app = web.Application(client_max_size=32 * 1024**2)
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_post("/upload/{file}", self._upload)
        app.router.add_get("/files-pri/{file}", self._file)
        app.router.add_get("/login", self._login)
        app.router.add_get("/link", self._link)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            await self.drop()
            await runner.cleanup()

    def refuse(self, method: str, fault: Fault, times: int = 1) -> None:
        """Let the next calls of a method go wrong."""
        self._faults += [(method, fault)] * times

    def heal(self) -> None:
        """Let no more calls go wrong."""
        self._faults.clear()

    def open(self, chat_id: str, kind: str, *members: str) -> Chat:
        """Make a conversation with the bot and these people."""
        self.chats[chat_id] = Chat(chat_id, kind, {BOT, *members})
        return self.chats[chat_id]

    async def write(self, chat_id: str, text: str, **fields: Any) -> str:
        """Let Ann, or what ``fields`` say, write; return the message's id."""
        chat = self.chats[chat_id]
        message: Json = {"type": "message", "user": "UANN00001", "text": text, "ts": self._tick()}
        message |= {name: value for name, value in fields.items() if value is not None}
        root = message.get("thread_ts")
        if root:
            parent = chat.find(root)
            message["parent_user_id"] = parent.get("user")
            parent |= {"thread_ts": root, "latest_reply": message["ts"], "reply_count": 1}
        chat.messages.append(message)
        await self._tell(chat, message)
        if root:  # as Slack does, without the subtype that its manual promises
            await self._tell(chat, {"type": "message", "hidden": True, "message": chat.find(root)})
        if f"<@{BOT}>" in text:
            await self._tell(chat, {**message, "type": "app_mention"})
        return str(message["ts"])

    async def change(self, chat_id: str, ts: str, text: str) -> None:
        """Let a message be edited."""
        chat = self.chats[chat_id]
        message = chat.find(ts)
        before = dict(message)
        edited = {"user": message["user"], "ts": self._tick()}
        message |= {"text": text, "edited": edited}
        event = {"type": "message", "subtype": "message_changed", "hidden": True}
        event |= {"message": dict(message), "previous_message": before, "ts": edited["ts"]}
        await self._tell(chat, event)
        # A preview of a link is added later, in an event of the same subtype.
        await self._tell(chat, {**event, "previous_message": dict(message), "ts": self._tick()})

    def keep(self, name: str, data: bytes, media_type: str) -> Json:
        """Keep a file; return what messages say of it."""
        file_id = f"F{len(self.files):08d}"
        address = f"{self.url}/files-pri/{file_id}"
        self.files[file_id] = {"id": file_id, "name": name, "mimetype": media_type}
        self.files[file_id] |= {"size": len(data), "url_private": address, "data": data}
        return {name: value for name, value in self.files[file_id].items() if name != "data"}

    async def drop(self) -> None:
        """End all connections, and what is on its way."""
        for socket in tuple(self._sockets):
            await socket.close()

    async def renew(self, reason: str = "warning") -> None:
        """Say that the connections will be closed, and close each once another one has begun."""
        old = tuple(self._sockets)
        for socket in old:
            await socket.send_json({"type": "disconnect", "reason": reason})
        with time_limit():
            while not any(socket not in old for socket in self._sockets):
                await self._changed.wait()
        for socket in old:
            await socket.close()

    async def repeat(self) -> None:
        """Send again what was not acknowledged."""
        for envelope in tuple(self.unacknowledged.values()):
            await self._sockets[-1].send_json({**envelope, "retry_attempt": 1})

    async def send(self, frame: str) -> None:
        """Send these words on the newest connection."""
        await self._sockets[-1].send_str(frame)

    async def changed(self) -> None:
        """Wait for the next call, connection or acknowledgement."""
        await self._changed.wait()

    async def acknowledged(self) -> None:
        """Wait until every event is."""
        with time_limit():
            while self.unacknowledged:
                await self._changed.wait()

    async def connected(self, count: int = 1) -> None:
        """Wait for connections."""
        with time_limit():
            while len(self._sockets) < count:
                await self._changed.wait()

    async def disconnected(self) -> None:
        """Wait until there is no connection, and all that was said on them is read."""
        with time_limit():
            while self._sockets:
                await self._changed.wait()

    async def called(self, method: str) -> Json:
        """Wait for a call and return its arguments."""
        with time_limit():
            while not (found := [given for name, given in self.calls if name == method]):
                await self._changed.wait()
        return found[-1]

    # --- Socket Mode -----------------------------------------------------------------------------

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": len(self._sockets) + 1})
        for envelope in tuple(self.unacknowledged.values()):
            await socket.send_json({**envelope, "retry_attempt": 1})
        self._sockets.append(socket)
        self._wake()
        try:
            async for part in socket:
                if part.type is WSMsgType.TEXT:
                    self.unacknowledged.pop(json.loads(part.data)["envelope_id"], None)
                    self._wake()
        finally:
            self._sockets.remove(socket)
            self._wake()
        return socket

    async def _tell(self, chat: Chat, event: Json) -> None:
        """Send an event; without a connection it is lost, as it is after some minutes."""
        if not self._sockets:
            return
        event = {"channel": chat.id, "channel_type": chat.kind, **event}
        envelope: Json = {"type": "events_api", "envelope_id": f"e{self._tick()}"}
        envelope["payload"] = {"type": "event_callback", "event": event}
        self.unacknowledged[envelope["envelope_id"]] = envelope
        await self._sockets[-1].send_json(envelope)

    def _tick(self) -> str:
        self._now += 1
        return f"{self._now}.000100"

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    # --- the Web API -----------------------------------------------------------------------------

    async def _api(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        given: Json = dict(request.query)
        if request.content_type == "application/json":
            given |= await request.json()
        else:
            given |= dict(await request.post())
        self.calls.append((method, given))
        self._wake()
        fault = next((fault for name, fault in self._faults if name == method), None)
        if fault is not None:
            self._faults.remove((method, fault))
            if not fault.lost:
                body = {"ok": False, "error": fault.code, **fault.fields}
                return web.json_response(
                    body, status=fault.status, headers={"Retry-After": fault.wait}
                )
        try:
            answer = await self._answer(method, given, request.headers.get("Authorization", ""))
        except RefusedError as error:
            answer = {"ok": False, "error": str(error)}
        if fault is not None and request.transport is not None:
            request.transport.close()
        self._now += 1
        return web.json_response({"ok": True} | answer, headers={"Date": formatdate(self._now)})

    async def _answer(self, method: str, given: Json, authorization: str) -> Json:
        token = APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN
        if authorization != f"Bearer {token}":
            raise RefusedError("invalid_auth")
        handler: Callable[[Json], Awaitable[Json]] = getattr(
            self, f"_{method.replace('.', '_').lower()}"
        )
        return await handler(given)

    def _chat(self, given: Json) -> Chat:
        chat = self.chats.get(given["channel"])
        if chat is None:
            raise RefusedError("channel_not_found")
        if BOT not in chat.members:
            raise RefusedError("not_in_channel")
        return chat

    def _paged(self, name: str, objects: list[Any], given: Json) -> Json:
        start = int(given.get("cursor") or 0)
        end = start + min(int(given["limit"]), self.page)
        following = str(end) if end < len(objects) else ""
        page = objects[start:end]
        return {name: page, "response_metadata": {"next_cursor": following}}

    async def _auth_test(self, _: Json) -> Json:
        return {"user_id": BOT, "bot_id": BOT_ID, "team_id": "T1"}

    async def _apps_connections_open(self, _: Json) -> Json:
        return {"url": f"{self.url.replace('http', 'ws')}/link"}

    async def _users_conversations(self, given: Json) -> Json:
        kinds = given["types"].replace("public_channel", "channel")
        kinds = kinds.replace("private_channel", "group").split(",")
        chats = [
            {"id": chat.id, "is_im": chat.kind == "im"}
            for chat in self.chats.values()
            if BOT in chat.members and chat.kind in kinds
        ]
        return self._paged("channels", chats, given)

    async def _conversations_history(self, given: Json) -> Json:
        shown = [
            message
            for message in reversed(self._chat(given).messages)
            if message.get("thread_ts") in (None, message["ts"])
            or message.get("subtype") == "thread_broadcast"
        ]
        return self._paged("messages", shown, given)

    async def _conversations_replies(self, given: Json) -> Json:
        messages, root = self._chat(given).messages, given["ts"]
        oldest = given.get("oldest", "0")
        replies = [m for m in messages if m.get("thread_ts") == root and m["ts"] != root]
        found = [m for m in messages if m["ts"] == root]
        return self._paged("messages", found + [m for m in replies if m["ts"] > oldest], given)

    async def _users_info(self, given: Json) -> Json:
        name = self.users.get(given["user"])
        if name is None:
            raise RefusedError("user_not_found")
        profile = {"display_name": name, "real_name": f"{name} of Example"}
        return {"user": {"id": given["user"], "name": name.lower(), "profile": profile}}

    async def _chat_postmessage(self, given: Json) -> Json:
        chat = self._chat(given)
        thread = given.get("thread_ts")
        own = {"user": BOT, "bot_id": BOT_ID, "thread_ts": thread}
        return {"ts": await self.write(chat.id, given["text"], **own), "channel": chat.id}

    def _own(self, given: Json) -> Json:
        message = self._chat(given).find(given["ts"])
        if message["user"] != BOT:
            raise RefusedError("cant_update_message")
        return message

    async def _chat_update(self, given: Json) -> Json:
        self._own(given)["text"] = given["text"]
        return {"ts": given["ts"]}

    async def _chat_delete(self, given: Json) -> Json:
        self._chat(given).messages.remove(self._own(given))
        return {"ts": given["ts"]}

    async def _files_info(self, given: Json) -> Json:
        file = self.files.get(given["file"])
        if file is None:
            raise RefusedError("file_not_found")
        return {"file": {name: value for name, value in file.items() if name != "data"}}

    async def _files_getuploadurlexternal(self, given: Json) -> Json:
        file = self.keep(given["filename"], b"\0" * int(given["length"]), "")
        return {"file_id": file["id"], "upload_url": f"{self.url}/upload/{file['id']}"}

    async def _files_completeuploadexternal(self, given: Json) -> Json:
        chat = self._chat({"channel": given["channel_id"]})
        shown = {"id": given["files"][0]["id"], "name": given["files"][0]["title"]}
        own = {"user": BOT, "bot_id": BOT_ID, "thread_ts": given.get("thread_ts")}
        comment = given.get("initial_comment", "")
        await self.write(chat.id, comment, files=[shown], subtype="file_share", **own)
        return {"files": [shown]}

    async def _upload(self, request: web.Request) -> web.Response:
        file = self.files[request.match_info["file"]]
        data = await request.read()
        if len(data) != file["size"]:
            return web.Response(status=400, text="wrong length")
        file["data"] = data
        return web.Response(text=f"OK - {len(data)}")

    async def _file(self, request: web.Request) -> web.Response:
        authorization = request.headers.get("Authorization")
        if self.withheld or authorization != f"Bearer {BOT_TOKEN}":
            return web.Response(status=302, headers={"Location": "/login"})
        self.fetched.append(request.match_info["file"])
        return web.Response(body=self.files[request.match_info["file"]]["data"])

    async def _login(self, _: web.Request) -> web.Response:
        return web.Response(text="<html>please log in</html>", content_type="text/html")


def as_seen(text: str) -> str:
    """What a person sees of mrkdwn, without its marks."""
    return html.unescape(re.sub("[*_~`\N{ZERO WIDTH SPACE}]", "", text))
