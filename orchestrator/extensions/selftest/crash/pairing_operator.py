"""The operator who admits strangers, with the pairing commands."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import anyio

AGAIN = 0.2  # seconds between two checks for requests


@dataclass
class PairingOperator:
    """Admits the ``waiting`` chats of a home, as soon as each has a code.

    The code is read from the list: after a kill the chat may not have been told.
    """

    home: Path
    waiting: set[int]

    async def admit_waiting_chats(self) -> None:
        """Run until every chat is admitted, whatever happens to the daemon."""
        while self.waiting:
            code, listed = await self._run_pair_command("list", "--json")
            for asked in json.loads(listed)["pairings"] if code == 0 else ():
                if asked["state"] == "approved":
                    self.waiting.discard(int(asked["chatId"]))
                elif asked["code"]:
                    await self._run_pair_command("approve", asked["code"])
            await anyio.sleep(AGAIN)

    async def _run_pair_command(self, *arguments: str) -> tuple[int, str]:
        command = (sys.executable, "-P", "-m", "orchestrator", "pair", *arguments)
        done = await anyio.run_process([*command, "--home", str(self.home)], check=False)
        return done.returncode, done.stdout.decode()
