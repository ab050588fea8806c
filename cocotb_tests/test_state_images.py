"""Memory images, snapshots, and where two states differ."""

import numpy as np
import pytest
from dve_cosim.compare import Difference, differences, differing_bits
from dve_cosim.reference import machine_of
from dve_cosim.state import ArchState, read_image, write_image
from dve_rtl.config import EngineConfig

CONFIG = EngineConfig(lanes=4, sbuf_bytes=64, psum_bytes=16)
SIGNALLING_NAN = 0x7F800001


def random_state(seed=0, config=CONFIG):
    rng = np.random.default_rng(seed)
    state = ArchState.reset(config)
    for array in state.arrays().values():
        array.view(np.uint8)[...] = rng.integers(0, 256, array.view(np.uint8).shape)
    return state


def test_an_image_holds_words_by_lane_row_and_word(tmp_path):
    memory = random_state().sbuf
    write_image(tmp_path / "sbuf.in", memory, lanes=4, row_bytes=64)
    image = (tmp_path / "sbuf.in").read_bytes()
    for partition, byte in ((0, 0), (5, 13), (127, 63)):
        lane, row, word = partition % 4, partition // 4, byte // 8
        at = 8 * ((lane * 32 + row) * 8 + word)
        assert image[at + 7 - byte % 8] == memory[partition, byte]


def test_short_rows_fill_the_start_of_an_image(tmp_path):
    memory = random_state().psum
    write_image(tmp_path / "image", memory, lanes=2, row_bytes=64)
    words = np.fromfile(tmp_path / "image", ">u8").astype("<u8")
    words.tofile(tmp_path / "image")
    read = read_image(tmp_path / "image", lanes=2, row_bytes=64)
    assert np.array_equal(read[:, :16], memory)
    assert not read[:, 16:].any()


def test_a_machine_takes_a_state_over_bit_for_bit():
    state = random_state()
    state.lane_state.view(np.uint32)[3, 2] = SIGNALLING_NAN
    machine = machine_of(CONFIG)
    state.copy_into(machine)
    assert differences(machine, state) == []
    assert machine.lane_state.view(np.uint32)[3, 2] == SIGNALLING_NAN
    snapshot = ArchState.copy_of(machine)
    machine.sbuf[0, 0] ^= 1
    assert differing_bits(snapshot, state) == 0


def test_reset_is_the_golden_machine_after_reset():
    machine = machine_of(CONFIG)
    assert differences(ArchState.reset(CONFIG), machine) == []


def test_differences_compare_patterns_not_values():
    got, expected = random_state(), random_state()
    got.parameter_ram[7], expected.parameter_ram[7] = np.float32(0.0), np.float32(-0.0)
    got.lane_state.view(np.uint32)[1, 4] = SIGNALLING_NAN
    expected.lane_state.view(np.uint32)[1, 4] = SIGNALLING_NAN
    got.psum[9, 3], expected.psum[9, 3] = 0x0F, 0xF0
    found = differences(got, expected)
    assert found == [
        Difference("psum", (9, 3), 0x0F, 0xF0, 2),
        Difference("parameter_ram", (7,), 0, 0x80000000, 8),
    ]
    assert [difference.bits for difference in found] == [8, 1]
    assert str(found[1]) == "parameter_ram[7]: got 0x00000000, expected 0x80000000"
    assert differing_bits(got, expected) == 9
    assert differences(got, expected, limit=1) == found[:1]


def test_states_of_other_sizes_are_not_compared():
    other = ArchState.reset(EngineConfig(lanes=4, sbuf_bytes=128, psum_bytes=16))
    with pytest.raises(ValueError, match="sbuf: uint8"):
        differences(random_state(), other)
