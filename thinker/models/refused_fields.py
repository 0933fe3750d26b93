"""Fields of a request that a server refuses although most accept them: omit them for a day."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from thinker.models.failures import LENGTHS, FieldRefusedError

T = TypeVar("T")
MAX_REFUSED_FIELDS = 5  # fields that one call may find refused
REMEMBERED = 86_400.0  # seconds; servers change


class RefusedFields:
    """The fields that one model has refused; a refused length limit is sent by its other name.

    ``clock`` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._known: dict[str, tuple[float, str]] = {}  # until when, and the provider's words
        self._clock = clock

    def list_known(self) -> Mapping[str, str]:
        """Return the fields that are known to be refused, with the provider's words."""
        if not self._known:
            return {}
        now = self._clock()
        self._known = {name: found for name, found in self._known.items() if found[0] > now}
        return {name: words for name, (_, words) in self._known.items()}

    def remove_known(self, body: Mapping[str, object]) -> Mapping[str, object]:
        """Return the body without fields that are known to be refused."""
        return _remove_fields(body, self.list_known())

    async def post_without_refused(
        self, body: Mapping[str, object], post: Callable[[Mapping[str, object]], Awaitable[T]]
    ) -> T:
        """Post the body, and again without each refused field; raise the errors of ``post``.

        A field counts as refused once the model has answered without it.
        """
        refused = dict(self.list_known())
        known = len(refused)
        for _ in range(MAX_REFUSED_FIELDS):
            sent = _remove_fields(body, refused)
            try:
                answer = await post(sent)
            except FieldRefusedError as error:
                names = {error.field, *([LENGTHS[error.field]] if error.too_large else ())}
                if not names & sent.keys():
                    raise
                words = str(error).partition(": ")[2]
                refused |= dict.fromkeys(names, words)
            else:
                if len(refused) > known:
                    until = self._clock() + REMEMBERED
                    found = {name: (until, words) for name, words in refused.items()}
                    self._known = {**found, **self._known}
                return answer
        return await post(_remove_fields(body, refused))


def _remove_fields(body: Mapping[str, object], refused: Mapping[str, str]) -> Mapping[str, object]:
    if not refused:
        return body
    kept = {name: value for name, value in body.items() if name not in refused}
    for name, other in LENGTHS.items():
        if name in body and name in refused and other not in refused:
            kept[other] = body[name]
    return kept
