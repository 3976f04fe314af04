"""The vendor's own simulator, ``nki.simulate``, in a Python that has the vendor's package; nothing is emulated."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nki_anvil.backends.corpus.arguments import arguments
from nki_anvil.backends.corpus.source import Source

MISSING = "sdk.missing"


class NoVendor(Exception):
    """This Python has no ``nki``, or one without a simulator."""

    code = MISSING


def simulate(request: Mapping[str, Any]) -> Any:
    """What ``nki.simulate(kernel)`` returns. Raises NoVendor, and whatever the vendor's simulator raises."""
    nki = _nki()
    source = Source(Path(request["file"]), request["roots"])
    kernel = source.find(request["entry"])
    positional, named = arguments(source, request)
    simulated = nki.simulate(kernel[request["lnc"]] if request["lnc"] > 1 else kernel)
    return simulated(*positional, **named)


def version() -> str:
    """The vendor's version, empty where it does not say."""
    try:
        return importlib.metadata.version("nki")
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(_nki(), "__version__", ""))


def _nki() -> Any:
    try:
        nki = importlib.import_module("nki")
    except ModuleNotFoundError as error:
        raise NoVendor("this Python cannot import nki") from error
    if not hasattr(nki, "simulate"):
        raise NoVendor("its nki has no simulate, which came with SDK 2.30")
    return nki
