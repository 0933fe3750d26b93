"""The built-in rule-based model, which drives the real loop and tools without an API key."""

import re
from collections.abc import Iterable, Mapping
from html import unescape

from thinker.models.base import ModelRequest, ModelResponse, RehearsedRequest
from thinker.protocol import messages
from thinker.protocol.messages import AssistantMessage, JsonObject

LABEL = (
    "[Demo model: built-in rules, no language model. To plug in a real one, run "
    "orchestrator setup, or start Ollama.]"
)
ABILITIES = (
    "I can tell the time, remember a fact (`remember that …`), recall what I know "
    "(`what do you know about …`), list skills and read one (`read skill …`), "
    "and use any other tool that I am offered (`ask NAME: …`)."
)
RULE_CHARS = 2000  # characters of a message that the rules match
CHARS_PER_TOKEN = 4  # an estimate

READ_SKILL = re.compile(
    r"\b(?:read|use|open|show)\s+(?:the\s+)?skill\s+[`'\"]?([\w-]+)", re.IGNORECASE
)
LIST_SKILLS = re.compile(r"\b(?:list|what|which|show)\b.*\bskills\b", re.IGNORECASE)
REMEMBER = re.compile(
    r"^\W*(?:please\s+)?remember\b(?:\s+that\b)?\W*(.+)", re.IGNORECASE | re.DOTALL
)
RECALL = re.compile(
    r"\bwhat\s+(?:do\s+|did\s+)?you\s+(?:know|remember)\b(?:\s+about\s+(.+))?"
    r"|\bwhat(?:'s|\s+is|\s+are)\s+my\s+(.+)"
    r"|\bwhat\s+do\s+i\s+(.+)"
    r"|\b(?:recall|do\s+you\s+remember)\b\s*(.*)",
    re.IGNORECASE,
)
TIME = re.compile(
    r"\bwhat(?:'s|\s+is)?\s+(?:the\s+)?(?:current\s+)?(?:time|date|day)\b|\btime\s+is\s+it\b"
    r"|\btell\b.*\bthe\s+(?:time|date)\b|\btoday'?s\s+date\b|\bdate\s+today\b",
    re.IGNORECASE,
)
STATEMENT = re.compile(
    r"\b(my(?:\s+\w+){1,4}?\s+(?:is|are)\s+.+|i\s+(?:like|love|prefer|hate)\s+.+)",
    re.IGNORECASE | re.DOTALL,
)
ASK = re.compile(
    r"^\W*(?:please\s+)?(?:ask|use)\s+(?:the\s+)?([\w-]+)(?:\s+to\b|:)?\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
OWNER = re.compile(r"^my\b", re.IGNORECASE)
TASTE = re.compile(r"^i\s+(like|love|prefer|hate)\b", re.IGNORECASE)
ABOUT_ME = re.compile(r"^(?:about\s+)?(?:me|my(?:self)?)\b\s*", re.IGNORECASE)

SAYS: Mapping[str, str] = {
    "get_time": "It is {}.",
    "store_fact": "I will remember that. ({})",
    "search_memories": "This is what I remember: {}",
    "read_skill": "The skill says:\n\n{}",
}


class DemoModel:
    """A deterministic stand-in for a language model."""

    def __init__(self, model: str = "demo") -> None:
        self.name = f"demo/{model}"

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer by rules; stream word by word if the request has an ``on_text``."""
        if request.rehearsed:
            raise RehearsedRequest(b"")
        message = _build_answer(request)
        earlier = request.messages[: max(0, _find_newest_user(request))]
        replied = any(isinstance(said, AssistantMessage) for said in earlier)
        if message.content and not replied:
            message = message.model_copy(update={"content": f"{message.content}\n\n{LABEL}"})
        if request.on_text is not None:
            for word in re.finditer(r"\S+\s*", message.content):
                request.on_text(message.content[: word.end()])
        prompt = [request.system, *(m.content for m in request.messages)]
        completion = [message.content, *(str(call.arguments) for call in message.tool_calls)]
        usage = messages.Usage(
            prompt=_estimate_tokens(prompt), completion=_estimate_tokens(completion)
        )
        return ModelResponse(message=message, usage=usage, model=self.name)

    async def aclose(self) -> None:
        """Do nothing; the model holds no connection."""


def _build_answer(request: ModelRequest) -> AssistantMessage:
    newest = _find_newest_user(request)
    results = [m for m in request.messages[newest + 1 :] if isinstance(m, messages.ToolResult)]
    if results:
        return AssistantMessage(content="\n\n".join(map(_describe_result, results)))
    text = request.messages[newest].content.strip() if newest >= 0 else ""
    start = text[:RULE_CHARS]
    matched = _match_named_call(start, request.tools) or _match_rule_call(start)
    if matched is not None:
        return _build_call_message(request, *matched)
    if LIST_SKILLS.search(start):
        return AssistantMessage(content=_describe_skills(request.system))
    echo = f"You said: {text}\n\n" if text else ""
    return AssistantMessage(content=f"{echo}{ABILITIES}")


def _match_named_call(
    text: str, tools: Iterable[messages.ToolSpec]
) -> tuple[str, JsonObject] | None:
    """Return a call of the offered tool that a text names; the rest is its first argument."""
    found = ASK.match(text)
    tool = next((tool for tool in tools if found and tool.name == found[1]), None)
    if found is None or tool is None:
        return None
    inputs = tool.parameters.get("properties")
    first = next(iter(inputs), None) if isinstance(inputs, dict) else None
    return tool.name, {} if first is None else {first: found[2].strip()}


def _match_rule_call(text: str) -> tuple[str, JsonObject] | None:
    if found := READ_SKILL.search(text):
        return "read_skill", {"name": found[1]}
    if found := REMEMBER.search(text):
        return "store_fact", _build_fact(found[1])
    if found := RECALL.search(text):
        return "search_memories", {"query": _build_query(found)}
    if TIME.search(text):
        return "get_time", {}
    if found := STATEMENT.search(text):
        return "store_fact", _build_fact(found[1])
    return None


def _build_fact(statement: str) -> JsonObject:
    """Return a fact about the user in the third person, as language models store facts."""
    fact = OWNER.sub("User's", statement.strip().rstrip("!."))
    taste = TASTE.match(fact)
    if taste is not None:
        fact = f"User {taste[1].lower()}s{fact[taste.end() :]}"
    return {"fact": fact, "category": "preference" if taste else "background"}


def _build_query(found: re.Match[str]) -> str:
    """Return the search term; ``user`` if the question is about the user in general."""
    topic = next((group for group in found.groups() if group), "")
    return ABOUT_ME.sub("", topic.strip().rstrip("?!.")) or "user"


def _build_call_message(
    request: ModelRequest, tool: str, arguments: JsonObject
) -> AssistantMessage:
    if request.tool_choice.mode == "none" or all(spec.name != tool for spec in request.tools):
        return AssistantMessage(content=f"I would need the tool {tool}, which I was not given.")
    made = sum(len(m.tool_calls) for m in request.messages if isinstance(m, AssistantMessage))
    call = messages.ToolCall(id=f"demo_{made}", name=tool, arguments=arguments)
    return AssistantMessage(tool_calls=(call,))


def _describe_result(result: messages.ToolResult) -> str:
    if result.is_error:
        return f"The tool {result.name} failed: {result.content}"
    if not result.content.strip():
        return f"The tool {result.name} found nothing."
    return SAYS.get(result.name, "The tool answered: {}").format(result.content.strip())


def _describe_skills(system: str) -> str:
    block, closed, _ = system.partition("<available_skills>")[2].partition("</available_skills>")
    names = [part.partition("</name>")[0] for part in block.split("<name>")[1:] if closed]
    if not names:
        return "No skills are listed for me."
    return "\n".join(["These skills are available:", *(f"- {unescape(name)}" for name in names)])


def _find_newest_user(request: ModelRequest) -> int:
    """Return the index of the newest user message, or -1."""
    users = [i for i, said in enumerate(request.messages) if isinstance(said, messages.UserMessage)]
    return users[-1] if users else -1


def _estimate_tokens(texts: Iterable[str]) -> int:
    return -(-sum(map(len, texts)) // CHARS_PER_TOKEN)
