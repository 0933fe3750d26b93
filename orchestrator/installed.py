"""Find the installed extensions: bundled ones and those of other distributions.

Where: are extensions found?
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from inspect import isfunction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from orchestrator.errors import FAULTS, describe_fault

GROUP = "orchestrator.extensions"  # of entry points
BASE = "orchestrator.extension.Extension"
OWN = "orchestrator.extensions."  # begins the modules of bundled extensions
MANIFEST = "channel.json"
Loaded: TypeAlias = Any  # an `Extension`, which names types of all that stands above this module


class InstalledExtensions(NamedTuple):
    """Extensions keyed by name: bundled, third-party, and the folders of channels.

    ``broken`` has the reason for each one that cannot be loaded.
    """

    own: Mapping[str, Loaded]
    foreign: Mapping[str, Loaded]
    channels: Mapping[str, Path]
    broken: Mapping[str, str]

    def every(self) -> Iterator[Loaded]:
        """Yield all extensions, bundled ones first."""
        yield from self.own.values()
        yield from self.foreign.values()


@cache
def find_channels() -> Mapping[str, Path]:
    """Return the folders of channels, keyed by name, importing none of their modules."""
    points = (point for point in _list_entry_points() if ":" not in point.value)
    found = {point.name: _find_folder(point) for point in points}
    return MappingProxyType({name: folder for name, folder in found.items() if folder is not None})


@cache
def find_installed() -> InstalledExtensions:
    """Return the extensions that entry points name, without those that cannot be loaded.

    A folder that was deleted below `orchestrator/extensions` is simply not there.
    """
    own: dict[str, Loaded] = {}
    foreign: dict[str, Loaded] = {}
    channels = find_channels()
    broken: dict[str, str] = {}
    for point in _list_entry_points():
        ours = _is_own(point)
        if ":" not in point.value:  # a package alone, as of a channel
            if point.name not in channels and not ours:
                broken[point.name] = f"the package {point.value} has no {MANIFEST}"
            continue
        try:
            found = _load(point)
        except ModuleNotFoundError as error:
            if ours and (error.name or "").startswith(OWN):
                continue
            broken[point.name] = str(error)
        except FAULTS as error:
            broken[point.name] = describe_fault(error)
        else:
            (own if ours else foreign)[point.name] = found
    return InstalledExtensions(
        own=MappingProxyType(own),
        foreign=MappingProxyType(foreign),
        channels=channels,
        broken=MappingProxyType(broken),
    )


def find_channel_module(name: str) -> str:
    """Return the name of the module for a chat system: ``<package>.<name>_channel``.

    Raises:
        ModuleNotFoundError: its package is not installed any more.
    """
    for point in _list_entry_points():
        if point.name == name:
            return f"{point.module}.{name}_channel"
    raise ModuleNotFoundError(f"the package of channel {name!r} is no longer installed")


@cache  # finding them reads the metadata of every distribution: 15 ms
def _list_entry_points() -> tuple[EntryPoint, ...]:
    """Return one entry point for each name; bundled ones win over others of the same name."""
    points = sorted(entry_points(group=GROUP), key=_is_own)
    found = {point.name: point for point in points}
    return tuple(found[name] for name in sorted(found))


def _is_own(point: EntryPoint) -> bool:
    return point.value.startswith(OWN)


def _load(point: EntryPoint) -> Loaded:
    """Make an extension; a third-party one gets the name of its entry point.

    Raises:
        TypeError: the entry point does not name an extension, or the class has an unknown method.
    """
    kind = point.load()
    bases = kind.__mro__ if isinstance(kind, type) else ()
    base = next((one for one in bases if f"{one.__module__}.{one.__qualname__}" == BASE), None)
    if base is None:
        raise TypeError(f"{point.value} is not a subclass of {BASE}")
    if unknown := list_unknown_methods(kind, base):
        advice = "correct its name, or begin it with an underscore"
        raise TypeError(f"{point.value} defines {unknown[0]!r}, which {BASE} has not; {advice}")
    if getattr(kind, "name", point.name) != point.name:
        raise TypeError(
            f"{point.value} is called {kind.name!r}, and its entry point {point.name!r}"
        )
    made = kind()
    made.name = point.name
    return made


def list_unknown_methods(kind: type, base: type) -> list[str]:
    """Return the public methods of a subclass that ``base`` lacks, such as misspelled ones."""
    classes = (one for one in kind.__mro__ if issubclass(one, base))
    methods = {name for one in classes for name, value in vars(one).items() if isfunction(value)}
    return sorted(name for name in methods if not (name.startswith("_") or hasattr(base, name)))


def _find_folder(point: EntryPoint) -> Path | None:
    """Return the folder of a channel's package without importing it."""
    parent, _, _ = point.value.rpartition(".")
    if parent.startswith(OWN.rstrip(".")):
        folder = Path(__file__).parent.joinpath(*point.value.split(".")[1:])
        return folder if (folder / MANIFEST).is_file() else None
    try:
        spec = find_spec(point.module)
    except (Exception, SystemExit):  # noqa: BLE001 - packages above it are imported
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(place) / MANIFEST).is_file():
            return Path(place)
    return None


def list_shipped() -> Mapping[str, bool]:
    """Return the names of everything in this distribution, and whether each is a channel.

    Deleted folders are included.
    """
    return {point.name: ":" not in point.value for point in _list_entry_points() if _is_own(point)}


def list_names() -> frozenset[str]:
    """Return the names of all installed extensions and channels."""
    found = find_installed()
    return frozenset((*found.own, *found.foreign, *found.channels))
