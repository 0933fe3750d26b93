"""The folder of the trials' clients: installed as the locks pin them, apart from what we depend on.

Its Node.js comes with it, from PyPI.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from peers import run, surroundings

ROOT = Path(__file__).resolve().parents[1]
TRIALS = ROOT / "scripts" / "client_trials"
LOCK = ROOT / ".ci" / "clients.lock"
PACKAGES = ("package.json", "package-lock.json")  # of Node.js
QUIET = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")


def current(folder: Path) -> bool:
    """Return whether what the locks pin is installed."""
    stamp = folder / "installed"
    return stamp.exists() and stamp.read_text("utf-8") == state(folder)


def state(folder: Path) -> str:
    """Return what an installation is made of."""
    files = (LOCK, *(TRIALS / name for name in PACKAGES))
    pinned = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    return f"{pinned} {folder}"


def install(folder: Path) -> None:
    """Install all clients, unless they are there.

    Raises:
        PeerError: with the last line of the failing command's output.
    """
    if current(folder):
        return
    (folder / "installed").unlink(missing_ok=True)
    python = str(folder / "bin" / "python")
    if shutil.which("uv"):
        run(
            ["uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)],
            os.environ,
        )
        command = ["uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        run([*command, "--python", python, "-r", str(LOCK)], os.environ)
    else:
        run([sys.executable, "-m", "venv", "--clear", str(folder)], os.environ)
        # Most modules are never imported; those that are get compiled then.
        command = [python, "-m", "pip", "install", *QUIET, "--no-compile", "-r", str(LOCK)]
        run(command, os.environ)
    for name in PACKAGES:
        shutil.copy(TRIALS / name, folder)
    npm = [str(folder / "bin" / "npm"), "ci", "--prefix", str(folder), "--ignore-scripts"]
    run([*npm, "--no-audit", "--no-fund", "--loglevel=error"], surroundings(folder, os.environ))
    (folder / "installed").write_text(state(folder), "utf-8")
