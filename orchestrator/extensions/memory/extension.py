"""The extension for what agents remember."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.inbound.commands import ChatCommandEntry
    from orchestrator.tools.builtin.host_tool import HostTool


class MemoryExtension(Extension):
    """Learns facts, summarizes long conversations, and finds what was said."""

    name = "memory"
    file_agent_fields = ("compaction", "factExtraction")

    def list_commands(self) -> Mapping[str, Command]:
        module = "orchestrator.extensions.memory.commands.memory"
        summary = "Show, search, correct and forget what agents remember."
        return {"memory": Command("Agents", summary, module)}

    def list_chat_commands(self) -> "Mapping[str, ChatCommandEntry]":
        from orchestrator.extensions.memory import chat_memory
        from orchestrator.inbound.commands import ChatCommandEntry

        entry = ChatCommandEntry(chat_memory.ABOUT, "talk", chat_memory.answer_memory)
        return {"memory": entry}

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.memory import conversation_tools, memory_tools, profile_tools

        return (
            memory_tools.store_fact,
            memory_tools.search_memories,
            memory_tools.list_facts,
            memory_tools.update_fact,
            memory_tools.delete_fact,
            conversation_tools.search_conversations,
            conversation_tools.read_conversation,
            profile_tools.get_profile,
            profile_tools.update_profile,
        )

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.memory.memory_part import MemoryPart

        return MemoryPart(daemon)
