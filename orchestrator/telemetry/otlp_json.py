"""OTLP in JSON: values, times, and what both signals are wrapped in.

Whole numbers of 64 bits are texts, as the mapping of Protocol Buffers to JSON has it.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from orchestrator import __version__

OtlpObject: TypeAlias = dict[str, object]
Value: TypeAlias = str | int | float | Sequence[str]
SCOPE: OtlpObject = {"name": "orchestrator", "version": __version__}
LONGEST = 200  # characters of a text


def attributes(values: Mapping[str, Value | None]) -> list[OtlpObject]:
    """Return attributes; those that are None or empty are left out."""
    return [
        {"key": name, "value": _value(value)}
        for name, value in values.items()
        if value is not None and value not in ("", ())
    ]


def nanoseconds(milliseconds: float) -> str:
    return str(round(milliseconds) * 1_000_000)


def resource(service_name: str, given: Mapping[str, str]) -> OtlpObject:
    """Return what all data of this daemon come from; ``service_name`` wins over a given one."""
    known = {"service.name": "orchestrator", "service.version": __version__, **given}
    return {
        "attributes": attributes(known | ({"service.name": service_name} if service_name else {}))
    }


def _value(value: Value) -> OtlpObject:
    if isinstance(value, str):
        return {"stringValue": value[:LONGEST]}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"arrayValue": {"values": [_value(item) for item in value]}}
