from pathlib import Path

import pytest

from nki_anvil.backends.errors import PathUnwritable
from nki_anvil.memory import filesystem
from nki_anvil.memory.store import Store

ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def mounts(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text("\n".join([ROOT, *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("kind", "found"),
    [("nfs4", "nfs4"), ("fuse.sshfs", "fuse.sshfs"), ("lustre", "lustre"), ("xfs", ""), ("tmpfs", "")],
)
def test_a_folder_is_on_the_filesystem_that_is_mounted_nearest_above_it(tmp_path: Path, kind: str, found: str):
    listed = mounts(tmp_path, f"30 22 0:40 / {tmp_path}/home rw shared:2 master:1 - {kind} server:/home rw")
    assert filesystem.network(tmp_path / "home" / "me" / "data", listed) == found
    assert filesystem.network(tmp_path / "homes", listed) == ""


def test_a_local_disk_that_is_mounted_over_a_network_is_local(tmp_path: Path):
    over = (f"30 22 0:40 / {tmp_path} rw - nfs s:/ rw", f"31 30 8:2 / {tmp_path}/a\\040disk rw - ext4 /dev/sdb rw")
    listed = mounts(tmp_path, *over)
    assert filesystem.network(tmp_path / "a disk" / "data", listed) == ""
    assert filesystem.network(tmp_path / "a", listed) == "nfs"


def test_of_two_mounts_at_one_place_the_later_one_counts(tmp_path: Path):
    both = (f"30 22 0:40 / {tmp_path} rw - ext4 /dev/sdb rw", f"31 30 0:41 / {tmp_path} rw - cifs //s/share rw")
    assert filesystem.network(tmp_path, mounts(tmp_path, *both)) == "cifs"


def test_where_nobody_says_what_is_mounted_nothing_is_refused(tmp_path: Path):
    assert filesystem.network(tmp_path, tmp_path / "none") == ""


def test_a_memory_on_a_network_filesystem_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def on_nfs(_folder: Path) -> str:
        return "nfs4"

    monkeypatch.setattr(filesystem, "network", on_nfs)
    with pytest.raises(PathUnwritable, match=r"network filesystem \(nfs4\).*NKI_ANVIL_DATA"):
        Store.open(tmp_path / "data")
    assert not (tmp_path / "data").exists()
