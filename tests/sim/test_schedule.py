"""What waits for what, and what overlaps."""

from itertools import pairwise

from hypothesis import given, settings
from program_builder import ProgramBuilder
from random_programs import program, steps

from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.costs.dependencies import RAW, REUSE, WAR, WAW
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.model import Model
from nki_anvil.sim.schedule import IN_ORDER


def model(made):
    return Model(made.program() if isinstance(made, ProgramBuilder) else made, CHIPS["trn2"], RATES["trn2"])


def edges(made):
    """Per instruction, what it depends on and how."""
    return [dict(found) for found in model(made).run().found.edges]


def two_tiles(made):
    return made.tensor((128, 512)), made.tensor((128, 512))


def test_a_reader_waits_for_the_writer_of_the_same_region_only():
    made = ProgramBuilder()
    tile, other = two_tiles(made)
    made.emit("memset", tile[:, 0:256], value=0.0)
    made.emit("memset", tile[:, 256:512], value=0.0)
    made.emit("tensor_copy", other[:, 256:512], tile[:, 256:512])
    made.emit("tensor_copy", other[:, 0:300], tile[:, 0:300])
    assert edges(made)[2] == {1: RAW}
    assert edges(made)[3] == {0: RAW, 1: RAW, 2: WAW}


def test_a_writer_waits_for_the_readers_of_what_it_overwrites():
    made = ProgramBuilder()
    tile, other = two_tiles(made)
    made.emit("tensor_copy", other, tile)
    made.emit("activation", tile[:, 0:8], None, other[:, 0:8], op="exp")
    assert edges(made)[1] == {0: RAW}
    made.emit("memset", tile, value=0.0)
    assert edges(made)[2] == {0: WAR, 1: WAW}


def test_partitions_tell_regions_apart_as_columns_do():
    made = ProgramBuilder()
    tile, other = two_tiles(made)
    made.emit("memset", tile[0:64], value=0.0)
    made.emit("tensor_copy", other[64:128], tile[64:128])
    assert edges(made)[1] == {}


def test_column_tiles_of_one_matrix_in_hbm_are_independent():
    made = ProgramBuilder()
    target, tile = made.result((256, 1024)), made.tensor((128, 512))
    for row in (0, 128):
        for column in (0, 512):
            made.emit("dma_copy", target[row : row + 128, column : column + 512], tile)
    made.emit("dma_copy", target[64:192, 256:768], tile)
    assert edges(made)[:4] == [{}, {}, {}, {}]
    assert edges(made)[4] == {0: WAW, 1: WAW, 2: WAW, 3: WAW}


def test_a_view_of_other_elements_touches_the_same_bytes():
    made = ProgramBuilder()
    tile = made.tensor((128, 512))
    other = made.tensor((128, 512), "bfloat16")
    made.emit("memset", tile[:, 256:512], value=0.0)
    made.emit("tensor_copy", other, tile.ap([(1024, 128), (1, 512)], dtype="bfloat16"))
    made.emit("tensor_copy", other, tile.ap([(1024, 128), (1, 512)], offset=512, dtype="bfloat16"))
    assert edges(made)[1] == {}
    assert edges(made)[2] == {0: RAW, 1: WAW}


def test_an_address_that_data_decides_depends_on_its_index_and_on_the_whole_tensor():
    made = ProgramBuilder()
    source, index = made.result((512, 64)), made.tensor((128, 1), "uint32")
    tile, small = made.tensor((128, 64)), made.tensor((128, 64))
    made.emit("dma_copy", source[384:512], small)
    made.emit("memset", index, value=0)
    made.emit("dma_copy", tile, made.gathered(source[0:128], 64, index))
    assert edges(made)[2] == {0: RAW, 1: RAW}


def test_an_access_that_moves_depends_on_the_whole_of_a_tensor_at_an_address():
    made = ProgramBuilder()
    tile, other = made.tensor((128, 64), address=(0, 0)), made.tensor((128, 64))
    half = made.shifted(tile[0:64], 64, register=made.register())
    made.emit("memset", tile[64:128], value=0.0)
    made.emit("tensor_copy", other[0:64], half)
    assert edges(made)[1] == {0: RAW}


def test_halves_of_a_tile_at_an_address_are_told_apart():
    made = ProgramBuilder()
    tile, other = made.tensor((128, 64), address=(0, 256)), made.tensor((128, 64))
    made.emit("memset", tile[:, 0:32], value=0.0)
    made.emit("tensor_copy", other[:, 32:64], tile[:, 32:64])
    assert edges(made)[1] == {}


def test_a_view_wider_than_the_last_dimension_touches_the_bytes_of_its_neighbours():
    made = ProgramBuilder()
    tile, other = made.tensor((128, 4, 3), "bfloat16"), made.tensor((1, 1))
    made.emit("memset", tile[:, 0:1, :], value=0.0)
    made.emit("tensor_copy", other, tile.ap([(6, 1), (1, 1)], offset=1, dtype="float32"))
    assert edges(made)[1] == {0: RAW}


