"""A chat platform that does not exist, as an extension: carriers, who bring letters to doors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
from fakes.installed_extensions import install_extensions

from orchestrator.agentsfile import ChatChannel, ConfigModel
from orchestrator.agentsfile.field_types import NumericId
from orchestrator.extension import Extension


class CarrierChannel(ChatChannel):
    """A carrier, and who may write by it. Doors have numbers, those of groups negative ones."""

    title: ClassVar[str] = "Carrier"

    allowlist: tuple[NumericId, ...] = ()
    """Doors."""

    @classmethod
    def is_chat_id(cls, chat_id: str, *, written_to: bool = False) -> bool:
        """Letters also go to names such as ``@ann``."""
        return re.fullmatch(r"-?\d+|@\w{3,}" if written_to else r"-?\d+", chat_id) is not None

    def is_person(self, chat_id: str) -> bool:
        return chat_id.isdecimal()


class CarrierChannels(ConfigModel):
    """What carriers add to channels."""

    carrier: CarrierChannel = CarrierChannel()
    """Carriers."""


class CarrierExtension(Extension):
    """Carriers."""

    name = "carrier"

    def get_channels_model(self) -> type[ConfigModel]:
        return CarrierChannels


class StandInChannels(ConfigModel):
    """What the stand-in adds to channels."""

    telegram: CarrierChannel = CarrierChannel()
    """Carriers by another name."""


class StandInExtension(CarrierExtension):
    """Carriers by the name of the platform that `fakes.channel` plays."""

    def get_channels_model(self) -> type[ConfigModel]:
        return StandInChannels


@contextmanager
def stand_in() -> Iterator[None]:
    """Let a platform named telegram be there, whether its extension was deleted or not."""
    with pytest.MonkeyPatch.context() as patch:
        install_extensions(patch, own=(StandInExtension(),))
        yield
