"""Secrets that a process was given in its environment."""

import os
import subprocess
import sys

from fakes.inspection import holds, looks_inside

SECRETS = {"GROQ_API_KEY": "gsk-4711", "PLAIN": "plain-4712", "MY_password": "pass-4713"}
PROGRAM = """
import os, subprocess, sys
from thinker.jail.environment_block import take_secrets
taken = take_secrets(["PLAIN", "MISSING"])
shown = open("/proc/self/environ", "rb").read()
child = subprocess.run(["env"], capture_output=True).stdout
for name, value in zip(sys.argv[1::2], sys.argv[2::2]):
    assert taken[name] == value
    assert name not in os.environ
    assert value.encode() not in shown + child
assert b"KEPT=kept" in shown and os.environ["KEPT"] == "kept" and b"KEPT=kept" in child
"""

ERASING = """
import os
from thinker.jail.environment_block import erase_environment
print("whole", flush=True)
input()
erase_environment()
print("erased", flush=True)
input()
left = dict(os.environ)
os.environ["NEW"] = "new"
print(bytes([49]), left, dict(os.environ))
"""


def test_secrets_are_handed_over_and_gone_from_the_process() -> None:
    """Neither /proc nor a child that it starts shows them; other variables stay."""
    pairs = [text for pair in SECRETS.items() for text in pair]
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, *pairs],
        env={**os.environ, **SECRETS, "KEPT": "kept"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@looks_inside
def test_erased_environment_is_nowhere_in_memory() -> None:
    """Neither where the kernel put it nor where Python keeps it; texts of one byte stay."""
    ended = subprocess.Popen(
        [sys.executable, "-P", "-c", ERASING],
        env={**SECRETS, "ONE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert ended.stdout is not None
    found = {}
    for wanted in ("whole", "erased"):
        assert ended.stdout.readline() == f"{wanted}\n"
        found[wanted] = [value for value in SECRETS.values() if holds(ended.pid, value)]
        assert ended.stdin is not None
        ended.stdin.write("\n")
        ended.stdin.flush()
    assert found == {"whole": [*SECRETS.values()], "erased": []}
    assert ended.communicate()[0] == "b'1' {} {'NEW': 'new'}\n"
    assert ended.returncode == 0
