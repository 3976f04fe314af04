"""The version of what is installed; pyproject.toml is where it is written down."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("nki-anvil")
    except PackageNotFoundError:
        return "0+uninstalled"


VERSION = _installed()
