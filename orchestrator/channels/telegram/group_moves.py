"""New ids of groups that became supergroups, until and after the journal knows them."""

from collections.abc import Mapping

from orchestrator.channel_api import Intake


class GroupMoves:
    """The new ids by the old ones, which the journal keeps using."""

    def __init__(self) -> None:
        self._moved: dict[str, str] = {}
        self._unrecorded: dict[str, str] = {}  # those of them that the journal may not know

    def learn(self, old: str, new: str) -> None:
        self._moved[old] = self._unrecorded[old] = new

    def adopt(self, stored: Mapping[str, str]) -> None:
        """Take over what the journal knows: first ids by the new ones."""
        self._moved = {old: new for new, old in stored.items()} | self._moved

    async def record(self, intake: Intake, channel: str, bot_id: str) -> None:
        """Store what the journal may not know."""
        for old, new in [*self._unrecorded.items()]:
            await intake.moved(channel, bot_id, old, new)
            self._unrecorded.pop(old, None)

    def present(self, chat_id: str) -> str:
        """Return the platform's id of a chat that the journal knows by its first id."""
        return self._moved.get(chat_id, chat_id)
