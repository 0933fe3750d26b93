from orchestrator.extensions.runtime import *  # noqa: F403 - its __all__ is the promise
