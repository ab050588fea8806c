"""What the host moves around a program: words of the port, files, and the clocks of a run."""

import numpy as np
import pytest
from dve_cosim import session
from dve_cosim.traffic import HostCycles, HostTraffic, execution_spans
from dve_cosim.transfers import (
    Transfers,
    extent_bytes,
    extent_places,
    image_words,
)
from dve_golden.batchnorm.layout import Image
from dve_golden.batchnorm.step import Extent, OverlapError, Step
from dve_rtl.config import EngineConfig

BYTES = 64


def write(memory, row, word, data, enable, lanes):
    """One request, byte by byte."""
    for lane in range(lanes):
        for byte in range(8):
            if enable >> (8 * lane + byte) & 1:
                memory[row * lanes + lane, 8 * word + byte] = data[8 * lane + byte]


@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize(("channels", "offset", "size"), [(1, 3, 2), (5, 7, 18), (128, 8, 16)])
def test_an_image_goes_to_its_bytes_and_no_others(lanes, channels, offset, size):
    rng = np.random.default_rng(size)
    memory = rng.integers(0, 256, (128, BYTES), np.uint8)
    image = Image(offset, rng.integers(0, 256, (channels, size), np.uint8))
    expected = memory.copy()
    image.place(expected)
    for (row, word), data, enable in image_words(image, lanes):
        write(memory, row, word, data, enable, lanes)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize(("channels", "start", "stop"), [(1, 3, 5), (5, 7, 25), (128, 8, 24)])
def test_an_extent_is_found_in_its_words(lanes, channels, start, stop):
    memory = np.random.default_rng(stop).integers(0, 256, (128, BYTES), np.uint8)
    extent = Extent(channels, range(start, stop))
    words = [
        memory[row * lanes : (row + 1) * lanes, 8 * word : 8 * word + 8].tobytes()
        for row, word in extent_places(extent, lanes)
    ]
    np.testing.assert_array_equal(extent_bytes(extent, lanes, words), extent.of(memory))


def test_the_port_writes_a_word_in_a_clock_and_reads_one_in_two():
    image = Image(4, np.zeros((5, 8), np.uint8))  # two words of five partitions
    assert Transfers((image, image), (Extent(5, range(4, 12)),)).clocks(4) == (4 + 4) + 2 * 4


def test_transfers_pass_through_a_file(tmp_path):
    image = Image(24, np.arange(6, dtype=np.uint8).reshape(2, 3))
    given = Transfers((image,), (Extent(3, range(8, 12)), Extent(1, range(2))))
    given.save(tmp_path / "a.npz")
    read = Transfers.load(tmp_path / "a.npz")
    assert read.results == given.results
    ((offset, data),) = ((each.offset, each.data) for each in read.images)
    assert offset == 24
    np.testing.assert_array_equal(data, image.data)
    Transfers((), ()).save(tmp_path / "b.npz")
    assert Transfers.load(tmp_path / "b.npz") == Transfers((), ())


def test_clocks_are_hidden_where_an_instruction_executes():
    executed = execution_spans(np.array([110, 150, 300]), np.array([60, 40, 100], np.uint32))
    assert executed.tolist() == [[50, 110], [110, 150], [200, 300]]
    writes = np.array([[0, 50], [60, 120], [140, 210]])
    reads = np.array([[120, 120], [160, 170], [300, 330]])
    traffic = HostTraffic(writes, reads, executed, 190, [])
    assert [traffic.executing(span) for span in writes] == [0, 60, 10 + 10]
    assert [traffic.executing(span) for span in reads] == [0, 0, 0]
    assert traffic.cycles == HostCycles(190, 190 + 200 - 330, 330)
    assert traffic.cycles + HostCycles(1, 2, 3) == (191, 62, 333)


def test_no_clock_counts_for_two_instructions():
    """A completion that was held back is received after the next instruction began."""
    assert execution_spans(np.array([100, 120]), np.array([50, 40])).tolist() == [
        [50, 100],
        [100, 120],
    ]


def test_steps_that_disturb_each_other_do_not_begin(monkeypatch):
    monkeypatch.setattr(session, "build", lambda *args, **options: pytest.fail("was built"))
    image = Image(8, np.zeros((1, 8), np.uint8))
    steps = [Step((image,), bytes(64), 0), Step((image,), bytes(64), 0)]
    with pytest.raises(OverlapError, match="step 1 is placed on bytes 8 to 15 of a partition"):
        session.run_steps(steps, config=EngineConfig())
