"""Objects that forked processes share."""

import subprocess
import sys

import pytest

PROGRAM = """
import gc, os, sys
from pathlib import Path
from thinker.jail.shared_objects import share_objects

def used_pages():
    fields = (line.split() for line in open("/proc/self/smaps_rollup") if ":" in line)
    return sum(int(size) for name, size, *_ in fields if name == "Private_Dirty:")

objects = [{number} for number in range(100_000)]
texts = [str(number) for number in range(100_000)]
functions = [eval(f"lambda: {number}") for number in range(1000)]
if sys.argv[1] != "counted":
    share_objects(with_values=sys.argv[1] == "values")
fresh = [set() for _ in range(1000)]
read, write = os.pipe()
if os.fork() == 0:
    before = used_pages()
    for item in objects if sys.argv[2] == "sets" else texts:
        pass
    for function in functions:
        function.__code__
    os.write(write, str(used_pages() - before).encode())
    os._exit(0)
os.wait()
counts = {sys.getrefcount(item) for item in fresh}
held = sys.getrefcount(objects[0]) == sys.getrefcount(None)
print(os.read(read, 64).decode(), held, max(counts) < 100, objects[7] | {1})
"""


def run(mode: str, looks_at: str) -> list[str]:
    """The pages in kB that a child writes to when it looks at all objects, and what it sees."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, mode, looks_at], capture_output=True, text=True, check=True
    )
    return found.stdout.split(maxsplit=3)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="counts all references")
@pytest.mark.parametrize(("mode", "looks_at"), [("shared", "sets"), ("values", "texts")])
def test_looking_at_shared_objects_writes_to_hardly_any_page(mode: str, looks_at: str) -> None:
    """Each look changes the reference count of an object that is not shared so."""
    pages, held, counted, value = run(mode, looks_at)
    assert (held, counted, value.strip()) == ("True", "True", "{1, 7}")
    assert int(pages) < int(run("counted", looks_at)[0]) / 20
