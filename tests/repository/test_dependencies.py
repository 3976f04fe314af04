from typing import Any

import dependencies
import pytest

UNKNOWN = {"name": "a", "version": "1", "skip_reason": "not found"}
SOUND: dict[str, Any] = {"name": "b", "version": "2", "vulns": []}
FIXABLE = {
    "name": "c",
    "version": "3",
    "vulns": [{"id": "X-1", "fix_versions": ["3.1"]}, {"id": "X-2", "fix_versions": []}],
}


def test_what_nobody_answered_about_is_not_called_sound():
    assert dependencies.summary({"dependencies": [UNKNOWN, UNKNOWN]}).startswith("NOT AUDITED")
    assert dependencies.summary({"dependencies": []}).startswith("NOT AUDITED")
    assert dependencies.summary({"dependencies": [UNKNOWN, SOUND]}).startswith("Audited 1 of 2")


@pytest.mark.parametrize(("one", "status"), [(FIXABLE, 1), (SOUND, 0), (UNKNOWN, 0)])
def test_only_a_vulnerability_with_a_fix_fails(
    one: dict[str, Any], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def asked() -> dict[str, Any]:
        return {"dependencies": [one]}

    monkeypatch.setattr(dependencies, "asked", asked)
    assert dependencies.main() == status
    assert ("c 3: X-1, fixed in 3.1" in capsys.readouterr().out) == bool(status)
