"""The parts of the machine that every command may read: programs and libraries, no one's data."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
# Of /etc only what programs need to run: the rest may hold keys and passwords. Whole names, since
# a jail that does not list a folder finds nothing there for a pattern.
NAMES = """
alternatives ca-certificates ca-certificates.conf crypto-policies fonts
debian_version dictionaries-common gai.conf ghostscript group host.conf
hostname hosts inputrc ld.so.cache ld.so.conf ld.so.conf.d libreoffice
locale.alias locale.conf locale.gen localtime lsb-release magic
magic.mime mailcap mime.types nsswitch.conf os-release paperspecs
papersize passwd perl pki/ca-trust pki/tls/cert.pem pki/tls/certs
protocols resolv.conf rpc services shells ssl/cert.pem ssl/certs
ssl/openssl.cnf terminfo texmf timezone xml ImageMagick-6 ImageMagick-7
"""
CONFIGURATION = (
    *NAMES.split(),
    "java",
    *(f"java-{version}-openjdk" for version in (8, 11, 17, 21, 25)),
    "python3",
    *(f"python3.{version}" for version in range(9, 16)),
)
RESOLVED = tuple(f"/run/systemd/resolve/{name}resolv.conf" for name in ("", "stub-"))
CACHES = ("/var/cache/fontconfig", "/var/lib/texmf", *RESOLVED)
KERNEL = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/version")
KERNEL_FOLDERS = ("/proc/sys/kernel", "/proc/sys/vm", "/sys/devices/system/cpu")
SEARCH_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")


def list_program_folders() -> list[str]:
    """Return the folders of programs and libraries, with this Python's."""
    return _resolve_existing((*PROGRAMS, sys.base_prefix, sys.base_exec_prefix))


def list_code_folders() -> list[str]:
    """Return the folders from which this process itself loads code."""
    # The whole folder, because Python lists it to find packages in it.
    return _resolve_existing((str(Path(__file__).parents[3]), sys.prefix, *filter(None, sys.path)))


def list_configuration_files() -> list[str]:
    """Return the other files that commands may read."""
    return _resolve_existing(
        (*(f"/etc/{name}" for name in CONFIGURATION), *CACHES, *KERNEL, *KERNEL_FOLDERS)
    )


def build_search_path(home: str, programs: str = "") -> str:
    """Return the PATH of commands: programs of the agent, of the system and of this Python.

    ``programs`` is where the operator installed some for all chats of the agent.
    """
    own = os.path.join(home, ".local", "bin")  # noqa: PTH118 - text for the environment
    shared = [f"{programs}/bin"] if programs else []
    return ":".join([own, *shared, *SEARCH_PATH, f"{sys.base_prefix}/bin"])


def find_shell() -> str:
    """Return bash if it exists, since scripts often need it, or else sh."""
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


def _resolve_existing(paths: Iterable[str]) -> list[str]:
    return sorted({os.path.realpath(path) for path in paths if os.path.exists(path)})  # noqa: PTH110
