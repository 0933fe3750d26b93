"""Read the conversation before an HTTP request from the requests that it continues."""

from collections.abc import Sequence

from orchestrator.extensions.http_api import stored_requests
from orchestrator.extensions.http_api.stored_requests import Request, build_public_id
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, Message, UserMessage
from thinker.protocol.notices import STOP_TEXTS


def list_earlier_messages(db: Database, request: Request, window: int) -> tuple[Message, ...]:
    """Return about ``window`` messages before a request's own, oldest first.

    Returns more if needed to include the user's last message, however many calls were handed back
    since.
    """
    history: list[Message] = []
    previous = request.previous_id
    has_user = _has_user_message(request)
    while previous is not None and (len(history) < window or not has_user):
        earlier = stored_requests.find_request(db, previous)
        if earlier is None:
            break
        sent = restore_messages(db, earlier, earlier.body.messages)
        history = [*sent, *_list_answer_messages(db, earlier), *history]
        previous, has_user = earlier.previous_id, has_user or _has_user_message(earlier)
    return tuple(history)


def _has_user_message(request: Request) -> bool:
    return any(isinstance(message, UserMessage) for message in request.body.messages)


def restore_messages(
    db: Database, request: Request, messages: Sequence[Message]
) -> tuple[Message, ...]:
    """Return a request's messages as the client sent them, with the agent's own calls.

    An answer whose calls were handed back is replaced by all steps of its turn.
    """
    complete: list[Message] = []
    for message in messages:
        earlier = _find_earlier_request(db, request, message)
        complete += [message] if earlier is None else _list_answer_messages(db, earlier)
    return tuple(complete)


def _find_earlier_request(db: Database, request: Request, message: Message) -> Request | None:
    """Return the user's request that this message answers, if it handed calls back."""
    if not isinstance(message, AssistantMessage) or not message.tool_calls:
        return None
    ids = {call.id for call in message.tool_calls}
    turn_id = message.tool_calls[0].id.removeprefix("call_").rpartition("_")[0]
    found = stored_requests.find_request_of_turn(db, turn_id)
    if found is None or found.outcome is None:
        return None
    if (found.agent_id, found.user) != (request.agent_id, request.user):
        return None
    return found if ids <= {call.id for call in found.outcome.calls} else None


def _list_answer_messages(db: Database, request: Request) -> list[Message]:
    """Return the steps of a request's turn; calls that were handed back have no result."""
    if request.turn_id is None or request.outcome is None:
        return []
    handed = {call.id for call in request.outcome.calls}
    messages: list[Message] = []
    for step in sessions.load_transcript(db, request.turn_id).steps:
        if not step.calls:
            continue  # the outcome has its answer
        ids = [build_public_id(request.turn_id, call.seq) for call in step.calls]
        named = zip(step.response.tool_calls, ids, strict=True)
        calls = tuple(call.model_copy(update={"id": public}) for call, public in named)
        messages.append(step.response.model_copy(update={"tool_calls": calls}))
        messages += [
            call.result.model_copy(update={"call_id": public})
            for call, public in zip(step.calls, ids, strict=True)
            if call.result is not None and public not in handed
        ]
    outcome = request.outcome
    # Notices of the first release are not marked.
    unsaid = outcome.notice or outcome.error is not None or outcome.text in STOP_TEXTS.values()
    if outcome.text and not handed and not unsaid:
        messages.append(AssistantMessage(content=outcome.text))
    return messages
