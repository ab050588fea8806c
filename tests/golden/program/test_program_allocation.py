"""Where tensors lie: first fit, quadrants, alignment, and the message when memory is full."""

import numpy as np
import pytest
from dve_golden.program.allocation import AllocationError, Allocator


def test_first_fit_takes_the_lowest_gap():
    memory = Allocator("sbuf", 100)
    first, second, third = (memory.allocate(name, 0, 128, 16) for name in "abc")
    assert [block.offset for block in (first, second, third)] == [0, 16, 32]
    memory.release(second)
    assert memory.allocate("small", 0, 128, 8).offset == 16
    assert memory.allocate("large", 0, 128, 16).offset == 48


def test_blocks_start_on_words():
    memory = Allocator("sbuf", 64)
    assert memory.allocate("a", 0, 1, 3).offset == 0
    assert memory.allocate("b", 0, 1, 4).offset == 8
    assert memory.allocate("c", 0, 1, 4, align=32).offset == 32


def test_quadrants_are_apart():
    memory = Allocator("psum", 16)
    assert memory.allocate("low", 0, 32, 16).offset == 0
    assert memory.allocate("high", 64, 64, 16).offset == 0
    assert memory.allocate("between", 32, 32, 16).offset == 0
    with pytest.raises(AllocationError, match="psum is full: all needs 8 bytes"):
        memory.allocate("all", 0, 128, 8)


def test_full_memory_names_what_is_live():
    memory = Allocator("sbuf", 64)
    blocks = [memory.allocate(name, 0, 128, 16) for name in ("x", "dy", "dx")]
    memory.release(blocks[1])
    with pytest.raises(AllocationError) as caught:
        memory.allocate("mask", 0, 128, 24)
    assert str(caught.value) == (
        "sbuf is full: mask needs 24 bytes of a partition of 64, the longest free run is 16; "
        "live: x 16, dx 16"
    )
    with pytest.raises(AllocationError, match="live: nothing"):
        Allocator("sbuf", 8).allocate("x", 0, 1, 16)


def test_random_allocations_never_share_a_byte():
    rng = np.random.default_rng(5)
    memory, live = Allocator("sbuf", 512), []
    refused = 0
    for step in range(2000):
        if live and rng.random() < 0.45:
            memory.release(live.pop(rng.integers(len(live))))
            continue
        partition = int(rng.choice([0, 32, 64, 96]))
        channels = int(rng.integers(1, 129 - partition))
        try:
            live.append(memory.allocate(f"t{step}", partition, channels, int(rng.integers(1, 99))))
        except AllocationError:
            refused += 1
        used = np.zeros((4, 512), int)
        for block in live:
            assert block.offset % 8 == 0
            assert block.end <= 512
            used[block.quadrants.start : block.quadrants.stop, block.offset : block.end] += 1
        assert used.max(initial=0) <= 1
    assert 0 < refused < 1000
