"""``/v1/conversations``: conversations that clients make, read, fill and delete."""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.control.operations import DaemonOperations
from orchestrator.documents.document_text import ReadDocument
from orchestrator.http_api import stored_responses
from orchestrator.http_api.app import BODY_TIMEOUT, MAX_BODY, json_object, read_body, work_on
from orchestrator.http_api.error_response import ApiProblem, invalid, malformed
from orchestrator.http_api.file_parts import files_of, read_files
from orchestrator.http_api.responses_items import conversation, developer_parts
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import api_conversations, api_requests
from orchestrator.journal.turns.api_conversations import ApiConversation
from thinker.protocol.messages import JsonObject, Message

MOST = 20  # items at a time, OpenAI's limit
PAIRS, KEY, VALUE = 16, 64, 512  # of metadata: entries, and characters of each part
IN_USE = (
    "the item cannot be deleted alone, because a response was given for it; delete the conversation"
)


class ConversationFields(BaseModel):
    """The bodies of these endpoints; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    metadata: dict[str, str] | None = None
    items: list[JsonValue] | None = None


@dataclass(frozen=True)
class ConversationEndpoints:
    """The handlers; ``document_text`` finds the text of a file."""

    daemon: DaemonOperations
    document_text: ReadDocument

    def routes(self) -> Iterator[Route]:
        one, items = "/v1/conversations/{name}", "/v1/conversations/{name}/items"
        yield Route("/v1/conversations", self.create, methods=["POST"])
        yield Route(one, self.retrieve)
        yield Route(one, self.update, methods=["POST"])
        yield Route(one, self.delete, methods=["DELETE"])
        yield Route(items, self.list_items)
        yield Route(items, self.create_items, methods=["POST"])
        yield Route(f"{items}/{{item}}", self.retrieve_item)
        yield Route(f"{items}/{{item}}", self.delete_item, methods=["DELETE"])

    async def create(self, request: Request) -> Response:
        fields, messages = await self._read(request)
        name, now = f"{api_conversations.PREFIX}{uuid4().hex}", self.daemon.clock()

        def store(db: Database) -> None:
            api_conversations.create(db, name, dict(fields.metadata or {}), now)
            api_conversations.add(db, name, messages)

        await self.daemon.store.attempt(store)
        return JSONResponse(_document(ApiConversation(name, now, dict(fields.metadata or {}))))

    async def retrieve(self, request: Request) -> Response:
        return JSONResponse(_document(await self.daemon.store.read(_found, _name(request))))

    async def update(self, request: Request) -> Response:
        fields, _ = await self._read(request)
        name = _name(request)

        def store(db: Database) -> ApiConversation:
            _found(db, name)
            if fields.metadata is not None:
                api_conversations.describe(db, name, dict(fields.metadata))
            return _found(db, name)

        return JSONResponse(_document(await self.daemon.store.attempt(store)))

    async def delete(self, request: Request) -> Response:
        name = _name(request)

        def store(db: Database) -> None:
            _found(db, name)
            api_conversations.delete(db, name)

        await self.daemon.store.attempt(store)
        return JSONResponse({"id": name, "object": "conversation.deleted", "deleted": True})

    async def list_items(self, request: Request) -> Response:
        found = await self.daemon.store.read(_items, _name(request))
        return JSONResponse(stored_responses.page_of(found, dict(request.query_params)))

    async def create_items(self, request: Request) -> Response:
        fields, messages = await self._read(request)
        if not fields.items:
            raise invalid("items", "items must be an array of items")
        name = _name(request)

        def store(db: Database) -> list[JsonObject]:
            _found(db, name)
            numbers = api_conversations.add(db, name, messages)
            given = zip(numbers, messages, strict=True)
            return [item for number, message in given for item in _given(name, number, message)]

        added = await self.daemon.store.attempt(store)
        whole = {"limit": str(stored_responses.MOST), "order": "asc"}
        return JSONResponse(stored_responses.page_of(added, whole))

    async def retrieve_item(self, request: Request) -> Response:
        return JSONResponse(_item(await self.daemon.store.read(_items, _name(request)), request))

    async def delete_item(self, request: Request) -> Response:
        name = _name(request)
        wanted = str(request.path_params["item"])

        def store(db: Database) -> ApiConversation:
            _item(_items(db, name), request)
            own = {_item_id(name, item.seq): item.seq for item in api_conversations.items(db, name)}
            if wanted not in own or not api_conversations.remove(db, name, own[wanted]):
                raise invalid("item_id", IN_USE)
            return _found(db, name)

        return JSONResponse(_document(await self.daemon.store.attempt(store)))

    async def _read(self, request: Request) -> tuple[ConversationFields, tuple[Message, ...]]:
        """Return the body, and the messages that its items are."""
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        fields = await work_on(raw, _fields, raw)
        items = fields.items or []
        if len(items) > MOST:
            raise invalid("items", f"send at most {MOST} items at a time")
        try:
            await read_files(files_of({"input": items}), self.document_text)
            if developer_parts(items):
                raise invalid("input", "system and developer items: send instructions instead")
            return fields, await work_on(raw, conversation, items)
        except ApiProblem as problem:  # of input items, as a response has them
            param = (problem.param or "").replace("input", "items", 1)
            raise invalid(param, str(problem)) from None


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _found(db: Database, name: str) -> ApiConversation:
    found = api_conversations.find(db, name)
    if found is None:
        raise ApiProblem(
            HTTPStatus.NOT_FOUND,
            f"there is no conversation {name!r}; POST /v1/conversations makes one",
            code="conversation_not_found",
        )
    return found


def _items(db: Database, name: str) -> list[JsonObject]:
    """Return all items of a conversation, the oldest first."""
    _found(db, name)
    own = api_conversations.items(db, name)
    found: list[JsonObject] = []
    for request in api_requests.of_conversation(db, name):
        taken = [item for item in own if item.request_id == request.id]
        for item in taken:
            found += _given(name, item.seq, item.message)
        begin = len([*api_conversations.joined([item.message for item in taken])])
        asked = stored_responses.asked_items(request)
        found += [item for at, group in enumerate(asked) if at >= begin for item in group]
        if request.outcome is not None and request.outcome.error is None:
            output = stored_responses.document(request)["output"]
            found += [item for item in output if isinstance(item, dict)]  # type: ignore[union-attr]
    for item in own:
        if item.request_id is None:
            found += _given(name, item.seq, item.message)
    return found


def _given(name: str, seq: int, message: Message) -> Iterator[JsonObject]:
    """Yield the item that a client put in."""
    for item in stored_responses.items_of(message):
        yield {**item, "id": _item_id(name, seq)}


def _item_id(name: str, seq: int) -> str:
    return f"item_{name.removeprefix(api_conversations.PREFIX)}_{seq}"


def _item(items: list[JsonObject], request: Request) -> JsonObject:
    wanted = str(request.path_params["item"])
    found = next((item for item in items if item["id"] == wanted), None)
    if found is None:
        message = f"there is no item {wanted!r} in this conversation"
        raise ApiProblem(HTTPStatus.NOT_FOUND, message, code="item_not_found")
    return found


def _document(found: ApiConversation) -> JsonObject:
    return {
        "id": found.id,
        "object": "conversation",
        "created_at": found.created_at // 1000,
        "metadata": found.metadata,
    }


def _fields(raw: bytes) -> ConversationFields:
    body = json_object(raw) if raw else {}
    try:
        fields = ConversationFields.model_validate(body)
    except ValidationError as error:
        raise malformed(error, body) from None
    pairs = fields.metadata or {}
    if len(pairs) > PAIRS or any(len(k) > KEY or len(v) > VALUE for k, v in pairs.items()):
        message = f"metadata has at most {PAIRS} pairs, of {KEY} and {VALUE} characters"
        raise invalid("metadata", message)
    return fields
