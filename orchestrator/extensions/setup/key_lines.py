"""Set keys in the text of a keys file, where other lines stay, and read what a key's name says."""

from collections.abc import Mapping

from orchestrator.extensions.setup.bot_tokens import TOKEN, parse_account
from orchestrator.keys_file import PLAIN, parse_bindings


def replace_values(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a keys file with these values set.

    All other lines stay. A line "#NAME=" is used for its name.
    """
    for name, value in values.items():
        line = f"{name}={_quote_value(value)}\n"
        parts = [(binding.key, binding.original.string) for _, binding in parse_bindings(text)]
        used = [place for place, (key, _) in enumerate(parts) if key == name]
        used = used or [
            place for place, (_, part) in enumerate(parts) if _is_placeholder_line(part, name)
        ]
        if used:
            old = parts[used[-1]][1]
            blank = old[: len(old) - len(old.lstrip())]
            parts[used[-1]] = (name, blank + line)
            text = "".join(part for _, part in parts)
        else:
            text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    return text


def remove_value(text: str, name: str) -> str:
    """Return the text of a keys file without any line that sets a key; all other lines stay."""
    parts = ((binding.key, binding.original.string) for _, binding in parse_bindings(text))
    return "".join(part for key, part in parts if key != name)


def _is_placeholder_line(part: str, name: str) -> bool:
    return part.strip().removeprefix("#").strip() == f"{name}="


def _quote_value(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def find_account_of(variable: str) -> str:
    """Return the account whose token a variable has by its name; empty for the default one.

    Raises:
        OrchestratorError: no account can have that name.
    """
    account = variable.removeprefix(f"{TOKEN}_").lower() if variable.startswith(f"{TOKEN}_") else ""
    return account and parse_account(account)
