"""``/v1/conversations``: make, read, fill and delete conversations; and stored responses."""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.control.operations import DaemonOperations
from orchestrator.document_text import ReadDocument
from orchestrator.extensions.http_api import api_conversations, new_requests, stored_responses
from orchestrator.extensions.http_api.api_conversations import ApiConversation
from orchestrator.extensions.http_api.file_parts import parse_files, read_files
from orchestrator.extensions.http_api.request_bodies import (
    make_validation_problem,
    parse_json_object,
)
from orchestrator.extensions.http_api.responses_items import (
    list_developer_parts,
    parse_conversation,
)
from orchestrator.journal.db.database import Database
from orchestrator.web.app import BODY_TIMEOUT, MAX_BODY, read_body, run_on_body
from orchestrator.web.error_response import (
    ApiProblem,
    make_invalid_problem,
)
from thinker.protocol.messages import JsonObject, Message

MAX_ITEMS = 20  # at a time, OpenAI's limit
MAX_PAIRS, MAX_KEY, MAX_VALUE = 16, 64, 512  # of metadata: entries, and characters of each part
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
    """The handlers; ``document_text`` extracts the text of a file."""

    daemon: DaemonOperations
    document_text: ReadDocument

    def build_routes(self) -> Iterator[Route]:
        one, items = "/v1/conversations/{name}", "/v1/conversations/{name}/items"
        yield Route("/v1/conversations", self.create_conversation, methods=["POST"])
        yield Route(one, self.retrieve_conversation)
        yield Route(one, self.update_conversation, methods=["POST"])
        yield Route(one, self.delete_conversation, methods=["DELETE"])
        yield Route(items, self.list_items)
        yield Route(items, self.create_items, methods=["POST"])
        yield Route(f"{items}/{{item}}", self.retrieve_item)
        yield Route(f"{items}/{{item}}", self.delete_item, methods=["DELETE"])
        response = "/v1/responses/{name}"
        yield Route(response, self.serve_stored_response, methods=["GET", "DELETE"])
        yield Route(f"{response}/input_items", self.list_inputs)

    async def create_conversation(self, request: Request) -> Response:
        fields, messages = await self._read_fields(request)
        name, now = f"{api_conversations.PREFIX}{uuid4().hex}", self.daemon.clock()

        def insert_conversation(db: Database) -> None:
            api_conversations.create_conversation(db, name, dict(fields.metadata or {}), now)
            api_conversations.add_items(db, name, messages)

        await self.daemon.store.transact_once(insert_conversation)
        return JSONResponse(
            _build_document(ApiConversation(name, now, dict(fields.metadata or {})))
        )

    async def retrieve_conversation(self, request: Request) -> Response:
        return JSONResponse(
            _build_document(await self.daemon.store.read(_load_conversation, _get_name(request)))
        )

    async def update_conversation(self, request: Request) -> Response:
        fields, _ = await self._read_fields(request)
        name = _get_name(request)

        def store_metadata(db: Database) -> ApiConversation:
            _load_conversation(db, name)
            if fields.metadata is not None:
                api_conversations.update_metadata(db, name, dict(fields.metadata))
            return _load_conversation(db, name)

        return JSONResponse(_build_document(await self.daemon.store.transact_once(store_metadata)))

    async def delete_conversation(self, request: Request) -> Response:
        name = _get_name(request)

        def delete_stored(db: Database) -> None:
            _load_conversation(db, name)
            api_conversations.delete_conversation(db, name)

        await self.daemon.store.transact_once(delete_stored)
        return JSONResponse({"id": name, "object": "conversation.deleted", "deleted": True})

    async def list_items(self, request: Request) -> Response:
        found = await self.daemon.store.read(_list_conversation_items, _get_name(request))
        return JSONResponse(stored_responses.build_item_page(found, dict(request.query_params)))

    async def create_items(self, request: Request) -> Response:
        fields, messages = await self._read_fields(request)
        if not fields.items:
            raise make_invalid_problem("items", "items must be an array of items")
        name = _get_name(request)

        def insert_items(db: Database) -> list[JsonObject]:
            _load_conversation(db, name)
            numbers = api_conversations.add_items(db, name, messages)
            given = zip(numbers, messages, strict=True)
            return [
                item
                for number, message in given
                for item in _list_given_items(name, number, message)
            ]

        added = await self.daemon.store.transact_once(insert_items)
        whole = {"limit": str(stored_responses.MAX_ITEMS), "order": "asc"}
        return JSONResponse(stored_responses.build_item_page(added, whole))

    async def retrieve_item(self, request: Request) -> Response:
        return JSONResponse(
            _require_item(
                await self.daemon.store.read(_list_conversation_items, _get_name(request)), request
            )
        )

    async def delete_item(self, request: Request) -> Response:
        name = _get_name(request)
        wanted = str(request.path_params["item"])

        def delete_stored_item(db: Database) -> ApiConversation:
            _require_item(_list_conversation_items(db, name), request)
            own = {
                _build_item_id(name, item.seq): item.seq
                for item in api_conversations.list_items(db, name)
            }
            if wanted not in own or not api_conversations.remove_item(db, name, own[wanted]):
                raise make_invalid_problem("item_id", IN_USE)
            return _load_conversation(db, name)

        return JSONResponse(
            _build_document(await self.daemon.store.transact_once(delete_stored_item))
        )

    async def serve_stored_response(self, request: Request) -> Response:
        """Return a stored response again, or delete it."""
        name = _get_name(request)
        found = await self.daemon.store.read(stored_responses.load_response, name)
        if request.method != "DELETE":
            return JSONResponse(stored_responses.build_stored_document(found))
        await self.daemon.store.transact(new_requests.disown_request, found.id)
        return JSONResponse({"id": name, "object": "response", "deleted": True})

    async def list_inputs(self, request: Request) -> Response:
        name = _get_name(request)
        found = await self.daemon.store.read(stored_responses.load_response, name)
        return JSONResponse(stored_responses.list_input_items(found, dict(request.query_params)))

    async def _read_fields(
        self, request: Request
    ) -> tuple[ConversationFields, tuple[Message, ...]]:
        """Parse the body, and its items as messages."""
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        fields = await run_on_body(raw, _parse_fields, raw)
        items = fields.items or []
        if len(items) > MAX_ITEMS:
            raise make_invalid_problem("items", f"send at most {MAX_ITEMS} items at a time")
        try:
            await read_files(parse_files({"input": items}), self.document_text)
            if list_developer_parts(items):
                raise make_invalid_problem(
                    "input", "system and developer items: send instructions instead"
                )
            return fields, await run_on_body(raw, parse_conversation, items)
        except ApiProblem as problem:  # of input items, as a response has them
            param = (problem.param or "").replace("input", "items", 1)
            raise make_invalid_problem(param, str(problem)) from None


