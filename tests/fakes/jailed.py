"""Python processes that jail themselves and then try things."""

import json
import subprocess
import sys
from collections.abc import Mapping

PROGRAM = """
import ctypes, errno, json, os, signal, socket, sys, threading
jail, tries = json.loads(sys.argv[1])
scope = dict(globals())
exec(jail, scope)
found = {}
for name, code in tries.items():
    try:
        exec(code, scope)
        found[name] = "done"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
print(json.dumps(found))
"""


def outcomes(jail: str, tries: Mapping[str, str]) -> dict[str, str]:
    """Run code that jails a new process, then each try; return "done" or the error's name."""
    argv = [sys.executable, "-P", "-c", PROGRAM, json.dumps([jail, dict(tries)])]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout)
    return found
