"""The operator who lets in strangers, by the command that they are told."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

CODE = re.compile(r"orchestrator (?P<command>pair approve \w+)$")
NO_DAEMON = 3  # exit code of a command that no daemon answered
AGAIN = 0.05  # seconds until it is tried again


@dataclass(frozen=True)
class Doorkeeper:
    """Runs each command until a daemon of ``home`` has answered it; ``tasks`` must outlive it."""

    home: Path
    tasks: TaskGroup
    _commands: dict[str, bool] = field(default_factory=dict, init=False)

    @property
    def busy(self) -> bool:
        return not all(self._commands.values())

    def read(self, text: str) -> None:
        """Let in the chat that shows this text, if it has a code."""
        found = CODE.search(text)
        if found is not None and found["command"] not in self._commands:
            self._commands[found["command"]] = False
            self.tasks.start_soon(self._run, found["command"])

    async def _run(self, command: str) -> None:
        argv = (sys.executable, "-P", "-m", "orchestrator", *command.split(), "--home", self.home)
        while True:
            done = await anyio.run_process([*map(str, argv)], check=False)
            if done.returncode != NO_DAEMON:
                break
            await anyio.sleep(AGAIN)
        self._commands[command] = True
