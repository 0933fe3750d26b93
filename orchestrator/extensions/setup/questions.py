"""Ask a person at a terminal; elsewhere, name the option to give."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter

ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


@dataclass(frozen=True)
class Questions:
    """Asks if there is a terminal, unless ``defaults`` accepts each question's default."""

    defaults: bool = False
    terminal: bool = True

    @classmethod
    def from_terminal(cls, *, defaults: bool) -> "Questions":
        return cls(defaults, sys.stdin.isatty() and sys.stdout.isatty())

    @property
    def is_asking(self) -> bool:
        return self.terminal and not self.defaults

    def ask_text(
        self, question: str, option: str, default: str = "", words: Sequence[str] = ()
    ) -> str:
        """Ask for a line; Tab completes it from ``words``."""
        if not self.is_asking:
            return self._take_default(question, option, default)
        completer = WordCompleter(list(words), sentence=True, match_middle=True) if words else None
        shown = f" [{default}]" if default else ""
        session: PromptSession[str] = PromptSession(completer=completer)
        return session.prompt(f"{question}{shown}: ").strip() or default

    def ask_choice(self, question: str, option: str, names: Mapping[str, str], default: str) -> str:
        """Ask for one of the names, listed with meanings; numbers work as well."""
        if not self.is_asking:
            return self._take_default(question, option, default if self.defaults else "")
        column = max(map(len, names)) + 2
        for number, (name, meaning) in enumerate(names.items(), 1):
            typer.echo(f"  {number:2}  {name:{column}}{meaning}".rstrip())
        found = self.ask_text(question, option, default, tuple(names))
        if found.isdecimal() and 0 < int(found) <= len(names):
            return list(names)[int(found) - 1]
        return found

    def ask_secret(self, question: str, option: str) -> str:
        """Ask for a hidden line; empty to skip it."""
        if not self.is_asking:
            return self._take_default(question, option, "")
        session: PromptSession[str] = PromptSession(is_password=True)
        return session.prompt(f"{question}: ").strip()

    def ask_yes_no(self, question: str, *, default: bool = True) -> bool:
        """Ask until the answer is yes, no or Enter; without a terminal, return the default."""
        if not self.is_asking:
            return default
        offered = "Y/n" if default else "y/N"
        session: PromptSession[str] = PromptSession()
        while True:
            answer = session.prompt(f"{question} [{offered}] ").strip().lower()
            if answer in ANSWERS or not answer:
                return ANSWERS.get(answer, default)
            typer.echo("Type y for yes or n for no.")

    def ask_permission(self, question: str) -> bool:
        """Ask for permission; without a terminal that takes ``--yes``."""
        if not self.terminal and not self.defaults:
            raise typer.BadParameter(f"there is no terminal to ask ({question}); give --yes")
        return self.ask_yes_no(question)

    def _take_default(self, question: str, option: str, default: str) -> str:
        if default or self.defaults:
            return default
        raise typer.BadParameter(
            f"there is no terminal to ask ({question}); give {option}, or --yes to go without"
        )
