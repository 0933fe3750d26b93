"""The memory, folders and descriptors of a process that waits for the answer to a call."""

import ctypes
import errno
import os

AT_FDCWD = -100
OWN_DESCRIPTORS = ("/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/")
MAX_PATH = 4096  # bytes of a path
MAX_ADDRESS = 1 << 63


class JailedCaller:
    """Reads what belongs to a waiting thread; results count only while it still waits."""

    def __init__(self, thread: int) -> None:
        self._place = f"/proc/{thread}"

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of the caller's memory, up to the first unmapped one."""
        memory = os.open(f"{self._place}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(memory, size, address) if address < MAX_ADDRESS else b""
        except OSError as error:
            raise OSError(errno.EFAULT, "no memory there") from error
        finally:
            os.close(memory)

    def read_whole(self, address: int, size: int) -> bytes:
        """Return exactly ``size`` bytes of the caller's memory."""
        data = self.read_memory(address, size) if size else b""
        if len(data) < size:
            raise OSError(errno.EFAULT, "no memory there")
        return data

    def read_text(self, address: int) -> str:
        """Return a string in the caller's memory, such as a path."""
        data = b""
        while b"\0" not in data and len(data) < MAX_PATH:
            room = MAX_PATH - address % MAX_PATH  # to the end of the page
            part = self.read_whole(address, room)
            data, address = data + part, address + room
        text, ended, _ = data.partition(b"\0")
        if not ended or len(text) >= MAX_PATH:
            raise OSError(errno.ENAMETOOLONG, "the text is too long")
        return os.fsdecode(text)

    def open_path(self, at: int, path: str | None, *, follow: bool = True) -> int:
        """Return a handle (O_PATH) of the file at a path below a descriptor of the caller.

        Without a path, return a handle of the descriptor's own file.
        """
        folder = "cwd" if at == AT_FDCWD else f"fd/{at}"
        if path is None:
            return self._open_descriptor(folder)
        if not path:
            raise FileNotFoundError(errno.ENOENT, "no path")
        if not os.path.samestat(os.stat(f"{self._place}/root"), os.stat("/")):  # noqa: PTH116 - text
            raise PermissionError(errno.EPERM, "its paths lead elsewhere")
        for prefix in OWN_DESCRIPTORS:  # as libraries name a file that they hold open
            if path.startswith(prefix):
                path = f"{self._place}/fd/{path.removeprefix(prefix)}"
        flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        if path.startswith("/"):
            return os.open(path, flags)
        below = self._open_descriptor(folder)
        try:
            return os.open(path, flags, dir_fd=below)
        finally:
            os.close(below)

    def _open_descriptor(self, name: str) -> int:
        try:
            return os.open(f"{self._place}/{name}", os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise OSError(errno.EBADF, "no such descriptor") from error

    def read_flags(self, descriptor: int) -> int:
        """Return the flags of a descriptor, which must be a socket."""
        if not os.readlink(f"{self._place}/fd/{descriptor}").startswith("socket:"):  # noqa: PTH115 - no path
            raise OSError(errno.ENOTSOCK, "not a socket")
        with open(f"{self._place}/fdinfo/{descriptor}", encoding="ascii") as lines:  # noqa: PTH123 - light
            for line in lines:
                name, _, value = line.partition(":")
                if name == "flags":
                    return int(value, 8)
        return 0


def convert_to_signed(value: int) -> int:
    """Convert an argument to the signed 32 bits that the kernel reads."""
    return ctypes.c_int32(value & 0xFFFFFFFF).value
