"""Ask the supervisor about texts that can be edited, and for their changes."""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from orchestrator.config_problem import Problem
from orchestrator.control.editing import (
    FILE_CHECK,
    FILE_HISTORY,
    FILE_LIST,
    FILE_READ,
    FILE_SAVE,
    EditableFiles,
    EditReport,
    FileEdit,
    FileHistory,
    FileName,
    FileText,
    FileVersion,
    ValueChange,
    VersionName,
)
from orchestrator.control.protocol import UNKNOWN_NAME
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.html.vocabulary import render_blank
from orchestrator.extensions.page.screen_request import DaemonLink, ScreenRequest, ScreenResult
from thinker.protocol.peer import FAILED, NO_METHOD, RpcError

NO_DAEMON = "No daemon runs, so nothing can be changed here. Start it with: orchestrator run"
CONFLICT = "Nothing was saved: the text was changed meanwhile. Open it again, and edit it there."
MISSING = "This daemon runs without the extension for this, so it cannot be done here."
ShowScreen: TypeAlias = Callable[[ScreenRequest], Awaitable[ScreenResult]]
M = TypeVar("M", bound=BaseModel)


def need_daemon(show: ShowScreen) -> ShowScreen:
    """Return the body of a screen that says so where no daemon runs, or a name is unknown."""

    @wraps(show)
    async def show_screen(request: ScreenRequest) -> ScreenResult:
        if request.daemon is None:
            return render_blank(NO_DAEMON, icon="system")
        try:
            return await show(request)
        except RpcError as error:
            if error.code != UNKNOWN_NAME or request.form:
                raise
            return render_blank(strip_terminal_codes(str(error)), icon="texts")

    return show_screen


def require_daemon(request: ScreenRequest) -> DaemonLink:
    """Return the connection to the supervisor.

    Raises:
        OrchestratorError: the page shows a journal without a daemon.
    """
    if request.daemon is None:
        raise OrchestratorError(NO_DAEMON)
    return request.daemon


async def ask_extension(
    request: ScreenRequest, method: str, params: BaseModel | None, answer: type[M]
) -> M:
    """Call a method of an extension; raise the errors of `DaemonLink.ask_daemon`.

    Raises:
        OrchestratorError: there is no daemon, or it runs without that extension.
    """
    call: Awaitable[M] = require_daemon(request).ask_daemon(method, params, answer)
    try:
        return await call
    except RpcError as error:
        if error.code == NO_METHOD:
            raise OrchestratorError(MISSING) from error
        raise


async def list_texts(request: ScreenRequest) -> EditableFiles:
    """Return all texts that can be edited."""
    return await ask_extension(request, FILE_LIST, None, EditableFiles)


async def read_text(request: ScreenRequest, name: str, number: int | None = None) -> FileText:
    """Return a text, or a version of it."""
    asked = _build(VersionName, name=name, number=number)
    return await ask_extension(request, FILE_READ, asked, FileText)


async def check_text(request: ScreenRequest, edit: FileEdit) -> EditReport:
    """Return what an edit would change, without changing anything."""
    return await ask_extension(request, FILE_CHECK, edit, EditReport)


async def save_text(request: ScreenRequest, edit: FileEdit) -> EditReport:
    """Save an edit, if it is without errors and the text is still the one it began from.

    A refusal is a problem of the report, so that the form with the edit is shown again.
    """
    try:
        return await ask_extension(request, FILE_SAVE, edit, EditReport)
    except RpcError as error:
        if error.code != FAILED:
            raise
        report = await check_text(request, edit)
        refusal = Problem.build_unusable(edit.name, str(error))
        return report.model_copy(update={"problems": (*report.problems, refusal)})


async def load_history(request: ScreenRequest, name: str = "") -> FileHistory:
    """Return the versions of a text, or of all texts, newest first."""
    return await ask_extension(request, FILE_HISTORY, _build(FileName, name=name), FileHistory)


async def find_newest(request: ScreenRequest, name: str) -> FileVersion | None:
    """Return the newest version of a text; None before its first change."""
    return next(iter((await load_history(request, name)).versions), None)


def explain_refusal(answer: JsonValue) -> str:
    """Return why an act saved nothing, by what the supervisor answered; empty if it was done."""
    if not isinstance(answer, dict) or answer.get("saved") is not False:
        return ""
    if "works" in answer:  # a trial, whose text explains it
        return str(answer.get("text", ""))
    if answer.get("conflict"):
        return CONFLICT
    reason = EditReport.model_validate(answer).explain_refusal()
    return f"Nothing was saved: {reason or 'the text has errors'}"


def build_edit(
    name: str,
    base: str,
    *,
    text: str | None = None,
    changes: Sequence[ValueChange] = (),
    why: str = "",
    anyway: bool = False,
) -> FileEdit:
    """Build an edit of what a form holds, with the line ends of files.

    ``anyway`` saves it in spite of objections.

    Raises:
        OrchestratorError: the name or the text is too long.
    """
    lines = None if text is None else text.replace("\r\n", "\n")
    return _build(
        FileEdit,
        name=name,
        base=base,
        text=lines,
        changes=tuple(changes),
        why=why[:500],
        anyway=anyway,
    )


def _build(model: type[M], **values: object) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, fault["loc"]))
        raise OrchestratorError(f"{field}: {fault['msg']}; shorten it") from None
