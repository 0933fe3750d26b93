from orchestrator.extensions.channel_folders.testing.channel_tests import *  # noqa: F403 - for types alone