def test_a_walk_backwards_reaches_the_elements_before_its_start():
    made = ProgramBuilder()
    source, tile = made.tensor((64, 16), memory="private_hbm"), made.tensor((64, 16))
    made.emit("dma_copy", source[10:20], tile[0:10])
    made.emit("dma_copy", tile[10:64], source.ap([(-16, 54), (1, 16)], offset=63 * 16))
    assert edges(made)[1] == {0: RAW}


def test_tensors_at_explicit_addresses_share_what_they_overlap():
    made = ProgramBuilder()
    one = made.tensor((128, 512), address=(0, 1024))
    other = made.tensor((128, 512), address=(0, 2048))
    apart = made.tensor((128, 512), address=(0, 8192))
    made.emit("memset", one, value=0.0)
    made.emit("memset", other, value=0.0)
    made.emit("memset", apart, value=0.0)
    assert edges(made) == [{}, {0: WAW}, {}]


def rotating(tiles, count=24):
    made = ProgramBuilder()
    source = made.input((128 * count, 2048))
    shared = [made.tensor((128, 2048)) for _ in range(tiles)]
    for number in range(count):
        made.emit("dma_copy", shared[number % tiles], source[128 * number : 128 * number + 128], line=1)
        made.emit("activation", made.tensor((128, 2048), "bfloat16"), None, shared[number % tiles], op="exp", line=2)
    return made


def test_two_buffers_overlap_what_one_serialises():
    one, two, three = (model(rotating(tiles)).run().latency for tiles in (1, 2, 3))
    assert one > 1.4 * two
    assert two >= three


def full(size, count):
    made = ProgramBuilder()
    source = made.input((128, size))
    for _ in range(count):
        tile = made.tensor((128, size))
        made.emit("dma_copy", tile, source)
        made.emit("activation", made.tensor((128, 1)), None, tile[:, 0:1], op="exp")
    return made