def _get_name(request: Request) -> str:
    return str(request.path_params["name"])


def _load_conversation(db: Database, name: str) -> ApiConversation:
    found = api_conversations.find_conversation(db, name)
    if found is None:
        raise ApiProblem(
            HTTPStatus.NOT_FOUND,
            f"unknown conversation {name!r}; POST /v1/conversations makes one",
            code="conversation_not_found",
        )
    return found


def _list_conversation_items(db: Database, name: str) -> list[JsonObject]:
    """List all items of a conversation, oldest first."""
    _load_conversation(db, name)
    own = api_conversations.list_items(db, name)
    found: list[JsonObject] = []
    for request in new_requests.list_conversation_requests(db, name):
        taken = [item for item in own if item.request_id == request.id]
        for item in taken:
            found += _list_given_items(name, item.seq, item.message)
        begin = len([*api_conversations.join_split_answers([item.message for item in taken])])
        asked = stored_responses.list_asked_items(request)
        found += [item for at, group in enumerate(asked) if at >= begin for item in group]
        if request.outcome is not None and request.outcome.error is None:
            output = stored_responses.build_stored_document(request)["output"]
            found += [item for item in output if isinstance(item, dict)]  # type: ignore[union-attr]
    for item in own:
        if item.request_id is None:
            found += _list_given_items(name, item.seq, item.message)
    return found


def _list_given_items(name: str, seq: int, message: Message) -> Iterator[JsonObject]:
    """Yield an item that the client put in."""
    for item in stored_responses.list_message_items(message):
        yield {**item, "id": _build_item_id(name, seq)}


def _build_item_id(name: str, seq: int) -> str:
    return f"item_{name.removeprefix(api_conversations.PREFIX)}_{seq}"


def _require_item(items: list[JsonObject], request: Request) -> JsonObject:
    wanted = str(request.path_params["item"])
    found = next((item for item in items if item["id"] == wanted), None)
    if found is None:
        message = f"unknown item {wanted!r} in this conversation"
        raise ApiProblem(HTTPStatus.NOT_FOUND, message, code="item_not_found")
    return found


def _build_document(found: ApiConversation) -> JsonObject:
    return {
        "id": found.id,
        "object": "conversation",
        "created_at": found.created_at // 1000,
        "metadata": found.metadata,
    }


def _parse_fields(raw: bytes) -> ConversationFields:
    body = parse_json_object(raw) if raw else {}
    try:
        fields = ConversationFields.model_validate(body)
    except ValidationError as error:
        raise make_validation_problem(error, body) from None
    pairs = fields.metadata or {}
    if len(pairs) > MAX_PAIRS or any(
        len(key) > MAX_KEY or len(value) > MAX_VALUE for key, value in pairs.items()
    ):
        message = (
            f"metadata must have at most {MAX_PAIRS} pairs, with keys of up to {MAX_KEY} and values"
            f" of up to {MAX_VALUE} characters"
        )
        raise make_invalid_problem("metadata", message)
    return fields
