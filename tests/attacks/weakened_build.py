"""Builds of the product that lack some of its defences."""

import shutil
import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "thinker")
DATA = ("config", "prompts", "skills")


class Edit(NamedTuple):
    """A change of a file: ``before``, which it has once, becomes ``after``."""

    file: str
    before: str
    after: str


def build_with(edits: Iterable[Edit], folder: Path) -> str:
    """Return a Python with a copy of the product that has these edits.

    All processes of a daemon run with the Python that runs the daemon.
    """
    product = folder / "product"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, product / name)
    for name in DATA:
        shutil.copytree(ROOT / name, product / name)
    for file, before, after in edits:
        path = product / file
        path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    lines = (str(product), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    (packages / "product.pth").write_text("\n".join(lines), "utf-8")
    return str(folder / "venv" / "bin" / "python")
