"""Fit the requests to a model into its window, and learn from refusals how large that is.

Where: is a request that is too long shortened and repeated?
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf

import anyio
import structlog

from thinker.models.base import ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import HistoryRefusedError
from thinker.models.shortening import (
    RequestSizes,
    estimate_size,
    find_newest,
    measure_request,
    shorten_request,
)
from thinker.protocol.context_windows import ASSUMED, ASSUMED_LOCAL, SMALL, ContextWindow
from thinker.protocol.degradations import Degradation, cut_words
from thinker.protocol.notices import format_overflow
from thinker.worker_errors import (
    ContextOverflowError,
    FatalModelError,
    FilteredError,
    ModelError,
    RetryableModelError,
)

FIRST, TRIES = 0.6, 3  # the part of a refused size that is tried first, then half of it and so on
LEAST_SUSPECT = 1500  # estimated tokens, from which an unexplained refusal may be about length
ROOM, SMALL_ROOM = 0.92, 0.75  # parts of a window that a request may fill; the rest is the answer
PER_CHARACTER = 0.25  # tokens, until the model has counted some
ANY_SCALE = (0.12, 1.5)  # tokens a character in any language; other counts are no measure
COUNTED = 0.3  # part of a window from which on it matters how exactly a model counts
UNREAD = 0.6  # part of the expected tokens below which a server has cut the request
LEAST_UNREAD = 1000  # tokens; smaller counts say nothing
REMEMBERED = 3600.0  # seconds for which a size stays refused, and after which a server is asked
ASKING_SECONDS = 2.0  # for a server's answer about its window, if a call waits for it
Ask = Callable[[], Awaitable[ContextWindow | None]]
log = structlog.get_logger()


@dataclass(eq=False)
class FittingModel(ModelWrapper):
    """A model whose requests are shortened to its window, and again when they are refused.

    ``stated`` and ``known`` are the windows of the settings and of the table (0: none). ``ask``
    asks the server. With a model in ``later`` that takes more, a request goes there instead.
    ``report`` is called with each window that is found.
    """

    stated: int = 0
    known: int = 0
    local: bool = False
    ask: Ask | None = None
    later: Sequence["FittingModel"] = ()
    clock: Callable[[], float] = anyio.current_time
    report: Callable[[ContextWindow], None] | None = field(default=None, init=False)
    _told: ContextWindow | None = field(default=None, init=False)
    _learnt: int = field(default=0, init=False)
    _asked: float = field(default=-inf, init=False)
    _asking: asyncio.Task[None] | None = field(default=None, init=False)
    _scale: float = field(default=PER_CHARACTER, init=False)  # tokens a character
    _ceiling: float = field(default=inf, init=False)  # characters that were taken
    _until: float = field(default=-inf, init=False)

    @property
    def window(self) -> ContextWindow:
        """The model's window: stated, told by the server, learnt, known, or assumed."""
        if self.stated:
            return ContextWindow(model=self.name, tokens=self.stated, source="setting")
        if self._told is not None:
            return self._told
        if self._learnt:
            return ContextWindow(model=self.name, tokens=self._learnt, source="refusal")
        if self.known:
            return ContextWindow(model=self.name, tokens=self.known, source="table")
        tokens = ASSUMED_LOCAL if self.local else ASSUMED
        return ContextWindow(model=self.name, tokens=tokens, source="assumed")

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Make the call, shortened as far as needed; raise the errors of the wrapped model.

        Raises:
            ContextOverflowError: no shorter request was taken either; the notice says what is long.
        """
        if self.local and not request.rehearsed:
            await self._ask_server()
        limit = self._find_limit(request)
        if estimate_size(request) <= limit:
            return await self._send_or_shorten(request)
        sizes = measure_request(request)
        if sizes.total <= limit:
            return await self._send_or_shorten(request)
        if self._goes_elsewhere():
            raise self._give_up(ContextOverflowError("the request is too long"), sizes)
        return await self._send_shorter(request, sizes, limit, None)

    async def _send_or_shorten(self, request: ModelRequest) -> ModelResponse:
        try:
            response = await self.model.complete(request)
        except ModelError as error:
            sizes = measure_request(request)
            refusal = self._find_overflow(error, sizes.total)
            if refusal is None or request.rehearsed:
                if request.rehearsed or not _may_be_spoilt(error):
                    raise
                return await self._send_newest(request, error)
            self._learn_from_refusal(refusal, sizes.total)
            if refusal.of_rate and self.later:
                refusal.elsewhere = True
            if refusal.elsewhere or (not refusal.suspected and self._goes_elsewhere()):
                raise self._give_up(refusal, sizes) from None
            await self._ask_server(again=True)
            limit = self._choose_size(refusal, request, sizes.total)
            return await self._send_shorter(request, sizes, limit, error)
        self._refresh_window()
        least = LEAST_UNREAD if self.local else self._find_tokens() * COUNTED or inf
        if response.usage.prompt < least:
            return response
        return self._check_answer(response, measure_request(request).total)

    async def _send_newest(self, request: ModelRequest, error: ModelError) -> ModelResponse:
        """Send the newest message alone: an earlier one may be what was refused, each time again.

        Raises:
            ModelError: it is refused as well; ``error``, of the whole request, is raised.
        """
        newest = request.messages[find_newest(request.messages) :]
        if len(newest) == len(request.messages):
            raise error
        try:
            response = await self.model.complete(replace(request, messages=newest))
        except ModelError:
            raise error from None
        words = cut_words(str(error).partition(": ")[2])
        what = "left out: the provider refused the request with them"
        lost = Degradation(kind="history", subject="earlier messages", what=what, words=words)
        return replace(response, degraded=(*response.degraded, lost))

    async def _send_shorter(
        self, request: ModelRequest, sizes: RequestSizes, limit: float, cause: ModelError | None
    ) -> ModelResponse:
        """Send less and less until it is taken; raise ``cause`` if it was not about the length."""
        words = "" if cause is None else str(cause).partition(": ")[2]
        last: ModelError = cause or ContextOverflowError("the request is longer than the window")
        tried = sizes.total
        done: tuple[Degradation, ...] = ()
        for _ in range(1 if isinstance(cause, RetryableModelError) else TRIES):
            shorter = shorten_request(request, round(limit))
            if not shorter.fits and cause is None and not self._can_try(shorter.request, limit):
                break
            size = measure_request(shorter.request).total
            if size >= tried:
                break
            tried, done = size, shorter.degraded
            log.warning("request_shortened", model=self.name, before=sizes.total, after=size)
            try:
                response = await self.model.complete(shorter.request)
            except ModelError as error:
                refusal = self._find_overflow(error, size)
                if refusal is None:
                    raise
                self._learn_from_refusal(refusal, size)
                words = words or str(error).partition(": ")[2]
                last, limit = error, min(limit, size) / 2
                continue
            if cause is not None and not getattr(cause, "of_rate", False):
                self._ceiling, self._until = float(size), self.clock() + REMEMBERED
            done = tuple(one.model_copy(update={"words": cut_words(words)}) for one in done)
            checked = self._check_answer(response, size)
            return replace(checked, degraded=(*checked.degraded, *done))
        if cause is not None and cause.unexplained:
            raise cause
        last.degraded += done
        raise self._give_up(last, sizes)

    def _can_try(self, request: ModelRequest, limit: float) -> bool:
        """Return whether a request that is a little too long may be taken all the same."""
        return measure_request(request).total < limit / SMALL_ROOM

    def _find_overflow(self, error: ModelError, size: int) -> ContextOverflowError | None:
        """Return what an error says about the length of a request; None if nothing."""
        if isinstance(error, ContextOverflowError):
            return error
        if error.unexplained and size * self._scale >= LEAST_SUSPECT:
            suspicion = ContextOverflowError(str(error), suspected=True)
            suspicion.of_server = isinstance(error, RetryableModelError)
            return suspicion
        return None

    def _learn_from_refusal(self, refusal: ContextOverflowError, size: int) -> None:
        if refusal.counted:
            self._scale = _limit_scale(refusal.counted / max(1, size), self._scale)
        if refusal.allowed and not (refusal.of_rate or refusal.suspected):
            before, self._learnt = self._learnt, refusal.allowed
            if before != self._learnt and self.window.source == "refusal":
                self._report_window()

    def _choose_size(
        self, refusal: ContextOverflowError, request: ModelRequest, size: int
    ) -> float:
        """Return the characters to try after a refusal of ``size`` characters."""
        if refusal.allowed and refusal.counted and refusal.counted > refusal.allowed:
            return size * refusal.allowed / refusal.counted * SMALL_ROOM
        limit = self._find_limit(request)
        if refusal.allowed and refusal.allowed / self._scale < size:
            limit = min(limit, refusal.allowed / self._scale * SMALL_ROOM)
        # An answer with 500 was repeated already, and costs time: there is one more try.
        again = FIRST / 2 if refusal.of_server else FIRST
        return limit if limit < size else size * again

    def _find_tokens(self) -> int:
        """Return the window in tokens, 0 if it is only assumed."""
        told = 0 if self._told is None else self._told.tokens
        return self.stated or told or self._learnt or self.known

    def _find_limit(self, request: ModelRequest) -> float:
        """Return the characters that a request may have, as far as that is known."""
        limit = self._ceiling
        if limit < inf and self.clock() >= self._until:
            limit = self._ceiling = inf
        window = self._find_tokens()
        if not window:
            return limit
        tokens = window * (SMALL_ROOM if window <= SMALL else ROOM)
        wanted = request.max_output_tokens or 0
        tokens = max(min(tokens, window - wanted), window / 2)
        return min(limit, tokens / self._scale)

    def _goes_elsewhere(self) -> bool:
        """Return whether a fallback model is known to take more."""
        own = self.window.tokens
        windows = (other.window for other in self.later)
        return any(found.source != "assumed" and found.tokens > own for found in windows)

    def _give_up(self, error: ModelError, sizes: RequestSizes) -> ModelError:
        """Return the error with a notice of what is too long."""
        if isinstance(error, ContextOverflowError):
            names = ("prompt", "tools", "history", "message")
            parts = {n: round(s * self._scale) for n, s in zip(names, sizes, strict=True)}
            window = self.window
            error.notice = format_overflow(
                parts, None if window.source == "assumed" else window.tokens
            )
            error.elsewhere = error.elsewhere or self._goes_elsewhere()
        return error

    def _check_answer(self, response: ModelResponse, size: int) -> ModelResponse:
        """Note how the model counts, and whether it counted less than it was sent."""
        read, expected = response.usage.prompt, size * self._scale
        window = self.window
        known = window.source != "assumed"
        if (
            (self.local or window.source == "table")
            and LEAST_UNREAD <= read < UNREAD * expected
            and (not known or expected > window.tokens)
        ) or (known and window.tokens < read and window.source == "table"):
            self._asked = -inf
            self._refresh_window()
            if not known:
                self._learnt = next((n for n in POWERS if n >= read), read)
                self._report_window()
            what = f"the server read {read} of about {expected:.0f} tokens, without a word"
            cut = Degradation(kind="history", subject=self.name, what=what)
            log.warning("request_cut_by_server", model=self.name, read=read, sent=round(expected))
            return replace(response, degraded=(*response.degraded, cut))
        if read >= LEAST_UNREAD:
            self._scale = (self._scale + _limit_scale(read / max(1, size), self._scale)) / 2
        return response

    def _report_window(self) -> None:
        if self.report is not None:
            self.report(self.window)

    def _refresh_window(self) -> None:
        """Ask the server in the background, if it is worth it and has not just been asked."""
        if self.ask is None or self.stated or self._asking:
            return
        if (self.local or not self._find_tokens()) and self._is_due():
            self._asking = asyncio.get_running_loop().create_task(self._ask_once())

    def _is_due(self) -> bool:
        return self.clock() - self._asked >= REMEMBERED

    async def _ask_server(self, *, again: bool = False) -> None:
        """Ask the server for its window and wait for it, if that is due."""
        if self.ask is None or self.stated or not (self.local and (again or self._is_due())):
            return
        with anyio.move_on_after(ASKING_SECONDS):
            await self._ask_once()

    async def _ask_once(self) -> None:
        self._asked = self.clock()
        try:
            found = await self.ask() if self.ask else None
        except Exception as error:  # noqa: BLE001 - a question about a window must not cost an answer
            log.debug("window_unknown", model=self.name, problem=str(error))
            found = None
        finally:
            self._asking = None
        if found != self._told or found is None:
            self._told = found or self._told
            self._report_window()

    async def aclose(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking
        await super().aclose()


POWERS = tuple(1024 * 2**n for n in range(12))  # usual windows, in tokens


def _may_be_spoilt(error: ModelError) -> bool:
    """Return whether a refusal may be about earlier messages, which every request repeats."""
    if isinstance(error, FilteredError | HistoryRefusedError):
        return True
    return error.unexplained and isinstance(error, FatalModelError)


def _limit_scale(found: float, before: float) -> float:
    least, most = ANY_SCALE
    return found if least <= found <= most else before
