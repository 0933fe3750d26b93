from orchestrator.extensions.channel_folders.testing.memory_host import *  # noqa: F403 - for types alone
