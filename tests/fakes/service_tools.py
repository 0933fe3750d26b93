"""Programs of the machine that a service's installation runs, as fakes on PATH."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

SCRIPT = """#!/bin/sh
echo "$(basename "$0") $*" >> {log}
case "$*" in
{answers}
esac
"""


class ServiceTools:
    """Fakes that note their command lines in ``log``, before all real programs.

    ``answers`` is what they print or do (shell text), by a pattern of their arguments.
    """

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, names: tuple[str, ...], **answers: str
    ) -> None:
        self._log = folder / "calls"
        self._names, self._bin = names, folder / "bin"
        self._bin.mkdir()
        self.answer(answers)
        patch.setenv("PATH", f"{self._bin}:{os.environ['PATH']}")

    def answer(self, answers: Mapping[str, str]) -> None:
        """Replace the answers."""
        cases = "\n".join(f"  *{pattern}*) {text} ;;" for pattern, text in answers.items())
        for name in self._names:
            path = self._bin / name
            path.write_text(SCRIPT.format(log=self._log, answers=cases), "utf-8")
            path.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """The command lines, in order."""
        return self._log.read_text("utf-8").splitlines() if self._log.exists() else []
