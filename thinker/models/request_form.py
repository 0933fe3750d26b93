"""Write a request in another form after its tools or its history were refused; tools stay.

A refused schema is made plainer, of that tool alone if the provider names it, and only the plainest
form of a tool is left out. A refused history is sent without what came with earlier answers, then
with its roles joined.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thinker.models import came_with
from thinker.models.base import ModelRequest
from thinker.models.call_arguments import adapt_name
from thinker.models.failures import HistoryRefusedError, PartRefusedError
from thinker.models.schema_ranks import PLAINEST, lower_schema
from thinker.protocol.degradations import WORDS, Degradation
from thinker.protocol.messages import AUTO, NO_TOOLS, AssistantMessage, JsonObject, ToolSpec
from thinker.protocol.providers import BlankContent

MAX_FORMS = 16  # refusals of one call that lead to another form
MAX_NAMED = 4  # refusals of single tools; then all become plainer
LEFT_OUT = PLAINEST + 1
REMEMBERED = 86_400.0  # seconds; servers change
REMEMBERED_EXTRAS = 3600.0  # seconds; a refused signature is of one conversation
MAX_DESCRIPTION = 1000  # characters, of a tool that was refused; OpenAI takes 1024
ANY: JsonObject = {"type": "object", "properties": {}}
FILLERS = ("", "(not kept)")  # some servers want the field, others want words in it
WANTED = re.compile(r"reasoning_content", re.IGNORECASE)
MISSING = re.compile(r"miss|must be|required|passed back|empty", re.IGNORECASE)
BLANK = re.compile(
    r"content.{0,40}(null|none|missing|required|string|empty)|null, expected a string",
    re.IGNORECASE,
)
ORDER = re.compile(
    r"alternat(e|ing)\b|(first|last) (message|role)|must (start|end|begin)|prefill|after role"
    r"|\b(function (call|response)|assistant|user) turn|unexpected role|tools=",
    re.IGNORECASE,
)
MARKS = re.compile(r"cache_control|cachePoint", re.IGNORECASE)
# How many tools a provider takes: OpenAI (`array too long … maximum length 128`), others.
MOST = re.compile(
    r"tools['\": ]*.{0,20}(?:array too long|too many|at most|maximum).{0,80}?"
    r"(?:maximum length|at most|limit of|maximum of|maximum number of tools is|more than) (\d+)",
    re.IGNORECASE,
)
# The number of a tool: OpenAI and most, Anthropic (`tools.3.custom`), Gemini. Gemini's comes first:
# its declarations are all in one tool.
NUMBERS = (
    re.compile(r"function_?declarations\[(\d+)\]", re.IGNORECASE),
    re.compile(r"\btools(?:\[|\.|['\"], ?)(\d+)"),
)
NAMES = re.compile(r"""['"`]([\w-]{1,64})\\?['"`]|\b(?:function|tool):?\s+([\w-]{1,64})""")


