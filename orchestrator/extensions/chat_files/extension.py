"""The extension for a chat's files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Extension

if TYPE_CHECKING:
    from orchestrator.tools.builtin.host_tool import HostTool


class ChatFilesExtension(Extension):
    """Lets agents list, read and send the files of their chats."""

    name = "chat_files"

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.chat_files import attachment_tools

        return (
            attachment_tools.list_files,
            attachment_tools.read_attachment,
            attachment_tools.send_file,
        )
