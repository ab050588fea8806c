"""Elements and pairs at every place of a word, of every size."""

import pytest
from amaranth.sim import Simulator
from dve_rtl.memory.pack import SIZES, Pack

FIRST, SECOND = 0xA1B2C3D4, 0x15263748


def written(pairs, cases):
    """The word that each case leaves of one that was all ones: {byte: value}."""
    dut = Pack(pairs=pairs)
    words = []

    async def bench(ctx):
        ctx.set(dut.element, FIRST)
        ctx.set(dut.second, SECOND)
        for log2_bytes, pair, byte in cases:
            ctx.set(dut.log2_bytes, log2_bytes)
            ctx.set(dut.pair, pair)
            ctx.set(dut.byte, byte)
            word = ctx.get(dut.word).to_bytes(8, "little")
            enable = ctx.get(dut.enable)
            words.append({at: word[at] for at in range(8) if enable >> at & 1})

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()
    return words


def at(byte, *elements, size):
    data = b"".join(element.to_bytes(4, "little")[:size] for element in elements)
    return dict(enumerate(data, byte))


@pytest.mark.parametrize("pairs", [False, True])
def test_an_element_is_written_alone(pairs):
    cases = [(log2, 0, byte) for log2 in range(SIZES) for byte in range(0, 8, 1 << log2)]
    want = [at(byte, FIRST, size=1 << log2) for log2, _, byte in cases]
    assert written(pairs, cases) == want


def test_a_pair_is_written_at_once():
    cases = [(log2, 1, byte) for log2 in range(SIZES) for byte in range(0, 8, 2 << log2)]
    want = [at(byte, FIRST, SECOND, size=1 << log2) for log2, _, byte in cases]
    assert written(True, cases) == want
