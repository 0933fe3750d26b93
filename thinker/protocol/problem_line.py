"""The line in which people read a problem of a file."""


def format_problem(severity: str, file: str, line: int, message: str) -> str:
    """Format a problem of a file: ``agents.json:12: agent 'work' has no model``."""
    where = f"{file}:{line}" if line else file
    return f"{where}: {'warning: ' if severity == 'warning' else ''}{message}"
