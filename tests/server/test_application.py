"""The server as it introduces itself."""

import gc

import pytest
from lab_world import World
from served import served

from nki_anvil.server.application import settle
from nki_anvil.server.instructions import INSTRUCTIONS
from nki_anvil.server.version import VERSION
from nki_anvil.tools.catalogue import TOOLS

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_introduces_itself_with_name_version_and_instructions(world: World, mode: str):
    async with served(world, mode) as client:  # type: ignore[arg-type]
        assert client.server_info is not None
        assert client.server_info.name == "nki-anvil"
        assert client.server_info.version == VERSION
        assert client.instructions == INSTRUCTIONS
        assert len((await client.list_tools()).tools) == len(TOOLS)


async def test_what_was_loaded_is_not_looked_at_by_every_full_collection(world: World):
    settle.cache_clear()  # of other tests' servers
    gc.unfreeze()
    gc.freeze()  # as at the start over stdio, before anything is loaded
    early = gc.get_freeze_count()
    loaded: list[list[int]] = [[] for _ in range(1000)]
    async with served(world) as client:
        await client.list_tools()
    assert gc.get_freeze_count() >= early + len(loaded)


def test_the_instructions_fit_what_clients_keep_and_name_every_tool():
    assert len(INSTRUCTIONS.encode()) < 2048
    assert [declared.name for declared in TOOLS if declared.name not in INSTRUCTIONS] == ["revert_to_best"]
