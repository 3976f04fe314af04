"""The pages and pictures in ``lab/templates``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

from nki_anvil.lab.report.axes import figure


@cache
def template(name: str) -> jinja2.Template:
    """Everything that is filled in is escaped, and a name that is missing is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parents[1] / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure
    return environment.get_template(name)
