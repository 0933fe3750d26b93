"""What was said before a request: read from the requests that it goes on from."""

from collections.abc import Sequence

import apsw

from orchestrator.journal.turns import api_requests, transcript
from orchestrator.journal.turns.api_requests import Request, public_id
from thinker.protocol.messages import AssistantMessage, Message, UserMessage


def before(db: apsw.Connection, request: Request, window: int) -> tuple[Message, ...]:
    """The newest messages before a request's own, about ``window`` of them, oldest first.

    However many calls were handed back since, they begin with what a person said.
    """
    said: list[Message] = []
    previous = request.previous_id
    asked = _asks(request)
    while previous is not None and (len(said) < window or not asked):
        earlier = api_requests.of_id(db, previous)
        if earlier is None:
            break
        own = restored(db, earlier.agent_id, earlier.body.messages)
        said = [*own, *_answered(db, earlier), *said]
        previous, asked = earlier.previous_id, asked or _asks(earlier)
    return tuple(said)


def _asks(request: Request) -> bool:
    return any(isinstance(message, UserMessage) for message in request.body.messages)


def restored(
    db: apsw.Connection, agent_id: str, messages: Sequence[Message]
) -> tuple[Message, ...]:
    """A conversation as a client sent it, with what the agent did besides.

    In the place of an answer whose calls were handed back stand that turn's own calls, too.
    """
    said: list[Message] = []
    for message in messages:
        earlier = _earlier(db, agent_id, message)
        said += [message] if earlier is None else _answered(db, earlier)
    return tuple(said)


def _earlier(db: apsw.Connection, agent_id: str, message: Message) -> Request | None:
    """The request of which this is the answer, when it handed calls back."""
    if not isinstance(message, AssistantMessage) or not message.tool_calls:
        return None
    ids = {call.id for call in message.tool_calls}
    turn_id = message.tool_calls[0].id.removeprefix("call_").rpartition("_")[0]
    found = api_requests.of_turn(db, turn_id)
    if found is None or found.agent_id != agent_id or found.outcome is None:
        return None
    return found if ids <= {call.id for call in found.outcome.calls} else None


def _answered(db: apsw.Connection, request: Request) -> list[Message]:
    """What a request's turn said and did; handed-back calls have no result here."""
    if request.turn_id is None or request.outcome is None:
        return []
    handed = {call.id for call in request.outcome.calls}
    said: list[Message] = []
    for step in transcript.recorded(db, request.turn_id):
        if not step.calls:
            continue  # its answer stands in the outcome
        ids = [public_id(request.turn_id, call.seq) for call in step.calls]
        named = zip(step.response.tool_calls, ids, strict=True)
        calls = tuple(call.model_copy(update={"id": public}) for call, public in named)
        said.append(step.response.model_copy(update={"tool_calls": calls}))
        said += [
            call.result.model_copy(update={"call_id": public})
            for call, public in zip(step.calls, ids, strict=True)
            if call.result is not None and public not in handed
        ]
    if request.outcome.text and not handed and request.outcome.error is None:
        said.append(AssistantMessage(content=request.outcome.text))
    return said
