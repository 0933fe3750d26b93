"""The fields of the form that asks for a trial, as a request for one."""

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, get_args

from orchestrator.control.trials import (
    MAX_TIMES,
    TrialChange,
    TrialKind,
    TrialRequest,
    Unrecorded,
)
from thinker.protocol.messages import EffortLevel
from thinker.protocol.prompt_record import PromptRecord

FILE, LAYER, WITHOUT = "file:", "layer:", "without:"  # how the names of fields begin
THIS, LAST, OF_SKILL, OF_SET = "turn", "last", "skill:", "set:"  # which turns are tried
DEFAULT_COUNT = 10
EFFORTS: tuple[str, ...] = get_args(EffortLevel)
UNRECORDED: tuple[Unrecorded, ...] = get_args(Unrecorded)
MAX_TEMPERATURE = 2.0
MAX_TEXTS = 20  # of files, and of layers
MAX_LIMIT_USD, MAX_LIMIT_TOKENS = 10_000.0, 10**9
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class TrialFields:
    """What a form says, apart from the turns; ``problems`` by the names of wrong fields.

    ``on`` says which turns are meant, ``count`` how many.
    """

    change: TrialChange
    on: str
    count: int
    times: int
    unrecorded: Unrecorded
    limit_usd: float | None
    limit_tokens: int | None
    confirmed: str
    problems: Mapping[str, str] = field(default_factory=dict)

    def build_trial_request(self, turns: Sequence[str]) -> TrialRequest:
        """Return the request to try some turns; those of a set are tried as tests.

        The note of a test names its set, by whose checks it is judged.
        """
        kind: TrialKind = "test" if self.on.startswith(OF_SET) else "replay"
        note = f"set {self.on.removeprefix(OF_SET)}"[:200] if kind == "test" else ""
        return TrialRequest(
            turns=tuple(turns),
            change=self.change,
            kind=kind,
            times=self.times,
            unrecorded=self.unrecorded,
            limit_usd=self.limit_usd,
            limit_tokens=self.limit_tokens,
            confirmed=self.confirmed,
            note=note,
        )


def read_trial_fields(posted: Mapping[str, str], recorded: PromptRecord) -> TrialFields:
    """Return what a form says; ``recorded`` has the texts that its parts of the prompt had."""
    problems: dict[str, str] = {}

    def read_number(name: str, parse: Callable[[str], N], most: float, wanted: str) -> N | None:
        text = posted.get(name, "").strip().lstrip("$").replace(",", ".")
        if not text:
            return None
        value = _parse_finite_number(text, parse)
        if value is None or not 0 <= value <= most:
            problems[name] = wanted
            return None
        return value

    temperature = read_number("temperature", float, MAX_TEMPERATURE, "write a number from 0 to 2")
    usd = read_number("limit_usd", float, MAX_LIMIT_USD, "write an amount in dollars, such as 0.05")
    tokens = read_number("limit_tokens", int, MAX_LIMIT_TOKENS, "write a number of tokens")
    model, effort = posted.get("model", "").strip(), posted.get("effort", "")
    if model and "/" not in model.strip("/"):
        problems["model"] = "write PROVIDER/MODEL, such as openai/gpt-5-mini"
    change = TrialChange(
        model=model[:200] or None,
        temperature=temperature,
        effort=effort if effort in EFFORTS else None,
        files=_read_texts(posted, FILE),
        layers=_list_changed_layers(_read_texts(posted, LAYER), recorded),
        add_tools=tuple(posted.get("also", "").replace(",", " ").split())[:100],
        remove_tools=_list_marked(posted, recorded.tools),
        as_today=posted.get("prompt") == "today",
        from_step=read_number("from_step", int, 1000, "choose a step") or 0,
    )
    unrecorded = posted.get("unrecorded", "")
    return TrialFields(
        change=change,
        on=posted.get("on", THIS),
        count=read_number("count", int, 1000, "write a number of turns") or DEFAULT_COUNT,
        times=read_number("times", int, MAX_TIMES, f"write a number from 1 to {MAX_TIMES}") or 1,
        unrecorded=next((one for one in UNRECORDED if one == unrecorded), "stop"),
        limit_usd=usd or None,
        limit_tokens=tokens or None,
        confirmed=posted.get("confirmed", "")[:200],
        problems=problems,
    )


def compute_request_digest(request: TrialRequest) -> str:
    """Return a digest of all that an estimate depends on, so not of limits."""
    free = {"limit_usd": None, "limit_tokens": None, "confirmed": ""}
    text = request.model_copy(update=free).model_dump_json()
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read_texts(posted: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the texts of fields by the rest of their names, with the line ends of files."""
    names = [name for name in posted if name.startswith(prefix)][:MAX_TEXTS]
    return {name.removeprefix(prefix): _unify_line_ends(posted[name]) for name in names}


def _list_changed_layers(texts: Mapping[str, str], recorded: PromptRecord) -> dict[str, str]:
    before = {layer.name: _unify_line_ends(layer.text) for layer in recorded.layers}
    return {name: text for name, text in texts.items() if before.get(name, text) != text}


def _list_marked(posted: Mapping[str, str], tools: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in tools if f"{WITHOUT}{name}" in posted)


def _unify_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parse_finite_number(text: str, parse: Callable[[str], N]) -> N | None:
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
