"""The extension for chat systems in channel folders."""

from orchestrator.extension import DaemonView, Extension, Part


class ChannelFoldersExtension(Extension):
    """Runs each account of a chat system in a jailed process."""

    name = "channel_folders"

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.channel_folders.channel_folders_part import ChannelFoldersPart

        return ChannelFoldersPart(daemon)
