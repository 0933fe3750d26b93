"""Changes of files by a jailed process: those in its folder are made, others are refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

# A thread that began before the jail is outside of it, and can answer.
JAILED = """
import ctypes, errno, json, os, struct, sys, threading
from orchestrator.jail_broker.answered_calls import AnsweredCalls, send_listener
from thinker.jail import kernel, seccomp

folder, outside = sys.argv[1:3]
calls = AnsweredCalls([folder], ownership=sys.argv[3] == "server")
calls.start()
os.chdir(folder)
send_listener(calls.inside, connections=False)

def call(name, *arguments):
    for number in seccomp.list_call_numbers([name]):
        kernel.syscall(number, *arguments)

def at(data):
    kept.append(ctypes.create_string_buffer(data))
    return ctypes.addressof(kept[-1])

def tried(attempt):
    try:
        return attempt() or "done"
    except OSError as error:
        return errno.errorcode[error.errno]

kept, found = [], {}
"""
EVERY_CALL = """
def attempts(path):
    name, link = at(path.encode()), f"{path}.link"
    fd = os.open(path, os.O_RDONLY)
    below = os.open(os.path.dirname(path), os.O_RDONLY)
    base, here = os.path.basename(path), at(os.path.basename(path).encode())
    user, group = os.getuid(), os.getgid()
    seconds, pairs = at(struct.pack("2q", 5, 6)), at(struct.pack("4q", 7, 8, 9, 10))
    yield "chmod", lambda: os.chmod(path, 0o640)
    yield "chmod by a link", lambda: os.chmod(link, 0o640)
    yield "fchmod", lambda: os.fchmod(fd, 0o640)
    yield "fchmodat", lambda: os.chmod(base, 0o640, dir_fd=below)
    yield "fchmodat2", lambda: call("fchmodat2", below, here, 0o640, 0)
    yield "fchmodat2 without a path", lambda: call("fchmodat2", fd, at(b""), 0o640, 0x1000)
    yield "chmod of a descriptor", lambda: os.chmod(f"/proc/self/fd/{fd}", 0o640)
    yield "chown", lambda: os.chown(path, user, group)
    yield "lchown", lambda: os.lchown(link, user, group)
    yield "fchown", lambda: os.fchown(fd, user, -1)
    yield "fchownat", lambda: os.chown(base, user, group, dir_fd=below)
    yield "utime", lambda: call("utime", name, seconds)
    yield "utimes", lambda: call("utimes", name, pairs)
    yield "futimesat", lambda: call("futimesat", below, here, pairs)
    yield "futimens", lambda: os.utime(fd, ns=(1, 2))
    yield "utimensat of a link", lambda: os.utime(link, ns=(5, 6), follow_symlinks=False)
    yield "utimensat to now", lambda: os.utime(path)
    yield "utimensat", lambda: os.utime(path, ns=(3, 4))
    yield "setxattr", lambda: os.setxattr(path, "user.a", b"b")
    yield "fsetxattr", lambda: os.setxattr(fd, "user.a", b"b")
    yield "removexattr", lambda: os.removexattr(path, "user.a")
    yield "lsetxattr", lambda: os.setxattr(path, "user.a", b"c", follow_symlinks=False)
    yield "fremovexattr", lambda: os.removexattr(fd, "user.a")

for key, path in (("inside", f"{folder}/file"), ("outside", f"{outside}/file")):
    found[key] = {name: tried(attempt) for name, attempt in attempts(path)}
print(json.dumps(found))
"""
WRONG = """
for name in ("chmod", "fchmodat", "fchmodat2", "utimensat", "setxattr"):
    for address in (0, 1, -1, -(1 << 63)):
        found[f"{name} {address}"] = tried(lambda: call(name, address, address, address, 0))
found["fchmod"] = tried(lambda: os.fchmod(999, 0o600))
found["a missing file"] = tried(lambda: os.chmod("missing", 0o600))
found["a file as a folder"] = tried(lambda: os.chmod("file/x", 0o600))
found["a long path"] = tried(lambda: os.chmod("x" * 5000, 0o600))
found["a pipe"] = tried(lambda: os.fchmod(os.pipe()[0], 0o600))
found["a link"] = tried(lambda: call("fchmodat2", -100, at(b"file.link"), 0o600, 0x100))
found["unknown flags"] = tried(lambda: call("fchmodat2", -100, at(b"file"), 0o600, 0x800))
found["newer"] = tried(lambda: call("setxattrat", -100, at(b"file"), 0, at(b"user.a"), 0, 0))
found["still"] = tried(lambda: os.chmod("file", 0o600))
print(json.dumps(found))
"""
RACE = """
path = ctypes.create_string_buffer(f"{outside}/file".encode() + bytes(99))
inside = f"{folder}/file".encode() + bytes(99)
away = path.raw
number = seccomp.list_call_numbers(["chmod"])[0] if kernel.MACHINE == kernel.X86_64 else 0
ended = threading.Event()