def test_new_tensors_take_the_space_of_old_ones_only_when_there_is_no_other():
    roomy, tight = model(full(4096, 8)).run(), model(full(16384, 8)).run()
    assert not any(REUSE in dict(found).values() for found in roomy.found.edges)
    first = next(at for at, found in enumerate(tight.found.edges) if REUSE in dict(found).values())
    assert first == 2 * (212_984 // (16384 * 4))  # the fourth tile does not fit beside the first three
    assert not tight.found.spilled


def test_what_does_not_fit_is_spilled_and_shown_as_traffic():
    made = ProgramBuilder()
    source, tiles = made.input((128, 16384)), [made.tensor((128, 16384)) for _ in range(4)]
    for tile in tiles:
        made.emit("dma_copy", tile, source)
    for tile in tiles:
        made.emit("activation", tile, None, tile, op="exp")
    spilled = model(made).run().found.spilled
    assert list(spilled) == [3]
    assert sum(spilled.values()) == 128 * (4 * 65536 - 212_984)


def test_what_is_spilled_keeps_the_dma_engines_whichever_queue_waits_for_it():
    def latency(columns):
        made = ProgramBuilder()
        held, loaded = [made.tensor((128, 16384)) for _ in range(3)], made.tensor((128, 64))
        late = made.tensor((128, columns))
        for tile in held:
            made.emit("memset", tile[:, 0:1], value=0.0, engine="vector")
        made.emit("memset", late[:, 0:1], value=0.0, engine="gpsimd")
        made.emit("dma_copy", loaded, made.input((128, 64)))
        for tile in [*held, late]:
            made.emit("activation", loaded, None, tile[:, 0:64], op="exp")
        run = model(made).run()
        return sum(run.found.spilled.values()), run.latency

    (fits, short), (spilled, long) = latency(64), latency(16384)
    assert (fits, spilled > 0) == (0, True)
    chip, rates = CHIPS["trn2"], RATES["trn2"]
    assert long - short > spilled / (rates.dma_engine_rate * chip.dma_engines)


def test_a_tile_at_an_address_takes_its_place_from_the_others():
    def spilled(*addresses):
        made = ProgramBuilder()
        source = made.input((128, 16384))
        tiles = [made.tensor((128, 16384), address=address) for address in addresses]
        for tile in tiles:
            made.emit("dma_copy", tile, source)
        for tile in tiles:
            made.emit("activation", tile, None, tile, op="exp")
        return sum(model(made).run().found.spilled.values())

    free, low, middle, high = (-1, -1), (0, 0), (0, 65536), (0, 131072)
    assert spilled(free, low, middle, high) == 128 * (4 * 65536 - 212_984)
    assert spilled(low, middle, high) == spilled(free, low, middle) == 0


def test_tiles_at_addresses_in_different_partitions_share_their_bytes():
    made = ProgramBuilder()
    source = made.input((64, 32768))
    tiles = [made.tensor((64, 32768), address=(start, 0)) for start in (0, 64)]
    tiles.append(made.tensor((64, 16384)))
    for tile in tiles:
        made.emit("dma_copy", tile, source[0:64, 0 : tile.shape[1]])
    for tile in tiles:
        made.emit("activation", tile, None, tile, op="exp")
    assert not model(made).run().found.spilled


def test_each_core_of_a_pair_has_memory_of_its_own():
    made = ProgramBuilder(cores=2)
    for core in (0, 1):
        made.core = core
        tiles = [made.tensor((128, 16384)) for _ in range(3)]
        for tile in tiles * 2:
            made.emit("memset", tile, value=0.0)
    found = model(made).run().found
    assert not found.spilled
    assert not any(REUSE in dict(edges).values() for edges in found.edges)


def pair(*kinds):
    """Two cores that write their half of shared memory, and read the other's, with something in between."""
    made = ProgramBuilder(cores=2)
    middle = made.tensor((256, 512), memory="shared_hbm")
    for core in (0, 1):
        made.core = core
        tile, other = two_tiles(made)
        made.emit("dma_copy", middle[128 * core : 128 * core + 128], tile)
        for kind in kinds:
            made.emit(kind, middle, engine="gpsimd", cores=[0, 1])
        made.emit("dma_copy", other, middle[128 - 128 * core : 256 - 128 * core])
    return made


def test_either_core_of_a_pair_waits_for_what_the_other_writes_before_they_meet():
    found = edges(pair("core_barrier"))
    writes, barriers, reads = (0, 3), (1, 4), (2, 5)
    assert found[barriers[0]] == dict.fromkeys(writes, RAW)
    assert found[barriers[1]][barriers[0]] == RAW
    for read in reads:
        assert set(found[read]) & set(barriers)


def test_tiles_that_cores_exchange_are_waited_for_on_both_sides():
    made = ProgramBuilder(cores=2)
    for core in (0, 1):
        made.core = core
        tile, other = two_tiles(made)
        made.emit("memset", tile, value=0.0)
        made.emit("sendrecv", other, tile, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0, dma_engine="dma")
    found = edges(made)
    assert set(found[1]) == set(found[3]) == {0, 2}


def test_sums_in_an_engines_accumulators_keep_their_order():
    made = ProgramBuilder()
    tile, result = made.tensor((128, 512)), made.tensor((128, 1))
    for command, found in (("reset_reduce", None), ("reduce", None), ("idle", result), ("idle", None)):
        out = made.tensor((128, 512))
        made.emit("activation", out, found, tile, op="exp", reduce_op="add", reduce_cmd=command)
    assert edges(made) == [{}, {0: WAW}, {1: WAW}, {}]


def test_a_loop_and_what_comes_after_it_wait_for_the_register_that_bounds_it():
    made = ProgramBuilder()
    tile, other = two_tiles(made)
    number, register = made.tensor((1, 1), "int32"), made.register()
    made.emit("register_load", number, register=register)
    with made.loop("fori", made.register(), upper_register=register):
        made.emit("memset", tile, value=0.0)
    made.emit("memset", other, value=0.0)
    for trips in (0, 1):
        run = Model(made.program(), CHIPS["trn2"], RATES["trn2"], [trips]).run()
        assert all(dict(found)[0] == RAW for found in run.found.edges[1:])


def test_a_loop_that_asks_after_every_turn_waits_every_turn():
    made = ProgramBuilder()
    tile, number, register = made.tensor((128, 512)), made.tensor((1, 1), "int32"), made.register()
    made.emit("register_move", register=register, source=None, value=1)
    with made.loop("while", register):
        made.emit("memset", tile, value=0.0)
        made.emit("register_load", number, register=register)
    run = Model(made.program(), CHIPS["trn2"], RATES["trn2"], [2]).run()
    assert [dict(found).get(before) for found, before in zip(run.found.edges[1:], (0, 0, 2, 2), strict=True)] == [
        RAW
    ] * 4


def test_psum_tensors_have_banks_of_their_own_until_the_banks_run_out():
    made = ProgramBuilder()
    left, right = made.tensor((128, 128), "bfloat16"), made.tensor((128, 128), "bfloat16")
    for _ in range(9):
        made.emit("nc_matmul", made.tensor((128, 128), memory="psum"), left, right)
    found = edges(made)
    assert all(not depends for depends in found[:8])
    assert found[8] == {0: REUSE}


def test_matmuls_that_accumulate_do_not_wait_for_each_other():
    made = ProgramBuilder()
    left, right = made.tensor((128, 128), "bfloat16"), made.tensor((128, 512), "bfloat16")
    bank = made.tensor((128, 512), memory="psum")
    for _ in range(2):
        made.emit("nc_matmul", bank, left, right)
    run = model(made).run()
    assert run.schedule.start[1] == run.schedule.release[0]


def test_a_store_that_waits_holds_up_no_load_unless_they_share_an_engines_queue():
    def kernel(**values):
        made = ProgramBuilder()
        source, target = made.input((256, 512)), made.result((128, 512))
        slow, result, other = (made.tensor((128, 512)) for _ in range(3))
        made.emit("reciprocal", result, slow)
        made.emit("dma_copy", target, result, **values)
        made.emit("dma_copy", other, source[0:128], **values)
        return model(made).run(IN_ORDER).schedule.first[2]

    assert kernel(trigger="unknown") == kernel()
    for engine in ("scalar", "sync"):
        assert kernel(trigger=engine) > kernel() + 4000


def test_queues_share_what_makes_descriptors_so_that_three_do_not_do_three_times_the_work():
    """Short rows, which the descriptors bound: 0.51 us for 128 of them over four modes, by AWS's own kernel."""

    def microseconds(*triggers):
        made = ProgramBuilder()
        for turn in range(48):
            source, tile = made.input((128, 64)), made.tensor((128, 64))
            made.emit("dma_copy", tile, source, trigger=triggers[turn % len(triggers)])
        return max(model(made).run().schedule.release) / 1e3

    alone, together = microseconds("sync"), microseconds("sync", "scalar", "unknown")
    assert 48 * 0.51 < together < alone
    assert alone > 48 * 0.76


def test_a_transfer_that_gpsimd_describes_keeps_gpsimd():
    made = ProgramBuilder()
    made.emit("dma_copy", made.tensor((128, 512)), made.input((128, 512)), dge_mode="swdge", trigger="gpsimd")
    assert model(made).busy_ns()["gpsimd"] > 0


def test_the_tensor_engine_starts_at_half_its_clock_and_warms_up():
    made = ProgramBuilder()
    left, right = made.tensor((128, 128), "bfloat16"), made.tensor((128, 512), "bfloat16")
    bank = made.tensor((128, 512), memory="psum")
    for _ in range(40):
        made.emit("nc_matmul", bank, left, right)
    found = model(made).run().schedule
    took = [end - start for start, end in zip(found.start, found.release, strict=True)]
    assert took[0] > 1.9 * took[-1]
    assert all(after <= before + 1e-6 for before, after in pairwise(took))


@given(steps)
@settings(max_examples=40)
def test_nothing_starts_before_what_it_depends_on(chosen):
    run = model(program(chosen)).run()
    schedule = run.schedule
    for later, found in enumerate(run.found.edges):
        for earlier, kind in found:
            assert earlier < later
            before = schedule.ready[earlier] if kind == RAW else schedule.start[earlier]
            accumulates = schedule.queue[earlier] == schedule.queue[later] == 0
            assert schedule.start[later] >= before - 1e-6 or accumulates


@given(steps)
@settings(max_examples=40)
def test_program_order_within_a_queue_is_kept_where_nothing_reorders(chosen):
    run = model(program(chosen)).run(IN_ORDER)
    last: dict[int, float] = {}
    for start, lane in zip(run.schedule.start, run.schedule.queue, strict=True):
        assert start >= last.get(lane, 0.0)
        last[lane] = start


def of_turns(tensors):
    """A loop over data of 20 turns that uses tensors one after the other."""
    made = ProgramBuilder()
    with made.loop("fori", made.register(), 0, 20):
        for shape, memory in tensors:
            made.emit("memset", made.tensor(shape, memory=memory), value=0.0)
    return made


def test_every_turn_of_a_loop_takes_space_of_its_own():
    """Three tiles of 80,000 bytes per partition do not fit at once, nor do nine of PSUM's banks."""
    for tensors, room in ([((128, 20_000), "sbuf")], 2), ([((128, 512), "psum")] * 2, 8):
        found = edges(of_turns(tensors))
        assert REUSE not in {kind for edge in found[:room] for kind in edge.values()}
        assert REUSE in found[room].values()


def test_what_one_turn_no_longer_needs_makes_room_within_that_turn():
    """Six tiles of 64 KiB, one after the other: the space of the third last is there again, and nothing is spilled."""
    found = model(of_turns([((128, 16384), "sbuf")] * 6)).run().found
    assert not found.spilled
    assert any(REUSE in dict(edge).values() for edge in found.edges)


def test_tensors_of_a_loop_have_banks_of_their_own_as_those_written_out_have():
    """Nine small ones, of which one at a time is in use."""
    assert REUSE in edges(of_turns([((128, 64), "psum")] * 9))[8].values()
