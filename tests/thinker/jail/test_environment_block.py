"""Secrets that a process was given in its environment."""

import os
import subprocess
import sys

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
