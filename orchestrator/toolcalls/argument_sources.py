"""Where the arguments of a call are from.

Where: is an argument traced to who wrote it?
"""

from typing import Literal, NamedTuple, TypeAlias

# The chat's own user; the operator's files; a directory that the operator trusts; a tool's result,
# a page or another person; the model itself.
SourceKind: TypeAlias = Literal[
    "user", "operator", "directory", "tool", "web", "other_user", "model"
]


class ArgumentSource(NamedTuple):
    """Where a value of an argument is from; ``name`` says which tool, page or person.

    ``decides`` tells whether the value decides where the call goes or what it touches.
    """

    kind: SourceKind
    name: str = ""
    decides: bool = False
