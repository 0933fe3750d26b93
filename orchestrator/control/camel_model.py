"""The base of control messages and of what the command line prints as JSON."""

from typing import Self

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
    )

    @classmethod
    def from_object(cls, source: object, **changed: object) -> Self:
        """Copy the fields from the attributes of ``source``, except those that are ``changed``."""
        copied = {name: getattr(source, name) for name in cls.model_fields if name not in changed}
        return cls.model_validate({**copied, **changed})
