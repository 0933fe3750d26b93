"""What an installation without extras consists of, and such an environment made without network."""

import os
import shutil
import sys
import sysconfig
import tomllib
import venv
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def bring(text: str) -> frozenset[str]:
    """The distributions that a requirement installs."""
    wanted = Requirement(text)
    return _bring_all(wanted.name, tuple(sorted(wanted.extras)))


@cache
def _bring_all(name: str, extras: tuple[str, ...]) -> frozenset[str]:
    if name == PROJECT["name"]:
        return frozenset().union(*(bring(one) for extra in extras for one in EXTRAS[extra]))
    found: set[str] = {canonicalize_name(name)}
    for line in metadata.requires(name) or ():
        marker = Requirement(line).marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or ("",)):
            found |= bring(line.partition(";")[0])
    return frozenset(found)


def make_environment(folder: Path) -> Path:
    """Make an environment with pip, the dependencies and the build backend; return its programs.

    Their files are those of the environment of the tests, which has everything else too.
    """
    venv.create(folder, with_pip=True)
    ours = Path(sysconfig.get_path("purelib"))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    theirs = folder / "lib" / version / "site-packages"
    wanted = (*PROJECT["dependencies"], *PYPROJECT["build-system"]["requires"])
    for name in frozenset[str]().union(*map(bring, wanted)):
        files = metadata.distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if (ours / top).is_dir():
                shutil.copytree(ours / top, theirs / top, copy_function=_link, dirs_exist_ok=True)
            else:
                _link(str(ours / top), str(theirs / top))
    return folder / "bin"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        pass  # two distributions share a folder
    except OSError:
        shutil.copyfile(source, target)
