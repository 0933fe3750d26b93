"""The extension that reads documents."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from orchestrator.extension import Extension, Finding
from orchestrator.extras import explain_missing

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.control.protocol import StatusReport
    from orchestrator.document_text import DocumentReader
    from orchestrator.findings import JailKind
    from orchestrator.settings import Settings

PARSER = ("kreuzberg",)


class DocumentsExtension(Extension):
    """Extracts the text of PDF and office files."""

    name = "documents"

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterator[Finding]:
        del settings, file, status
        missing = explain_missing(PARSER, self.name)
        if missing:
            yield Finding("documents", f"PDF and office files are not read: {missing}")
        else:
            yield Finding("documents", "PDF and office files are read")

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        if explain_missing(PARSER, self.name):
            return ()
        from orchestrator.extensions.documents.document_jail import JAIL_KINDS

        return JAIL_KINDS

    def build_document_reader(self) -> "DocumentReader":
        from orchestrator.extensions.documents.jailed_reader import JailedReader

        return JailedReader()
