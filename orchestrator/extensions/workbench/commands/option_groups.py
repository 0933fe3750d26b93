"""Options of a command that are declared together, as the fields of a dataclass."""

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def spread_options(work: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose options are those of ``work`` and of the group that it takes.

    The group is its parameter ``chosen``: a dataclass of annotated options with defaults.
    """
    hints = get_type_hints(work, include_extras=True)
    group = hints.pop("chosen")
    options = get_type_hints(group, include_extras=True)

    def run_command(**given: object) -> None:
        chosen = group(**{name: given.pop(name) for name in options})
        work(**given, chosen=chosen)

    own = {name: one for name, one in signature(work).parameters.items() if name != "chosen"}
    more = [_build_parameter(one, options[one.name]) for one in fields(group)]
    every = [*more, *own.values()]
    positional = [one for one in every if one.kind is not Parameter.KEYWORD_ONLY]
    named = [one for one in every if one.kind is Parameter.KEYWORD_ONLY]
    run_command.__signature__ = Signature([*positional, *named])  # type: ignore[attr-defined]
    run_command.__annotations__ = {**hints, **options}
    run_command.__doc__, run_command.__name__ = work.__doc__, work.__name__
    return run_command


def _build_parameter(option: "Field[Any]", annotation: object) -> Parameter:
    default = option.default
    if default is MISSING:
        raise TypeError(f"the option {option.name} has no default")
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
