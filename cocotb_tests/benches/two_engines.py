"""Two engines on one memory: a producer writes tiles through the host port and posts a semaphore
for each; the DVE waits for it, consumes the tile and posts another, which frees the tile's place.

The places are fewer than the tiles, so that a lost, early or late update shows as a wrong result or
as a wait without end. Timing is random by seed.
"""

import random

import cocotb
import numpy as np
from benches.configs import BENCH as CONFIG
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from dve_cosim.driver import CompletionSink, HostPort, RecordSource, SyncPort, random_pauses
from dve_cosim.reference import machine_of
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode, UpdateMode, WaitMode
from dve_rtl.host import Space
from dve_rtl.payloads import SyncAction

TILES, PLACES = 12, 3
ELEMENTS = 8
TILE_BYTES = 4 * ELEMENTS
RESULTS = 0x200
"""Byte in partition of the first tile's three sums."""

FULL, FREE = 10, 11
"""Semaphores: tiles written and not yet consumed, and places that may be written."""


def consume(tile: int, update: UpdateMode) -> bytes:
    """Sum a tile, once it is there; free its place when it has been read or consumed."""
    place = tile % PLACES * TILE_BYTES
    return encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE,
        {
            "events.wait_mode": WaitMode.SEM_GE_IMM,
            "events.wait_idx": FULL,
            "events.semaphore_value": tile + 1,
            "events.update_mode": update,
            "events.update_idx": FREE,
            "in0_in1_dtype.lo": Dtype.FP32,
            "in0_in1_dtype.hi": Dtype.FP32,
            "immediate_dtype": Dtype.FP32,
            "out_dtype": Dtype.FP32,
            "num_active_channels": 128,
            "imm0": 0x3F0,
            "imm1": 0x3F4,
            **{f"{name}.start_addr": place for name in ("src0", "src1")},
            **{f"{name}.step_elem": (1, 0, 0) for name in ("src0", "src1")},
            **{f"{name}.num_elem": (ELEMENTS, 1, 1) for name in ("src0", "src1")},
            "dst.start_addr": RESULTS + 12 * tile,
            "dst.step_elem": (1,),
            "dst.num_elem": (3,),
        },
    )


@cocotb.test(timeout_time=400_000, timeout_unit="step")
@cocotb.parametrize(
    seed=[1, 2, 3],
)
async def tiles_are_handed_over(dut, seed):
    choices = random.Random(seed)
    rng = np.random.default_rng(seed)
    tiles = rng.standard_normal((TILES, 128, ELEMENTS)).astype(np.float32)
    update = choices.choice((UpdateMode.SEM_INC_READ, UpdateMode.SEM_INC_COMPLETE))
    program = b"".join(consume(tile, update) for tile in range(TILES))

    host = HostPort(dut, CONFIG)
    sync = SyncPort(dut, request_pauses=random_pauses(f"sync {seed}", share=0.3))
    records = RecordSource(dut, CONFIG, pauses=random_pauses(f"records {seed}", share=0.2))
    completions = CompletionSink(dut, pauses=random_pauses(f"completions {seed}", share=0.2))
    dut.image_load.value = dut.image_dump.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="step").start(start_high=False)
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await sync.post(SyncAction.SET_SEMAPHORE, FULL, 0)
    await sync.post(SyncAction.SET_SEMAPHORE, FREE, PLACES)

    async def produce():
        free = 0
        for tile in range(TILES):
            while free == 0:  # the producer's own wait, then decrement
                free = await sync.read(SyncAction.READ_SEMAPHORE, FREE)
            await sync.post(SyncAction.SUBTRACT_SEMAPHORE, FREE, 1)
            free -= 1
            words = tiles[tile].view("<u8").reshape(CONFIG.groups, CONFIG.lanes, -1)
            for row in range(CONFIG.groups):
                for word in range(words.shape[2]):
                    at = tile % PLACES * TILE_BYTES // 8 + word
                    await host.write(Space.SBUF, row, at, words[row, :, word].tobytes())
                if choices.random() < 0.2:
                    await ClockCycles(dut.clk, choices.randrange(1, 40))
            await sync.post(SyncAction.ADD_SEMAPHORE, FULL, 1)

    cocotb.start_soon(records.send(program))
    producing = cocotb.start_soon(produce())
    for tile in range(TILES):
        completion = await completions.receive()
        assert (completion.sequence, completion.reason) == (tile, 0)
    await producing
    assert await sync.read(SyncAction.READ_SEMAPHORE, FULL) == TILES
    assert await sync.read(SyncAction.READ_SEMAPHORE, FREE) == PLACES

    expected = machine_of(CONFIG)
    expected.semaphores[FULL] = TILES
    for tile in range(TILES):
        place = tile % PLACES * TILE_BYTES
        expected.sbuf[:, place : place + TILE_BYTES] = tiles[tile].view(np.uint8)
        expected.execute(program[64 * tile : 64 * tile + 64])
    for row in range(CONFIG.groups):
        for word in range(RESULTS // 8, (RESULTS + 12 * TILES) // 8):
            (seen,) = await host.read([(Space.SBUF, row, word)])
            wanted = expected.sbuf[row * CONFIG.lanes :][: CONFIG.lanes, 8 * word : 8 * word + 8]
            assert seen == wanted.tobytes(), (row, word)
