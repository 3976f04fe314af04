"""What was exchanged with a host, counted where it is sent and received."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Traffic:
    connections: int = 0
    commands: int = 0
    jobs: int = 0
    """Commands that carried a job."""
    workers_sent: int = 0
    inputs_sent: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
