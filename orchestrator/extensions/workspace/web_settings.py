"""Settings that the daemon passes to the server of an agent's web access."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class WebSettings:
    """The search engine, the hosts that may be private, and the limits of one page."""

    search: str | None
    private: tuple[str, ...]
    seconds: int
    max_bytes: int

    @classmethod
    def from_json(cls, text: str) -> "WebSettings":
        values = json.loads(text)
        return cls(**{**values, "private": tuple(values["private"])})

    def to_json(self) -> str:
        return json.dumps(asdict(self))
