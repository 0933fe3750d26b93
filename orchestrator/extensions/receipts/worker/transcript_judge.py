"""Find the false claims of an answer by the calls of the conversation that the model has read."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import orjson

from orchestrator.extensions.receipts.judge import (
    MAX_CALLS,
    MAX_DETAIL,
    CallState,
    Claim,
    JudgedCall,
    KnownTool,
    TurnEvidence,
    find_claims,
)
from thinker.extension import AnswerJudge
from thinker.protocol.messages import AssistantMessage, Message, ToolCall, ToolResult, ToolSpec

MAX_TOLD = 5  # false claims that the model is told
MAX_SENTENCE = 200  # characters of one of them
UNKNOWN = '"unknown_outcome"'  # in the result of a call that may or may not have happened
REPEATED = "(recorded; done before and not done again)"  # begins a result of an earlier line
RETURNED = (
    "Your answer was not sent. It says that something was done, which the tool calls of this"
    " conversation do not show:\n{claims}\nIf you were asked to do it, do it now with a tool. Or"
    " answer again, and say only what was done and what was not. Do not mention this message."
)


class TranscriptJudge(AnswerJudge):
    """Judges an answer by the messages before it."""

    def find_false_claims(
        self, text: str, messages: Sequence[Message], tools: Collection[ToolSpec]
    ) -> str:
        found = find_claims(text, partial(_read_evidence, messages, tools))
        claims = () if found is None else found[0]
        told = [_describe_claim(one) for one in claims if one.verdict in ("false", "not_yet")]
        return RETURNED.format(claims="\n".join(told[:MAX_TOLD])) if told else ""


def _describe_claim(claim: Claim) -> str:
    sentence = orjson.dumps(claim.text[:MAX_SENTENCE]).decode()
    return f"- {sentence}: {claim.note}"


def _read_evidence(messages: Sequence[Message], tools: Collection[ToolSpec]) -> TurnEvidence:
    offered = [KnownTool(tool.name, tool.description) for tool in tools]
    about = dict(offered)
    facts = [
        JudgedCall(
            tool=call.name,
            description=about.get(call.name, ""),
            arguments=orjson.dumps(call.arguments).decode()[:MAX_DETAIL],
            result="" if result is None else result.content[:MAX_DETAIL],
            state=_find_state(result),
        )
        for call, result in _pair_calls(messages)
    ]
    return TurnEvidence(facts[-MAX_CALLS:], offered)


def _pair_calls(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """Yield the calls with their results; ids of calls may repeat in later responses."""
    for place, message in enumerate(messages):
        if not isinstance(message, AssistantMessage) or not message.tool_calls:
            continue
        results: dict[str, ToolResult] = {}
        for later in messages[place + 1 :]:
            if isinstance(later, AssistantMessage):
                break
            if isinstance(later, ToolResult):
                results.setdefault(later.call_id, later)
        for call in message.tool_calls:
            yield call, results.get(call.id)


def _find_state(result: ToolResult | None) -> CallState:
    if result is None:
        return "waiting"
    if not result.is_error:
        return "ledger" if result.content.startswith(REPEATED) else "done"
    return "unknown" if UNKNOWN in result.content else "failed"
