"""The report of a real problem in Chromium: phone and desktop, light and dark, without a word on the console."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).parents[2] / "kernels" / "rmsnorm"
ASKED = """<script>
console.log("LAID OUT " + JSON.stringify({width: innerWidth, needed: document.documentElement.scrollWidth,
  dark: matchMedia("(prefers-color-scheme: dark)").matches, pictures: document.querySelectorAll("svg").length,
  broken: [...document.images].filter(one => one.naturalWidth === 0).length, images: document.images.length}))
</script>"""


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("There is no Chromium here: the report is not looked at (Debian: apt-get install chromium).")
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the seed rmsnorm, with a rejected and a kept kernel."""
    workspace = tmp_path_factory.mktemp("workspace")
    options = ["--workspace", str(workspace), "--data", f"{workspace}-data"]

    def nki(*arguments: str, status: int = 0) -> None:
        command = [sys.executable, "-P", "-m", "nki_anvil.server.main", *options, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr

    nki("open", "seed:rmsnorm")
    for variant, status in (("wrong", 1), ("better", 0)):
        shutil.copy(KERNELS / f"{variant}.py", workspace / "kernels/rmsnorm/kernel.py")
        nki("verify", "--plan", f"the variant {variant}", status=status)
    nki("benchmark")
    nki("report")
    return workspace / ".nki-anvil/problems/rmsnorm/report.html"


def console(chromium: str, page: Path, dark: bool) -> list[str]:
    """Every line that the page puts on the console."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [chromium, *options, scheme, f"--user-data-dir={page.parent}/profile", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return re.findall(r"CONSOLE[:(]\d+\)?\] \"(.*)\", source", done.stderr)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_its_pictures_are_there_and_the_console_is_silent(
    chromium: str, report: Path, tmp_path: Path, width: int, dark: bool
):
    (tmp_path / "report.html").write_text(report.read_text() + ASKED)
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<!doctype html><iframe src="report.html" style="width:{width}px;height:900px;border:0"></iframe>'
    )
    [said] = console(chromium, frame, dark)
    seen: dict[str, Any] = json.loads(said.removeprefix("LAID OUT "))
    assert (seen["width"], seen["dark"]) == (width, dark)
    assert seen["needed"] <= width, "nothing has to be scrolled sideways"
    assert seen["pictures"] == 4, "trajectory, roofline, and two timelines"
    assert (seen["images"], seen["broken"]) == (1, 0), "the heat map"


def test_an_error_on_the_console_would_be_noticed(chromium: str, tmp_path: Path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><script>nothing()</script>")
    assert console(chromium, page, dark=False) == ["Uncaught ReferenceError: nothing is not defined"]
