"""Traces for OpenTelemetry, where the environment names a collector: the MCP SDK makes them, this sends them away.

Needs ``nki-anvil[otel]``. Which collector, and with what headers, OTEL_EXPORTER_OTLP_* say, as for any program.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable
from typing import Any, Final

from nki_anvil.server.version import VERSION

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EVERY_MS: Final = 1000
"""A server may be ended within a second of its last call."""
FAREWELL_MS: Final = 150
"""For what is not sent yet when the server ends; clients wait about a third of a second."""

_log = logging.getLogger(__name__)


def start() -> Callable[[], None]:
    """Sends traces from now on, if a collector is named. Returns what sends the rest, and waits for it."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return lambda: None
    try:
        provider = _provider()
    except ImportError:
        _log.warning("a collector is named, but OpenTelemetry is not installed: pip install 'nki-anvil[otel]'")
        return lambda: None
    return lambda: provider.force_flush(FAREWELL_MS)


def _provider() -> Any:
    """The libraries have types of their own, but are not there for everybody who checks ours."""
    trace: Any = importlib.import_module("opentelemetry.trace")
    sdk: Any = importlib.import_module("opentelemetry.sdk.trace")
    sending: Any = importlib.import_module("opentelemetry.sdk.trace.export")
    resources: Any = importlib.import_module("opentelemetry.sdk.resources")
    otlp: Any = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    named = resources.Resource.create({"service.name": "nki-anvil", "service.version": VERSION})
    provider = sdk.TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(sending.BatchSpanProcessor(otlp.OTLPSpanExporter(), schedule_delay_millis=EVERY_MS))
    trace.set_tracer_provider(provider)
    return provider
