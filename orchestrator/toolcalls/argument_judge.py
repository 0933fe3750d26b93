"""Judge the arguments of a call by who wrote their values.

Pure. What decides where a call goes must be the words of the chat's user or of the operator, or of
a directory that the operator trusts. Whatever else is in them may come from anywhere, except links,
addresses and codes: they must be the user's, too.

Where: is an argument of a call the user's own?
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from pydantic import JsonValue

from orchestrator.toolcalls import listed_values, value_forms
from orchestrator.toolcalls.argument_sources import ArgumentSource, KnownText
from orchestrator.toolcalls.deciding_arguments import ArgumentLeaf, is_end, split_name

MAX_CODES = 10  # unknown ones in a text; then it is asked about anyway
ENDS_THINGS = frozenset(
    ["delete", "remove", "cancel", "drop", "clear", "destroy", "erase", "trash", "purge", "wipe"]
)
Listing = tuple[str, str]  # the tool and its result


@dataclass(frozen=True)
class ArgumentJudgement:
    """What the values of a call are from; ``foreign`` has those that the user must confirm."""

    sources: Mapping[str, ArgumentSource]
    foreign: Sequence[tuple[str, str]]  # path and value
    is_vague: bool  # nothing decides, and not all of it is the user's


@dataclass
class ArgumentJudge:
    """Looks up values in what the user and the operator wrote, and in trusted lists.

    ``directories`` and ``records`` load the results of tools that the operator trusts as
    directories, and those of the tools of the call's own trusted server that only read.
    ``tool`` is the name of the call's tool.
    """

    tool: str
    user: KnownText
    operator: KnownText
    directories: Callable[[], Iterable[Listing]] = tuple
    records: Callable[[], Iterable[Listing]] = tuple

    def judge_call(
        self, leaves: Sequence[ArgumentLeaf], *, reads: bool = False
    ) -> ArgumentJudgement:
        """Return what a call's values are from; ``reads``: the tool only reads."""
        sources = {
            leaf.path: self._find_source(leaf) for leaf in leaves if leaf.nature == "decides"
        }
        unknown = [leaf for leaf in leaves if leaf.nature == "decides" and not sources[leaf.path]]
        if reads:
            unknown = [leaf for leaf in unknown if not self._repeats_words(leaf)]
        content = [leaf for leaf in leaves if leaf.nature == "content"]
        named = bool(content) or len(unknown) < len(sources)
        if unknown and named and all(map(self._repeats_words, content)):
            unknown = self._leave_out_listed(unknown, [*sources], has_content=bool(content))
        foreign = [(leaf.path, str(leaf.value)) for leaf in unknown]
        codes = [
            code for leaf in leaves if leaf.nature == "content" for code in self._find_codes(leaf)
        ]
        vague = not sources and not all(map(self._is_own, leaves))
        known = {path: one for path, one in sources.items() if one is not None}
        return ArgumentJudgement(known, [*foreign, *codes], vague)

    def is_all_own(self, leaves: Iterable[ArgumentLeaf]) -> bool:
        """Return whether each text of a call is the user's or the operator's, word for word."""
        return all(
            self.user.has_phrase(leaf.value) or self.operator.has_phrase(leaf.value)
            for leaf in leaves
            if isinstance(leaf.value, str) and leaf.nature != "choice"
        )

    def _find_source(self, leaf: ArgumentLeaf) -> ArgumentSource | None:
        if self._is_in(self.user, leaf):
            return ArgumentSource("user", decides=True)
        if self._is_in(self.operator, leaf):
            return ArgumentSource("operator", decides=True)
        if isinstance(leaf.value, str):
            plain = value_forms.normalize_text(leaf.value.strip())
            for name, values in self._directory_values.items():
                if plain in values:
                    return ArgumentSource("directory", name, decides=True)
        if split_name(leaf.path) & {"id", "uid"} and self._is_chosen(str(leaf.value)):
            return ArgumentSource("user", decides=True)
        return None

    def _is_in(self, text: KnownText, leaf: ArgumentLeaf) -> bool:
        if not isinstance(leaf.value, str):
            if split_name(leaf.path) & {"id", "ids"}:
                return text.has_numbered(str(leaf.value), self._list_heads(leaf))
            return text.has_number(float(leaf.value))
        if text.has_phrase(leaf.value):
            return True
        short = leaf.value.strip()
        return (
            short.isascii() and short.isdigit() and text.has_numbered(short, self._list_heads(leaf))
        )

    def _list_heads(self, leaf: ArgumentLeaf) -> frozenset[str]:
        return split_name(leaf.path) | split_name(self.tool) - ENDS_THINGS

    def _is_chosen(self, value: str) -> bool:
        """Return whether an id is that of the one entry that the user named."""
        return not split_name(self.tool) & ENDS_THINGS and value in self._chosen_ids

    def _leave_out_listed(
        self, unknown: list[ArgumentLeaf], deciding: Sequence[str], *, has_content: bool
    ) -> list[ArgumentLeaf]:
        """Leave out the people and channels of which the tool's own server has lists.

        Only of a call that hands over nothing else, such as a file.
        """
        parsed, places = self._parsed_records, {path.partition("[")[0] for path in deciding}
        listed: frozenset[str] = frozenset()
        if all(map(listed_values.names_people, places)):
            listed = listed.union(*map(listed_values.collect_handles, parsed))
        if has_content and len(places) == 1:
            named = listed_values.find_fields(parsed, self.user.has_phrase, *places)
            listed |= named
        return [
            leaf
            for leaf in unknown
            if value_forms.normalize_text(str(leaf.value).strip()) not in listed
        ]

    def _repeats_words(self, leaf: ArgumentLeaf) -> bool:
        return not isinstance(leaf.value, str) or self.user.has_words(leaf.value)

    def _is_own(self, leaf: ArgumentLeaf) -> bool:
        if leaf.nature == "time":
            ends = is_end(leaf.path)
            return any(
                text.has_time(str(leaf.value), ends=ends) for text in (self.user, self.operator)
            )
        return leaf.nature == "choice" or self._repeats_words(leaf)

    def _find_codes(self, leaf: ArgumentLeaf) -> list[tuple[str, str]]:
        if not isinstance(leaf.value, str):
            return []
        unknown = (
            (leaf.path, code)
            for code in dict.fromkeys(value_forms.iter_codes(leaf.value))
            if not any(text.has_phrase(code) for text in (self.user, self.operator))
        )
        return [*islice(unknown, MAX_CODES)]

    @cached_property
    def _directory_values(self) -> dict[str, frozenset[str]]:
        return {
            name: listed_values.collect_directory_values(listed_values.parse_result(text))
            for name, text in self.directories()
        }

    @cached_property
    def _parsed_records(self) -> list[JsonValue]:
        return [listed_values.parse_result(text) for _, text in self.records()]

    @cached_property
    def _chosen_ids(self) -> frozenset[str]:
        return listed_values.find_chosen_ids(self._parsed_records, self.user.has_phrase)