def swap():
    while not ended.is_set():
        ctypes.memmove(path, inside[:90], 90)
        ctypes.memmove(path, away[:90], 90)

swapping = threading.Thread(target=swap)
swapping.start()
results = []
for _ in range(400):
    os.symlink(f"{outside}/file", "swapped")
    mover = threading.Thread(target=lambda: os.replace("good", "swapped"))
    os.symlink(f"{folder}/file", "good")
    mover.start()
    results.append(tried(lambda: os.chmod("swapped", 0o606)))
    if number:
        results.append(tried(lambda: kernel.syscall(number, ctypes.addressof(path), 0o606)))
    mover.join()
    os.unlink("swapped")
ended.set()
swapping.join()
print(json.dumps(sorted(set(results))))
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A folder that may be changed, and one beside it, each with a file and a link to it."""
    for name in ("inside", "outside"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "file").write_text("x", "utf-8")
        (folder / "file").chmod(0o604)
        (folder / "file.link").symlink_to(folder / "file")
    return tmp_path / "inside", tmp_path / "outside"


def told(code: str, places: tuple[Path, Path], kind: str = "server") -> object:
    """What jailed code prints."""
    argv = [sys.executable, "-c", JAILED + code, *map(str, places), kind]
    ran = subprocess.run(argv, capture_output=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr.decode()
    return json.loads(ran.stdout)


def test_server_changes_what_is_in_its_folder_and_nothing_else(
    places: tuple[Path, Path],
) -> None:
    """By each call that the kernel has, by path, link, folder and descriptor."""
    found = told(EVERY_CALL, places)
    assert isinstance(found, dict)
    xattrs = found["inside"]["setxattr"] != "ENOTSUP"  # the file system has them
    for key, result in found["inside"].items():
        assert result == "done" or (not xattrs and "xattr" in key), key
    absent = {"utime", "utimes", "futimesat"} if os.uname().machine != "x86_64" else set()
    refused = {key for key, result in found["outside"].items() if result == "EPERM"}
    assert refused | absent == set(found["outside"])
    inside, outside = (place / "file" for place in places)
    assert (inside.stat().st_mode & 0o777, outside.stat().st_mode & 0o777) == (0o640, 0o604)
    assert (inside.stat().st_atime_ns, inside.stat().st_mtime_ns) == (3, 4)
    assert inside.with_name("file.link").lstat().st_mtime_ns == 6
    assert outside.stat().st_mtime_ns > 4


def test_command_changes_no_owners_and_attributes(places: tuple[Path, Path]) -> None:
    """Its own owner may be set wherever it is, as that changes nothing."""
    found = told(EVERY_CALL, places, "command")
    assert isinstance(found, dict)
    for results in found.values():
        assert {result for key, result in results.items() if "xattr" in key} == {"ENOTSUP"}
        assert {result for key, result in results.items() if "chown" in key} == {"done"}
    assert found["inside"]["chmod"] == found["inside"]["utimensat"] == "done"
    assert found["outside"]["chmod"] == found["outside"]["utimensat"] == "EPERM"


def test_wrong_arguments_get_an_error_and_no_more(places: tuple[Path, Path]) -> None:
    """The process that answers goes on, whatever it is asked."""
    found = told(WRONG, places)
    assert isinstance(found, dict)
    assert found.pop("still") == "done"
    assert {found[key] for key in found if key.split()[-1].lstrip("-").isdigit()} <= {
        *("EFAULT", "EBADF", "EINVAL", "ENOTDIR", "EPERM"),
        *(() if os.uname().machine == "x86_64" else ("done",)),
    }
    rest = {key: result for key, result in found.items() if not key[-1].isdigit()}
    assert rest == {
        "fchmod": "EBADF",
        "a missing file": "ENOENT",
        "a file as a folder": "ENOTDIR",
        "a long path": "ENAMETOOLONG",
        "a pipe": "EPERM",
        "a link": "ENOTSUP",
        "unknown flags": "EINVAL",
        "newer": "ENOSYS",
    }


def test_path_that_changes_meanwhile_leads_nowhere_else(places: tuple[Path, Path]) -> None:
    """Whether its text in memory changes or a link on its way."""
    assert set(told(RACE, places)) <= {"done", "EPERM", "ENOENT"}  # type: ignore[call-overload]
    assert (places[1] / "file").stat().st_mode & 0o777 == 0o604
