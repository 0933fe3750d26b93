"""Read, check, save and undo texts, each change as a version.

A text is given out without its secrets, and comes back with the marks in their places. Changes that
nothing saved here, such as those of an editor in a terminal, become versions when they are noticed:
after the daemon has adopted them, at its start, and before anything else is done with the text.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
import structlog

from orchestrator.agentsfile.positions import parse_json_document
from orchestrator.agentsfile.text_edits import remove_value, replace_value
from orchestrator.config_problem import Problem
from orchestrator.control.editing import (
    EditableFile,
    EditableFiles,
    EditReport,
    FileEdit,
    FileHistory,
    FileName,
    FileText,
    FileVersion,
    UndoRequest,
    ValueChange,
    VersionName,
)
from orchestrator.editable import EditableKind, TextChangedError
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.versions.secret_marks import (
    count_marks,
    mask_secrets,
    restore_secrets,
)
from orchestrator.extensions.versions.text_difference import format_difference
from orchestrator.extensions.versions.text_sentences import count_nouns, cut_text
from orchestrator.extensions.versions.version_files import VersionFiles, VersionHead
from orchestrator.files import OffLoop
from orchestrator.journal.memory.secret_filter import mask_tokens

MAX_SENTENCES, MAX_SENTENCE = 40, 400  # of a change; characters
MAX_SHOWN = 200  # versions of all texts
INVALID = "it has errors, so what was there before stays in force"
FOUND = "the text as it was found"
CHANGED = "{name} was changed meanwhile, so nothing was undone; look at its history"
NOTHING = "the beginning: it did not exist yet"
log = structlog.get_logger()


class _Draft(NamedTuple):
    """A text that an edit makes: as it was sent, and with its secrets; None removes it.

    ``difference`` is how it differs from the ``present`` one; both are without secrets.
    """

    sent: str | None
    text: str | None
    problems: tuple[Problem, ...]
    present: str
    difference: str


@dataclass
class TextKeeper:
    """The texts of all ``kinds``, and their versions.

    ``clock`` returns milliseconds since the epoch, ``problems`` what is known of all texts, and
    ``find_note`` what is to be known about every edit of a file, if anything. ``judge`` returns
    objections to an edit of a person, which may take long.
    """

    kinds: Sequence[EditableKind]
    versions: VersionFiles
    in_thread: OffLoop
    clock: Callable[[], int]
    problems: Callable[[], Sequence[Problem]] = tuple
    find_note: Callable[[], str] = str
    judge: Callable[[FileEdit, str], Awaitable[tuple[str, ...]]] | None = None
    _writing: anyio.Lock = field(default_factory=anyio.Lock, init=False)

    async def list_texts(self) -> EditableFiles:
        """Return all texts that exist."""
        wrong = [problem.file for problem in self.problems() if problem.severity == "error"]
        found = []
        for kind in self.kinds:
            for name in await kind.list_names():
                count = sum(file in (name, kind.find_place(name)) for file in wrong)
                found.append(EditableFile(name=name, title=kind.title, problems=count))
        prefixes = {kind.prefix: kind.title for kind in self.kinds if kind.prefix.endswith("/")}
        return EditableFiles(files=tuple(found), prefixes=prefixes)

    async def read_text(self, asked: VersionName) -> FileText:
        """Return the present text or a version, without secrets."""
        kind = self._find_kind(asked.name)
        text = await kind.read_text(asked.name)
        base, place = _digest(text), kind.find_place(asked.name)
        if asked.number is not None:
            version = await self.in_thread(self.versions.read_version, asked.name, asked.number)
            text = version[1]
        shown = await self._mask(asked.name, text)
        return FileText(name=asked.name, text=shown or "", base=base, where=place)

    async def check_edit(self, edit: FileEdit) -> EditReport:
        """Return what an edit would do, and change nothing."""
        kind = self._find_kind(edit.name)
        present = await kind.read_text(edit.name)
        report, _ = await self._examine(kind, edit, present)
        return await self._add_note(kind, report)

    async def save_edit(self, edit: FileEdit, by: str) -> EditReport:
        """Save an edit and keep a version of it.

        Unless it has errors, met another one, or is objected to.
        """
        kind = self._find_kind(edit.name)
        refused = await self._object_to(kind, edit, by)
        if refused is not None:
            return refused
        async with self._writing:
            present = await self._notice_text(kind, edit.name)
            report = await self._save(kind, edit, present, _Origin(by, edit.why))
        return await self._add_note(kind, report)

    async def _object_to(self, kind: EditableKind, edit: FileEdit, by: str) -> EditReport | None:
        """Return a report with the objections to an edit that could be saved; None without any."""
        if self.judge is None:
            return None
        report, _ = await self._examine(kind, edit, await kind.read_text(edit.name))
        if _is_refused(report):
            return None
        removed = edit.text is None and not edit.changes
        whole = edit.model_copy(update={"text": None if removed else report.text, "changes": ()})
        found = await self.judge(whole, by)
        return report.model_copy(update={"objections": found}) if found else None

    async def undo_change(self, asked: UndoRequest, by: str) -> EditReport:
        """Go back to a version; see `UndoRequest`.

        Raises:
            UnknownNameError: there is nothing to undo.
            OrchestratorError: another change came meanwhile, which would be undone as well.
        """
        async with self._writing:
            name = asked.name or await self._find_newest_change()
            kind = self._find_kind(name)
            present = await self._notice_text(kind, name)
            if asked.after is not None:
                newest = await self.in_thread(self.versions.find_newest, name)
                if newest is None or newest[0].number != asked.after:
                    raise OrchestratorError(CHANGED.format(name=name))
            number = asked.number
            if number is None:
                number = await self.in_thread(self._find_earlier, name)
            _, text = await self.in_thread(self.versions.read_version, name, number)
            edit = FileEdit.model_construct(name=name, base=_digest(present), text=text)
            report = await self._save(
                kind, edit, present, _Origin(by, f"back to version {number}", number)
            )
        kept = 0 if text is None else count_marks(text)
        if report.saved and kept:
            told = f"versions hold no secrets: {count_nouns(kept, 'secret')} stayed as it is now"
            report = report.model_copy(update={"sentences": (*report.sentences, told)})
        return await self._add_note(kind, report)

    async def load_history(self, asked: FileName) -> FileHistory:
        """Return the versions of a text, or without a name of all, newest first."""
        name = asked.name
        if name:
            kind = self._find_kind(name)
            async with self._writing:
                await self._notice_text(kind, name)
        heads = await self.in_thread(self._collect_heads, name)
        versions = [
            FileVersion(name=one, **head.model_dump(include={*FileVersion.model_fields} - {"name"}))
            for one, head in heads
        ]
        return FileHistory(name=name, versions=tuple(versions))

    async def notice_changes(self, kinds: Iterable[EditableKind]) -> None:
        """Keep a version of every text of some kinds that has changed since its last one."""
        known = await self.in_thread(self.versions.list_names)
        for kind in kinds:
            names = {name for name in known if name.startswith(kind.prefix)}
            with _log_failure(kind.prefix):
                names.update(await kind.list_names())
            for name in sorted(names):
                with _log_failure(name):
                    async with self._writing:
                        await self._notice_text(kind, name)

    def _find_kind(self, name: str) -> EditableKind:
        """Return the kind of a text.

        Raises:
            UnknownNameError: no kind has such names.
        """
        found = [kind for kind in self.kinds if name.startswith(kind.prefix)]
        if not found:
            known = ", ".join(sorted({kind.prefix for kind in self.kinds}))
            raise UnknownNameError(f"{name!r} is no text that can be edited; they begin: {known}")
        return max(found, key=lambda kind: len(kind.prefix))

    async def _notice_text(self, kind: EditableKind, name: str) -> str | None:
        """Return the present text; keep a version if it is another one than the newest."""
        present = await kind.read_text(name)
        newest = await self.in_thread(self.versions.find_newest, name)
        shown = await self._mask(name, present)
        if newest is None:
            if present is not None:
                head = self._make_head(_Origin(kind.author), (FOUND,))
                await self._store_version(name, head, shown)
        elif newest[1] != shown:
            sentences = await self._describe(kind, name, newest[1], shown)
            problems = await kind.check_text(name, present)
            if any(problem.severity == "error" for problem in problems):
                sentences = (*sentences, INVALID)
            head = self._make_head(_Origin(kind.author), sentences)
            await self._store_version(name, head, shown)
        return present

    async def _examine(
        self, kind: EditableKind, edit: FileEdit, present: str | None
    ) -> tuple[EditReport, str | None]:
        """Return the report on an edit of the present text, and the new text; nothing is saved."""
        draft = await self.in_thread(_build_draft, edit, present)
        base = _digest(present)
        conflict = base != edit.base
        report = EditReport(
            name=edit.name,
            text=draft.sent or "",
            base=base,
            where=kind.find_place(edit.name),
            difference=draft.difference,
            conflict=conflict,
            present=draft.present if conflict else "",
        )
        problems = draft.problems or tuple(await kind.check_text(edit.name, draft.text))
        # Without secrets: a mark in another field would show its secret to one who may only look.
        shown = None if present is None else draft.present
        sentences = await self._describe(kind, edit.name, shown, draft.sent)
        update = {"problems": problems, "sentences": sentences}
        return report.model_copy(update=update), draft.text

    async def _save(
        self, kind: EditableKind, edit: FileEdit, present: str | None, origin: "_Origin"
    ) -> EditReport:
        report, text = await self._examine(kind, edit, present)
        if _is_refused(report):
            return report
        report = report.model_copy(update={"saved": True})
        if text == present:
            return report
        try:
            name = await kind.write_text(edit.name, present, text, origin.by)
        except TextChangedError:
            now = await self._notice_text(kind, edit.name)
            return (await self._examine(kind, edit, now))[0]
        try:
            return await self._keep_saved(kind, report.model_copy(update={"name": name}), origin)
        except (OrchestratorError, OSError) as error:
            told = Problem("warning", name, 0, None, f"it is saved and in force, but {error}")
            kept = {"name": name, "base": _digest(text), "problems": (*report.problems, told)}
            return report.model_copy(update=kept)

    async def _keep_saved(
        self, kind: EditableKind, report: EditReport, origin: "_Origin"
    ) -> EditReport:
        """Keep a version of what was just saved; return the report with the text as it is now."""
        name, now = report.name, await kind.read_text(report.name)
        if await self.in_thread(self.versions.find_newest, name) is None:
            await self._store_version(name, self._make_head(_Origin(origin.by), (NOTHING,)), None)
        shown = await self._mask(name, now)
        await self._store_version(name, self._make_head(origin, report.sentences), shown)
        return report.model_copy(update={"base": _digest(now), "text": shown or ""})

    async def _add_note(self, kind: EditableKind, report: EditReport) -> EditReport:
        note = await self.in_thread(self.find_note)
        told = report.sentences and note and kind.author == EditableKind.author
        added = (*report.sentences, note) if told else report.sentences
        return report.model_copy(update={"sentences": added})

    async def _mask(self, name: str, text: str | None) -> str | None:
        masked = await self.in_thread(mask_secrets, name, text or "")
        return None if text is None else masked.text

    async def _describe(
        self, kind: EditableKind, name: str, old: str | None, new: str | None
    ) -> tuple[str, ...]:
        found = list(await kind.describe_change(name, old, new))
        if len(found) > MAX_SENTENCES:
            found[MAX_SENTENCES - 1 :] = [f"and {len(found) - MAX_SENTENCES + 1} changes more"]
        return tuple(cut_text(mask_tokens(sentence), MAX_SENTENCE) for sentence in found)

    def _make_head(self, origin: "_Origin", sentences: tuple[str, ...]) -> VersionHead:
        return VersionHead(
            number=1,  # the next one is known when it is stored
            at=self.clock(),
            by=origin.by,
            why=mask_tokens(origin.why),
            sentences=sentences,
            undoes=origin.undoes,
        )

    async def _store_version(self, name: str, head: VersionHead, text: str | None) -> None:
        try:
            await self.in_thread(self.versions.add_version, name, head, text)
        except OSError as error:
            raise OrchestratorError(
                f"no version of {name} as it is now could be kept ({error.strerror}); free some"
                " space, and look at the folder history of the home"
            ) from error

    def _collect_heads(self, name: str) -> list[tuple[str, VersionHead]]:
        names = [name] if name else self.versions.list_names()
        heads = ((one, head) for one in names for head in self.versions.list_heads(one))
        return sorted(heads, key=lambda one: (one[1].at, one[1].number), reverse=True)[:MAX_SHOWN]

    def _find_earlier(self, name: str) -> int:
        """Return the number of the version before the last change that still stands.

        Raises:
            UnknownNameError: the text was never changed.
        """
        change = self._find_standing(self.versions.list_heads(name))
        if change is None:
            raise UnknownNameError(f"{name} has no earlier version to go back to")
        return change[0].number

    async def _find_newest_change(self) -> str:
        def find_change() -> str | None:
            newest: tuple[int, str] | None = None
            for name in self.versions.list_names():
                change = self._find_standing(self.versions.list_heads(name))
                if change is not None and self._has_kind(name):
                    newest = max(newest or (0, ""), (change[1].at, name))
            return newest and newest[1]

        name = await self.in_thread(find_change)
        if name is None:
            raise UnknownNameError("no change is left to undo; see: orchestrator config history")
        return name

    def _has_kind(self, name: str) -> bool:
        return any(name.startswith(kind.prefix) for kind in self.kinds)

    @staticmethod
    def _find_standing(heads: list[VersionHead]) -> tuple[VersionHead, VersionHead] | None:
        """Return the last change that was not undone, after the version before it."""
        at = heads[-1].number if heads else 0
        by_number = {head.number: head for head in heads}
        while at in by_number and by_number[at].undoes:
            at = by_number[at].undoes
        earlier = [head for head in heads if head.number < at and INVALID not in head.sentences]
        return (earlier[-1], by_number[at]) if earlier and at in by_number else None


class _Origin(NamedTuple):
    """Who makes a version, and why; ``undoes`` is the number of the version that comes back."""

    by: str
    why: str = ""
    undoes: int = 0


def _build_draft(edit: FileEdit, present: str | None) -> _Draft:
    """Return what an edit makes of the present text."""
    masked = mask_secrets(edit.name, present or "")
    sent, text, problems = edit.text, None, tuple[Problem, ...]()
    try:
        if edit.changes:
            sent = _apply_changes(masked.text, edit.changes)
        if sent is not None:
            text, problems = restore_secrets(edit.name, sent, masked.secrets)
    except OrchestratorError as error:
        sent, problems = masked.text, (Problem("error", edit.name, 0, None, str(error)),)
    shown = mask_secrets(edit.name, sent or "").text  # new secrets were sent as they are
    return _Draft(sent, text, problems, masked.text, format_difference(masked.text, shown))


def _apply_changes(text: str, changes: Sequence[ValueChange]) -> str:
    """Return JSON text with some parts replaced or removed.

    Raises:
        OrchestratorError: the text is not JSON, or a place cannot hold the part.
    """
    parse_json_document(text)
    for change in changes:
        try:
            if change.remove:
                text = remove_value(text, change.path)
            else:
                text = replace_value(text, change.path, change.value)
            parse_json_document(text)
            text.encode()
        except UnicodeEncodeError as error:
            where = "/".join(map(str, change.path))
            raise OrchestratorError(f"{where} has half a character; write it anew") from error
        except (IndexError, KeyError, RecursionError, ValueError) as error:
            where = "/".join(map(str, change.path))
            raise OrchestratorError(f"the file has no place {where}; read it again") from error
    return text


def _digest(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def _log_failure(text: str) -> Iterator[None]:
    """Log that no version is kept of a text that cannot be read, or of its state."""
    try:
        yield
    except (OrchestratorError, OSError) as error:
        log.warning("version_not_kept", text=text, problem=str(error))


def _is_refused(report: EditReport) -> bool:
    """Return whether an edit met another one, or has errors."""
    return report.conflict or any(one.severity == "error" for one in report.problems)
