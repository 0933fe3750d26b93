"""OTLP in JSON: values, times, and the envelope of both signals.

64-bit integers are strings, as in the JSON mapping of Protocol Buffers.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from orchestrator import __version__

OtlpObject: TypeAlias = dict[str, object]
Value: TypeAlias = str | int | float | Sequence[str]
SCOPE: OtlpObject = {"name": "orchestrator", "version": __version__}
MAX_CHARACTERS = 200  # of a text


def build_attributes(values: Mapping[str, Value | None]) -> list[OtlpObject]:
    """Build attributes, omitting None and empty values."""
    return [
        {"key": name, "value": _build_value(value)}
        for name, value in values.items()
        if value is not None and value not in ("", ())
    ]


def format_nanoseconds(milliseconds: float) -> str:
    return str(round(milliseconds) * 1_000_000)


def build_resource(service_name: str, given: Mapping[str, str]) -> OtlpObject:
    """Build the resource of this daemon's data; ``service_name`` wins over a given attribute."""
    known = {"service.name": "orchestrator", "service.version": __version__, **given}
    return {
        "attributes": build_attributes(
            known | ({"service.name": service_name} if service_name else {})
        )
    }


def _build_value(value: Value) -> OtlpObject:
    if isinstance(value, str):
        return {"stringValue": value[:MAX_CHARACTERS]}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"arrayValue": {"values": [_build_value(item) for item in value]}}
