"""``python -m orchestrator``: the command line."""

from orchestrator.cli import main

if __name__ == "__main__":
    main()
