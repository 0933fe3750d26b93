"""The base of control messages and of what the command line prints as JSON."""

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from thinker.protocol.messages import Frozen


class CamelModel(Frozen):
    """A value whose JSON has camelCase keys, as agents.json has."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,  # each process uses a few of them, none at its start
    )
