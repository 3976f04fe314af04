"""The worker's and SSH's failures as errors that say what to do next."""

from __future__ import annotations

import shlex
from typing import Final

from nki_anvil.backends.errors import (
    BackendBusy,
    BackendDiskFull,
    BackendError,
    BackendFailed,
    BackendTimeout,
    BackendUnreachable,
    BackendUnsupported,
    HostKeyChanged,
    HostKeyRefused,
    HostKeyUnknown,
    JobExpired,
    PythonMissing,
    ResultTruncated,
    SdkMissing,
    WorkerKilled,
)
from nki_anvil.backends.ssh.hosts import Host

_TABLE: Final[dict[str, tuple[type[BackendError], str]]] = {
    "python_missing": (PythonMissing, "Install Python 3.10 or later there, or set `python` in [remote.{name}]."),
    "python_old": (PythonMissing, "Set `python` in [remote.{name}] to a newer one; `nki-anvil setup {name}` finds it."),
    "sdk_missing": (
        SdkMissing,
        "Install the Neuron SDK there or set `python` in [remote.{name}]; to use the host as a remote simulator, write "
        "simulate:{name}.",
    ),
    "no_cores": (SdkMissing, "Run `nki-anvil doctor {name}`; to use the host as a remote simulator: simulate:{name}."),
    "disk_full": (BackendDiskFull, "Free some space there, e.g. old folders under {root}, and call again."),
    "core_busy": (BackendBusy, "Call again later, add another host, or raise `lease_s` in [remote.{name}]."),
    "unsupported": (BackendUnsupported, "Run `nki-anvil doctor {name}`, which says what to install."),
    "wrong_chip": (BackendUnsupported, "Open the problem for this host's chip, or use another host."),
    "worker_killed": (WorkerKilled, "Call again; if it happens again, look at that host's memory (`dmesg`)."),
    "expired": (JobExpired, "Call again; raise `grace_s` in [remote.{name}] if the connection is often lost for long."),
    "truncated": (ResultTruncated, "Call again."),
    "too_large": (BackendFailed, "Verify at smaller shapes, or raise the limit on output bytes."),
    "timeout": (BackendTimeout, "Call again, or ask for fewer or smaller shape sets."),
    "protocol": (BackendFailed, "Run `nki-anvil setup {name}`, which installs this version's worker."),
}


def of(host: Host, code: str, message: str) -> BackendError:
    """The error for a failure that the worker names."""
    kind, remedy = _TABLE.get(code, (BackendFailed, "Call again; if it happens again, run `nki-anvil doctor {name}`."))
    text = f"{host.name}: {message.strip().rstrip('.')[:600]}."
    return kind(text, remedy.format(name=host.name, root=host.settings.root))


def split(host: Host, failure: str) -> BackendError:
    """The error for the ``failure`` of a ``run.json``: a code and a message with a colon between."""
    code, colon, message = failure.partition(": ")
    return of(host, code, message) if colon and code in _TABLE else of(host, "failed", failure)


def key_unknown(host: Host, known: bool) -> HostKeyUnknown:
    """For a host key that is not in the known hosts, or is another one there."""
    if not known:
        return HostKeyUnknown(
            f"The host key of {host.name} is not known here.", f"Accept it once by hand: {by_hand(host)}"
        )
    place = f"[{host.address}]:{host.port}" if host.port not in (None, 22) else host.address
    return HostKeyChanged(
        f"The host key of {host.name} is not the one that is known: the host was installed anew, or someone is "
        "listening in between.",
        f"If it was installed anew: ssh-keygen -R {shlex.quote(place)} and then {by_hand(host)}",
    )


def key_refused(host: Host) -> HostKeyRefused:
    return HostKeyRefused(
        f"{host.name} refused every key that was offered.",
        f"Try {by_hand(host)}, and then add your public key to its ~/.ssh/authorized_keys, or load it with ssh-add.",
    )


def unreachable(host: Host, error: object) -> BackendUnreachable:
    said = str(error).strip() or type(error).__name__
    return BackendUnreachable(f"{host.name} cannot be reached: {said.rstrip('.')}.", f"Try {by_hand(host)}")


def by_hand(host: Host) -> str:
    """The command with which a person tries the same."""
    port = ["-p", str(host.port)] if host.port else []
    config = ["-F", host.settings.config] if host.settings.config else []
    address = f"{host.user}@{host.address}" if host.user else host.address
    return shlex.join(["ssh", *config, *port, address, "true"])
