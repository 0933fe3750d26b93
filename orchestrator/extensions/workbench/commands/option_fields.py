"""Commands whose options are the fields of a dataclass, where they are too many for parameters."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TypeVar, get_type_hints

D = TypeVar("D")


def take_options(run: Callable[[D], None], model: type[D]) -> Callable[..., None]:
    """Return ``run`` as a function that typer gives the fields of ``model`` one by one."""

    @wraps(run)
    def run_with_fields(**fields: object) -> None:
        run(model(**fields))

    vars(run_with_fields)["__signature__"] = inspect.signature(model)
    run_with_fields.__annotations__ = get_type_hints(model, include_extras=True)
    return run_with_fields