@dataclass(frozen=True)
class RequestForm:
    """The form in which a model takes requests.

    ``ranks`` are those of tools whose schemas were refused, with the provider's ``words``.
    ``extras``: fields that came with earlier answers go back. ``filler`` stands for reasoning that
    the provider demands and that is not known. ``blank`` is the content beside calls, None for the
    model's usual one. ``joined``: roles alternate, and called tools are declared. ``marks``: the
    cache is marked.
    """

    ranks: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    least: int = 0  # rank of all other tools
    extras: bool = True
    filler: str | None = None
    blank: BlankContent | None = None
    joined: bool = False
    marks: bool = True
    _plain: dict[str, tuple[ToolSpec, ToolSpec]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def keeps(self) -> float:
        """How long the form is remembered, in seconds."""
        return REMEMBERED if self.extras else REMEMBERED_EXTRAS

    def get_rank(self, tool: str) -> int:
        return self.ranks.get(tool, self.least)

    def offer_tools(self, tools: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
        """Return the tools that are not left out, with the schemas of their ranks."""
        return tuple(
            self._lower_tool(tool) for tool in tools if self.get_rank(tool.name) < LEFT_OUT
        )

    def _lower_tool(self, tool: ToolSpec) -> ToolSpec:
        rank = self.get_rank(tool.name)
        if not rank:
            return tool
        given, plain = self._plain.get(tool.name, (None, tool))
        if given is not tool:
            plain = _lower_tool(tool, rank)
            self._plain[tool.name] = (tool, plain)
        return plain

    def apply(self, request: ModelRequest) -> ModelRequest:
        """Return the request with its tools in this form."""
        if self.joined and not request.tools:
            return declare_called_tools(request)
        if not self.ranks and not self.least:
            return request
        choice = request.tool_choice
        if choice.name and self.get_rank(choice.name) >= LEFT_OUT:
            choice = AUTO
        return replace(request, tools=self.offer_tools(request.tools), tool_choice=choice)

    def list_degradations(self, tools: Sequence[ToolSpec]) -> tuple[Degradation, ...]:
        """Return what a request with these tools goes without in this form."""
        found = [
            Degradation(
                kind="tool",
                subject=tool.name,
                what="left out"
                if self.ranks[tool.name] >= LEFT_OUT
                else "offered with a plainer schema",
                words=self.words.get(tool.name, ""),
            )
            for tool in tools
            if tool.name in self.ranks
        ]
        if words := self.words.get(""):
            what = "earlier reasoning was left out"
            found.append(Degradation(kind="history", subject="reasoning", what=what, words=words))
        return tuple(found)

    def find_next(self, error: PartRefusedError, request: ModelRequest) -> "RequestForm | None":
        """Return the next form to try after a refusal; None if there is no other."""
        if isinstance(error, HistoryRefusedError):
            return self._change_history(error.words, request)
        return self._change_tools(error.words, request.tools)

    def _change_history(self, words: str, request: ModelRequest) -> "RequestForm | None":
        if self.marks and MARKS.search(words):
            return replace(self, marks=False)
        if WANTED.search(words) and MISSING.search(words) and self.filler != FILLERS[-1]:
            place = 0 if self.filler is None else 1
            return replace(self, filler=FILLERS[place])
        answers = [one for one in request.messages if isinstance(one, AssistantMessage)]
        wordless = any(one.tool_calls and not one.content for one in answers)
        if wordless and BLANK.search(words) and self.blank != "absent":
            return replace(self, blank="absent" if self.blank else "empty")
        if not self.joined and ORDER.search(words):
            return replace(self, joined=True)
        lost = came_with.has_extras(request.messages)
        if self.extras and (lost or WANTED.search(words)):
            quoted = {**self.words, "": words[:WORDS]} if lost else self.words
            return replace(self, extras=False, words=quoted)
        return None if self.joined else replace(self, joined=True)

    def _change_tools(self, words: str, tools: Sequence[ToolSpec]) -> "RequestForm | None":
        sent = [tool for tool in tools if self.get_rank(tool.name) < LEFT_OUT]
        if most := MOST.search(words):
            return self._leave_out([tool.name for tool in sent[int(most[1]) :]], words)
        named = find_named_tools(words, sent)
        every = not named or len(self.ranks) >= MAX_NAMED
        lowered = {
            tool.name: rank
            for tool in (sent if every else named)
            if (rank := self._find_next_rank(tool)) < LEFT_OUT or tool in named
        }
        if not lowered:  # all are as plain as can be
            oddest = sorted(sent, key=_count_oddities, reverse=True)[: -(-len(sent) // 2)]
            lowered = dict.fromkeys([tool.name for tool in oddest], LEFT_OUT)
        if len(sent) == sum(rank >= LEFT_OUT for rank in lowered.values()):
            return None
        return self._set_ranks(lowered, words)

    def _leave_out(self, names: Sequence[str], words: str) -> "RequestForm | None":
        return self._set_ranks(dict.fromkeys(names, LEFT_OUT), words) if names else None

    def _set_ranks(self, ranks: Mapping[str, int], words: str) -> "RequestForm":
        quoted = {**self.words, **dict.fromkeys(ranks, words[:WORDS])}
        return replace(self, ranks={**self.ranks, **ranks}, words=quoted, _plain={})

    def _find_next_rank(self, tool: ToolSpec) -> int:
        """Return the next rank at which the tool is offered in other words."""
        rank = self.get_rank(tool.name)
        now = _lower_tool(tool, rank)
        plainer = (one for one in range(rank + 1, LEFT_OUT))
        return next((one for one in plainer if _lower_tool(tool, one) != now), LEFT_OUT)


def _lower_tool(tool: ToolSpec, rank: int) -> ToolSpec:
    if not rank:
        return tool
    schema, about = lower_schema(tool.parameters, rank), tool.description[:MAX_DESCRIPTION]
    changes = {"parameters": schema, "description": about, "strict": False}
    return tool.model_copy(update=changes)


def declare_called_tools(request: ModelRequest) -> ModelRequest:
    """Return a request without tools with those that its history has called, not to be called.

    Some providers refuse a history with calls if no tools are declared.
    """
    answers = (one for one in request.messages if isinstance(one, AssistantMessage))
    names = sorted({call.name for answer in answers for call in answer.tool_calls})
    if request.tools or not names:
        return request
    tools = tuple(ToolSpec(name=adapt_name(n), description=n, parameters=ANY) for n in names)
    return replace(request, tools=tools, tool_choice=NO_TOOLS)


def find_named_tools(words: str, sent: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Return the tools that a refusal names, by name or by their number in the request."""
    names = {name for pair in NAMES.findall(words) for name in pair if name}
    if named := [tool for tool in sent if tool.name in names]:
        return named
    for pattern in NUMBERS:
        if numbers := {int(number) for number in pattern.findall(words)}:
            return [tool for number, tool in enumerate(sent) if number in numbers]
    return []


def _count_oddities(tool: ToolSpec) -> int:
    """Return how much of a tool's schema had to be made plainer, as a length."""
    return len(str(tool.parameters)) - len(str(lower_schema(tool.parameters, PLAINEST)))
