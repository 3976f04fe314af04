"""Traces reach a collector, and nothing is needed where there is none."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from line_server import Server

from nki_anvil.server import telemetry

INSTALLED = importlib.util.find_spec("opentelemetry.sdk") is not None


class Collector(HTTPServer):
    """Keeps what is posted to it."""

    received: list[tuple[str, bytes]]
    came: threading.Event


class _Receiving(BaseHTTPRequestHandler):
    server: Collector  # type: ignore[assignment]

    def do_POST(self) -> None:
        self.server.received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.came.set()
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector(("127.0.0.1", 0), _Receiving)
    server.received, server.came = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(not INSTALLED, reason="OpenTelemetry is not installed here (pip install 'nki-anvil[otel]')")
def test_a_call_is_a_span_at_the_collector_that_the_environment_names(tmp_path: Path, collector: Collector):
    place = f"http://127.0.0.1:{collector.server_port}"
    server = Server(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=place, OTEL_EXPORTER_OTLP_COMPRESSION="none")
    server.call("problem_status", problem="none")
    assert collector.came.wait(30)
    server.input.close()
    assert server.process.wait(10) == 0
    server.end()
    spans = b"".join(body for path, body in collector.received if path == "/v1/traces")
    assert b"tools/call problem_status" in spans
    assert b"nki-anvil" in spans


def test_without_a_collector_nothing_is_loaded_or_sent(monkeypatch: pytest.MonkeyPatch):
    for name in telemetry.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(telemetry, "_provider", lambda: pytest.fail("it was loaded"))
    telemetry.start()()


def test_a_collector_without_the_library_is_one_warning_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def missing() -> None:
        raise ImportError

    monkeypatch.setenv(telemetry.ENDPOINTS[1], "http://127.0.0.1:9")
    monkeypatch.setattr(telemetry, "_provider", missing)
    with caplog.at_level("WARNING"):
        telemetry.start()()
    assert "nki-anvil[otel]" in caplog.text
