"""The variables that OpenTelemetry defines, right and wrong."""

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.telemetry.otlp_settings import (
    VARIABLES,
    OtlpSettings,
    list_unread_variables,
    select_set_variables,
)

AT = "OTEL_EXPORTER_OTLP_ENDPOINT"
OTLP = "OTEL_EXPORTER_OTLP_"


def test_nothing_is_sent_without_an_address() -> None:
    """An empty variable counts as not set, and wrong ones for other programs do not matter."""
    for environ in ({}, {AT: ""}, {f"{OTLP}PROTOCOL": "grpc", f"{OTLP}TIMEOUT": "soon"}):
        settings = OtlpSettings.read_environ(environ)
        assert (settings.traces_url, settings.metrics_url) == (None, None)


@pytest.mark.parametrize(
    ("environ", "traces", "metrics"),
    [
        ({AT: "http://c:4318"}, "http://c:4318/v1/traces", "http://c:4318/v1/metrics"),
        ({AT: "https://c/otlp/"}, "https://c/otlp/v1/traces", "https://c/otlp/v1/metrics"),
        ({f"{OTLP}TRACES_ENDPOINT": "http://c/t"}, "http://c/t", None),
        ({f"{OTLP}METRICS_ENDPOINT": "http://c/m"}, None, "http://c/m"),
        (
            {AT: "http://c", f"{OTLP}METRICS_ENDPOINT": "http://d/api/v1/otlp/v1/metrics"},
            *("http://c/v1/traces", "http://d/api/v1/otlp/v1/metrics"),
        ),
    ],
)
def test_addresses_follow_the_specification(
    environ: dict[str, str], traces: str | None, metrics: str | None
) -> None:
    """A signal's own address stands as it is; one alone sends this signal alone."""
    settings = OtlpSettings.read_environ(environ)
    assert (settings.traces_url, settings.metrics_url) == (traces, metrics)


def test_every_variable_is_read() -> None:
    """By its name; the headers are shown nowhere."""
    given = {
        AT: "http://c",
        f"{OTLP}TRACES_ENDPOINT": "http://c/t",
        f"{OTLP}METRICS_ENDPOINT": "http://c/m",
        f"{OTLP}HEADERS": "authorization=Bearer%20canary, x-tenant = 7",
        f"{OTLP}TIMEOUT": "2500",
        f"{OTLP}COMPRESSION": "gzip",
        f"{OTLP}PROTOCOL": "http/json",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_METRIC_EXPORT_INTERVAL": "1500",
        "OTEL_SERVICE_NAME": "bots",
        "OTEL_RESOURCE_ATTRIBUTES": "host.name=box,deployment.environment.name=home",
    }
    assert given.keys() == VARIABLES
    settings = OtlpSettings.read_environ({**given, "PATH": "/bin"})
    assert (settings.timeout, settings.compression, settings.delay) == (2500, "gzip", 100)
    assert (settings.interval, settings.service_name) == (1500, "bots")
    assert settings.header_values == {"authorization": "Bearer canary", "x-tenant": "7"}
    assert "canary" not in repr(settings)
    assert select_set_variables({**given, "PATH": "/bin"}) == given


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (AT, "collector:4318", "must be an address, such as http://127.0.0.1:4318"),
        (AT, "grpc://c:4317", "must be an address, such as http://127.0.0.1:4318"),
        (AT, "http://", "must be an address, such as http://127.0.0.1:4318"),
        (AT, "http://c:99999", "must be an address, such as http://127.0.0.1:4318"),
        (AT, "http://a..b", "must be an address, such as http://127.0.0.1:4318"),
        (AT, "http://c\x1b", "must be an address, such as http://127.0.0.1:4318"),
        (AT, "http://c d", "must be an address, such as http://127.0.0.1:4318"),
        (f"{OTLP}TRACES_ENDPOINT", "/v1/traces", "must be an address, such as"),
        (f"{OTLP}METRICS_ENDPOINT", "metrics", "must be an address, such as"),
        (f"{OTLP}HEADERS", "canary", "must be name=value, with a comma between two of them"),
        (f"{OTLP}HEADERS", "=canary", "must be name=value, with a comma between two of them"),
        (f"{OTLP}HEADERS", "a b=canary", "must be headers in ASCII"),
        (f"{OTLP}HEADERS", "a=canary%0D%0Ab: c", "must be headers in ASCII"),
        (f"{OTLP}HEADERS", "a=canary%C3%A9", "must be headers in ASCII"),
        (f"{OTLP}TIMEOUT", "10s", "must be a whole number"),
        (f"{OTLP}TIMEOUT", "0", "must be greater than or equal to 1"),
        (f"{OTLP}COMPRESSION", "zstd", "must be 'none' or 'gzip', not 'zstd'"),
        (f"{OTLP}PROTOCOL", "grpc", "must be 'http/json', not 'grpc'"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-1", "must be greater than or equal to 10"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1", "must be greater than or equal to 1000"),
        ("OTEL_RESOURCE_ATTRIBUTES", "home", "must be name=value, with a comma between two"),
    ],
)
def test_unusable_value_is_refused_by_its_variables_name(
    name: str, value: str, sentence: str
) -> None:
    """With what to write, and without what may be a secret."""
    with pytest.raises(ConfigError) as caught:
        OtlpSettings.read_environ({AT: "http://c", name: value})
    assert str(caught.value).startswith(f"{name}: {sentence}")
    assert "canary" not in str(caught.value)


def test_variables_that_others_know_are_told() -> None:
    """Also one with a slip in its name."""
    environ = {
        AT: "http://c",
        f"{OTLP}CERTIFICATE": "/c.pem",
        f"{OTLP}ENDPIONT": "x",
        "OTEL_X": "1",
    }
    assert list_unread_variables(environ) == tuple(
        f"{OTLP}{name} has no effect here; the manual's page telemetry lists what has"
        for name in ("CERTIFICATE", "ENDPIONT")
    )
    assert list_unread_variables({f"{OTLP}INSECURE": ""}) == ()
