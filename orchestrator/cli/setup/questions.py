"""Ask a person at a terminal; elsewhere, name the option that answers."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter


@dataclass(frozen=True)
class Questions:
    """Asks if there is a terminal, unless ``defaults`` says to take what a question offers."""

    defaults: bool = False
    terminal: bool = True

    @classmethod
    def here(cls, *, defaults: bool) -> "Questions":
        return cls(defaults, sys.stdin.isatty() and sys.stdout.isatty())

    @property
    def asking(self) -> bool:
        return self.terminal and not self.defaults

    def text(self, question: str, option: str, default: str = "", words: Sequence[str] = ()) -> str:
        """Return a line; Tab completes it from ``words``."""
        if not self.asking:
            return self._offered(question, option, default)
        completer = WordCompleter(list(words), sentence=True, match_middle=True) if words else None
        shown = f" [{default}]" if default else ""
        session: PromptSession[str] = PromptSession(completer=completer)
        return session.prompt(f"{question}{shown}: ").strip() or default

    def choice(self, question: str, option: str, names: Mapping[str, str], default: str) -> str:
        """Return one of the names, each of which is shown with its meaning; numbers count."""
        if not self.asking:
            return self._offered(question, option, default if self.defaults else "")
        column = max(map(len, names)) + 2
        for number, (name, meaning) in enumerate(names.items(), 1):
            typer.echo(f"  {number:2}  {name:{column}}{meaning}".rstrip())
        found = self.text(question, option, default, tuple(names))
        if found.isdecimal() and 0 < int(found) <= len(names):
            return list(names)[int(found) - 1]
        return found

    def secret(self, question: str, option: str) -> str:
        """Return a line that is not shown; empty to go without."""
        if not self.asking:
            return self._offered(question, option, "")
        session: PromptSession[str] = PromptSession(is_password=True)
        return session.prompt(f"{question}: ").strip()

    def agreed(self, question: str, *, default: bool = True) -> bool:
        """Return whether the person says yes; without a terminal, what is offered."""
        if not self.asking:
            return default
        offered = "Y/n" if default else "y/N"
        session: PromptSession[str] = PromptSession()
        answer = session.prompt(f"{question} [{offered}] ").strip().lower()
        return answer.startswith("y") if answer else default

    def allowed(self, question: str) -> bool:
        """Return whether the person says yes, which without a terminal takes ``--yes``."""
        if not self.terminal and not self.defaults:
            raise typer.BadParameter(f"there is no terminal to ask ({question}); give --yes")
        return self.agreed(question)

    def _offered(self, question: str, option: str, default: str) -> str:
        if default or self.defaults:
            return default
        raise typer.BadParameter(
            f"there is no terminal to ask ({question}); give {option}, or --yes to go without"
        )
