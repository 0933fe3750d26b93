"""Which calls an approval that stands is about: those whose deciding values are the approved ones.

Pure. A condition names every argument that a call may have, and for those that decide where it
goes the value that they must have; without any, it is met by all arguments. It is never met by a
call of which text of others decides where it goes. Nor is one without values met by what the model
itself has chosen, since that may be text of others in other words.

Where: does an approval that stands cover a call?
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import orjson
from pydantic import JsonValue

from orchestrator.toolcalls import deciding_arguments
from orchestrator.toolcalls.deciding_arguments import DECIDING
from thinker.protocol.messages import JsonObject

Sources: TypeAlias = Mapping[str, tuple[str, str, bool]]
Scope: TypeAlias = Literal["recipient", "tool", "chat"]
OTHERS = ("tool", "web", "other_user")  # kinds of sources that are text of others
IS = "is"


def is_decided_by_others(sources: Sources) -> bool:
    """Return whether text of others decides where a call goes or what it touches."""
    return any(decides and kind in OTHERS for kind, _, decides in sources.values())


def build_condition(arguments: JsonObject, sources: Sources, scope: Scope) -> JsonObject | None:
    """Return the condition for calls like one; None if nothing tells where that one goes."""
    if scope != "recipient":
        return {}
    deciding = _find_deciding(arguments, sources)
    found: JsonObject = {
        name: {IS: value} if name in deciding else {} for name, value in arguments.items()
    }
    return found if any(found.values()) else None


def names_recipient(arguments: JsonObject, sources: Sources) -> bool:
    """Return whether a call says where it goes or what it touches.

    Without known sources that goes by the names of the arguments.
    """
    if any(decides for _, _, decides in sources.values()):
        return True
    return any(deciding_arguments.split_name(name) & DECIDING for name in arguments)


def _find_deciding(arguments: JsonObject, sources: Sources) -> set[str]:
    """Return the arguments that decide; without known sources, all that may by their names."""
    paths = [path for path, (_, _, decides) in sources.items() if decides]
    if not paths and names_recipient(arguments, sources):
        leaves = deciding_arguments.list_leaves(arguments, {}, {})
        if leaves is None:
            return set(arguments)
        paths = [leaf.path for leaf in leaves if leaf.nature == "decides"]
    return {_find_argument(path, arguments) for path in paths}


def is_condition_met(condition: JsonObject, arguments: JsonObject, sources: Sources) -> bool:
    """Return whether a call with these arguments is one that was approved."""
    if is_decided_by_others(sources):
        return False
    chosen = {
        _find_argument(path, arguments)
        for path, (kind, _, decides) in sources.items()
        if decides and kind == "model"
    }
    fixed = {
        name: wanted[IS]
        for name, wanted in condition.items()
        if isinstance(wanted, dict) and IS in wanted
    }
    if not chosen <= fixed.keys():
        return False
    if condition and not arguments.keys() <= condition.keys():
        return False
    return all(
        name in arguments and _dump(arguments[name]) == _dump(value)
        for name, value in fixed.items()
    )


def _find_argument(path: str, arguments: JsonObject) -> str:
    """Return the argument that a path leads into."""
    found = [name for name in arguments if path.startswith(name) and path[len(name) :][:1] in _ENDS]
    return max(found, key=len, default=path)


_ENDS = ("", ".", "[", "/")


def _dump(value: JsonValue) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
