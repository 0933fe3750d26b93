"""The conversation before an HTTP request, read from the requests that it continues."""

from collections.abc import Sequence

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import api_requests, transcript
from orchestrator.journal.turns.api_requests import Request, public_id
from thinker.protocol.messages import AssistantMessage, Message, UserMessage


def before(db: Database, request: Request, window: int) -> tuple[Message, ...]:
    """Return about ``window`` messages before a request's own, oldest first.

    There are more if necessary to include the last message of the user, however many calls were
    handed back since.
    """
    history: list[Message] = []
    previous = request.previous_id
    has_user = _has_user(request)
    while previous is not None and (len(history) < window or not has_user):
        earlier = api_requests.of_id(db, previous)
        if earlier is None:
            break
        sent = restored(db, earlier, earlier.body.messages)
        history = [*sent, *_answered(db, earlier), *history]
        previous, has_user = earlier.previous_id, has_user or _has_user(earlier)
    return tuple(history)


def _has_user(request: Request) -> bool:
    return any(isinstance(message, UserMessage) for message in request.body.messages)


def restored(db: Database, request: Request, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages of a request as the client sent them, with the calls of the agent itself.

    An answer whose calls were handed back is replaced by all steps of its turn.
    """
    complete: list[Message] = []
    for message in messages:
        earlier = _earlier(db, request, message)
        complete += [message] if earlier is None else _answered(db, earlier)
    return tuple(complete)


def _earlier(db: Database, request: Request, message: Message) -> Request | None:
    """Return the user's request that this message answers, if it handed calls back."""
    if not isinstance(message, AssistantMessage) or not message.tool_calls:
        return None
    ids = {call.id for call in message.tool_calls}
    turn_id = message.tool_calls[0].id.removeprefix("call_").rpartition("_")[0]
    found = api_requests.of_turn(db, turn_id)
    if found is None or found.outcome is None:
        return None
    if (found.agent_id, found.user) != (request.agent_id, request.user):
        return None
    return found if ids <= {call.id for call in found.outcome.calls} else None


def _answered(db: Database, request: Request) -> list[Message]:
    """Return the steps of a request's turn; calls that were handed back have no result."""
    if request.turn_id is None or request.outcome is None:
        return []
    handed = {call.id for call in request.outcome.calls}
    messages: list[Message] = []
    for step in transcript.read(db, request.turn_id).steps:
        if not step.calls:
            continue  # the outcome has its answer
        ids = [public_id(request.turn_id, call.seq) for call in step.calls]
        named = zip(step.response.tool_calls, ids, strict=True)
        calls = tuple(call.model_copy(update={"id": public}) for call, public in named)
        messages.append(step.response.model_copy(update={"tool_calls": calls}))
        messages += [
            call.result.model_copy(update={"call_id": public})
            for call, public in zip(step.calls, ids, strict=True)
            if call.result is not None and public not in handed
        ]
    if request.outcome.text and not handed and request.outcome.error is None:
        messages.append(AssistantMessage(content=request.outcome.text))
    return messages
