"""Fields of a request that a server refuses although most accept them: omit them afterwards."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from thinker.models.failures import LENGTHS, FieldRefusedError

T = TypeVar("T")
MAX_REFUSED_FIELDS = 5  # fields that one call may find refused


class RefusedFields:
    """The fields that one model has refused; a refused length limit is sent by its other name."""

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()

    def remove_known(self, body: Mapping[str, object]) -> Mapping[str, object]:
        """Return the body without fields that are known to be refused."""
        return _remove_fields(body, self._known)

    async def post_without_refused(
        self, body: Mapping[str, object], post: Callable[[Mapping[str, object]], Awaitable[T]]
    ) -> T:
        """Post the body, and again without each refused field; raise the errors of ``post``.

        A field counts as refused once the model has answered without it.
        """
        refused = self._known
        for _ in range(MAX_REFUSED_FIELDS):
            sent = _remove_fields(body, refused)
            try:
                answer = await post(sent)
            except FieldRefusedError as error:
                names = {error.field, *([LENGTHS[error.field]] if error.too_large else ())}
                if not names & sent.keys():
                    raise
                refused |= names
            else:
                self._known |= refused
                return answer
        return await post(_remove_fields(body, refused))


def _remove_fields(body: Mapping[str, object], refused: frozenset[str]) -> Mapping[str, object]:
    if not refused:
        return body
    kept = {name: value for name, value in body.items() if name not in refused}
    for name, other in LENGTHS.items():
        if name in body and name in refused and other not in refused:
            kept[other] = body[name]
    return kept
