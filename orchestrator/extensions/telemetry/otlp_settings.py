"""Settings of traces and metrics, from OpenTelemetry's environment variables."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from orchestrator.errors import ConfigError
from orchestrator.settings import format_errors
from thinker.http.exchange import ConnectError

BEGINNING = "OTEL_EXPORTER_OTLP_"
EXAMPLE = "must be an address, such as http://127.0.0.1:4318"
NO_EFFECT = "{name} has no effect here; the manual's page telemetry lists what has"
HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+: [\t -~]*", re.ASCII)


def _require_web_address(text: str) -> str:
    # It loads TLS, which a daemon without an endpoint does not need.
    from thinker.http.origin import parse_address  # noqa: PLC0415 - see above

    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError(EXAMPLE)
    try:
        parse_address(text)
    except ConnectError:
        raise ValueError(EXAMPLE) from None
    return text


def parse_pairs(text: str) -> dict[str, str]:
    """Parse ``name=value,name=value``, with percent-encoded values.

    Raises:
        ValueError: the text has another form.
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not (equals and name.strip()):
            raise ValueError("must be name=value, with a comma between two of them")
        found[name.strip()] = unquote(value.strip())
    return found


def _require_attributes(text: str) -> str:
    parse_pairs(text)
    return text


def _require_headers(secret: SecretStr) -> SecretStr:
    for name, value in parse_pairs(secret.get_secret_value()).items():
        if not HEADER.fullmatch(f"{name}: {value}"):
            raise ValueError("must be headers in ASCII, as in authorization=Bearer%20TOKEN")
    return secret


WebAddress = Annotated[str, AfterValidator(_require_web_address)]


class OtlpSettings(BaseModel):
    """The settings of both signals; without an endpoint, nothing is sent."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)

    endpoint: WebAddress | None = Field(None, alias="OTEL_EXPORTER_OTLP_ENDPOINT")
    """Address of a collector; `/v1/traces` and `/v1/metrics` are added."""
    traces_endpoint: WebAddress | None = Field(None, alias="OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    """Whole address for traces; alone, traces alone are sent."""
    metrics_endpoint: WebAddress | None = Field(None, alias="OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
    """Whole address for metrics; alone, metrics alone are sent."""
    headers: Annotated[SecretStr, AfterValidator(_require_headers)] | None = Field(
        None, alias="OTEL_EXPORTER_OTLP_HEADERS"
    )
    """Headers of each request, such as `authorization=Bearer%20TOKEN`; a comma is between two."""
    timeout: int = Field(10_000, ge=1, le=600_000, alias="OTEL_EXPORTER_OTLP_TIMEOUT")
    """Milliseconds for a request as a whole."""
    compression: Literal["none", "gzip"] = Field("none", alias="OTEL_EXPORTER_OTLP_COMPRESSION")
    """Whether requests are compressed."""
    protocol: Literal["http/json"] = Field("http/json", alias="OTEL_EXPORTER_OTLP_PROTOCOL")
    """The protocol; there is no other one."""
    delay: int = Field(5000, ge=10, le=3_600_000, alias="OTEL_BSP_SCHEDULE_DELAY")
    """Milliseconds between two looks for turns that have ended."""
    interval: int = Field(60_000, ge=1000, le=86_400_000, alias="OTEL_METRIC_EXPORT_INTERVAL")
    """Milliseconds between two times that the metrics are sent."""
    service_name: str = Field("", alias="OTEL_SERVICE_NAME")
    """The `service.name` of all data; by default `orchestrator`."""
    resource: Annotated[str, AfterValidator(_require_attributes)] = Field(
        "", alias="OTEL_RESOURCE_ATTRIBUTES"
    )
    """More attributes of all data, such as `deployment.environment.name=home,host.name=box`."""

    @classmethod
    def read_environ(cls, environ: Mapping[str, str]) -> "OtlpSettings":
        """Read the variables; an empty one counts as unset.

        Without an endpoint the others are ignored: they may be for other programs.

        Raises:
            ConfigError: a variable has a value that cannot be used.
        """
        given = select_set_variables(environ)
        if not any(name.endswith("ENDPOINT") for name in given):
            return cls()
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise ConfigError("\n".join(format_errors(error))) from None

    @property
    def traces_url(self) -> str | None:
        """The address for traces."""
        return self.traces_endpoint or self._build_endpoint_url("/v1/traces")

    @property
    def metrics_url(self) -> str | None:
        """The address for metrics."""
        return self.metrics_endpoint or self._build_endpoint_url("/v1/metrics")

    @property
    def header_values(self) -> dict[str, str]:
        """The headers, keyed by name."""
        return {} if self.headers is None else parse_pairs(self.headers.get_secret_value())

    def _build_endpoint_url(self, path: str) -> str | None:
        return None if self.endpoint is None else self.endpoint.rstrip("/") + path


VARIABLES = frozenset(str(field.alias) for field in OtlpSettings.model_fields.values())


def select_set_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are set."""
    return {name: environ[name] for name in sorted(VARIABLES) if environ.get(name)}


def list_unread_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each similar variable that is not read."""
    unread = sorted(name for name in environ if name.startswith(BEGINNING) and environ[name])
    return tuple(NO_EFFECT.format(name=name) for name in unread if name not in VARIABLES)
