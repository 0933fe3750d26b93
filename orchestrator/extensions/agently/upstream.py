"""Agently's rules where this program's differ: requirements, answers, merging of slots."""

from collections.abc import Collection
from typing import Literal, TypeAlias

from thinker.answers.json_blocks import close_open_json, extract_json_blocks
from thinker.answers.parse import ParsedAnswer, count_matching_keys, parse_or_none
from thinker.formats.prompts.grammar import Entry
from thinker.formats.prompts.slots import Merge
from thinker.prompt.render.requirement import RequirementWriter

Compat: TypeAlias = Literal["4.0.7"]  # the release of Agently to behave like


class UpstreamRequirement(RequirementWriter):
    """Escapes neither keys nor descriptions, and indents tuples too far, as Agently does."""

    wrapped_levels = 1

    def format_key(self, name: str) -> str:
        return f'"{name}"'

    def format_description(self, entry: Entry) -> str:
        return entry.description


def format_upstream_requirement(entry: Entry) -> str:
    """Return the structure of an answer as Agently's prompts show it."""
    return UpstreamRequirement().format_node(entry.node)


def choose_deep_merge(slot: str) -> Merge:
    """Return Agently's only policy, which merges every slot."""
    del slot
    return Merge.DEEP


def parse_upstream_answer(text: str, keys: Collection[str]) -> ParsedAnswer:
    """Return the first answer with any of these keys; only a truncated end is repaired."""
    located = find_answer_block(text, keys)
    if located is None:
        return ParsedAnswer()
    completed = close_open_json(located)
    value = parse_or_none(completed)
    cut = value is not None and completed > located
    return ParsedAnswer(located, completed, value, "truncated" if cut else None)


def find_answer_block(text: str, keys: Collection[str]) -> str | None:
    """Return the first structure with any of these keys, or the last one."""
    found = extract_json_blocks(text)
    return next(
        (block for block in found[:-1] if count_matching_keys(parse_or_none(block), keys)),
        found[-1] if found else None,
    )
