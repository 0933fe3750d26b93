"""What is wrong with prompt definitions: place, rule and a sentence that says how to mend it."""

from dataclasses import dataclass


class DefinitionError(Exception):
    """A prompt definition cannot be used; the message says what to do."""


class CircularIncludeError(DefinitionError):
    """Definitions include each other; ``path`` begins and ends with the same name."""

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(f"includes go in a circle: {' > '.join(path)}; remove one of them")
        self.path = path


class UnknownPromptError(DefinitionError):
    """A definition is included that does not exist; ``by`` includes it, None is the caller."""

    def __init__(self, name: str, by: str | None = None) -> None:
        where = f"prompt '{by}' includes" if by is not None else "there is no"
        missing = f"the unknown prompt '{name}'" if by is not None else f"prompt '{name}'"
        super().__init__(f"{where} {missing}; add prompts/{name}.md or mend the name")
        self.name = name
        self.by = by


class PromptTooLargeError(DefinitionError):
    """The text would be larger than any model reads."""


@dataclass(frozen=True)
class DefinitionProblem:
    """One finding in a definition. ``path`` leads to the part at fault, ``rule`` names it."""

    path: tuple[str | int, ...]
    rule: str
    message: str

    @property
    def field(self) -> str:
        """``("tools", 0, "name")`` as ``tools[0].name``."""
        text = ""
        for part in self.path:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        return text

    def __str__(self) -> str:
        """``tools[0].name: must not be empty``."""
        return f"{self.field}: {self.message}" if self.path else self.message
