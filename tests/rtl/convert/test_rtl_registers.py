"""Control values as words: what they are at power-on, what they take, and what a reset leaves."""

import pytest
from amaranth import *
from amaranth.sim import Simulator
from dve_golden.isa.control import RESET_CONTROL, Control, IntegerRounding
from dve_golden.isa.generations import Generation
from dve_rtl.convert.registers import ControlRegisters

WORDS = 7
EVERY_OTHER = Control(
    emax_e4m3=8,
    range_extension=True,
    ocp_sat=True,
    sis=True,
    sns=True,
    integer_rounding=IntegerRounding.NEAREST_EVEN,
    flush_to_zero=True,
)


def run(generation, bench):
    dut = ControlRegisters(generation)
    reset = Signal()

    async def testbench(ctx):
        await bench(ctx, dut, reset)

    sim = Simulator(ResetInserter(reset)(dut))
    sim.add_clock(1e-8)
    sim.add_testbench(testbench)
    sim.run()


def words(ctx, dut):
    values = []
    for word in range(WORDS):
        ctx.set(dut.word, word)
        values.append(ctx.get(dut.value))
    return values


async def write(ctx, dut, word, data):
    ctx.set(dut.word, word)
    ctx.set(dut.data, data)
    ctx.set(dut.write, 1)
    await ctx.tick()
    ctx.set(dut.write, 0)


@pytest.mark.parametrize("generation", Generation)
def test_power_on_is_the_generations(generation):
    async def bench(ctx, dut, reset):
        assert words(ctx, dut) == RESET_CONTROL[generation].words.tolist()
        assert ctx.get(dut.control.emax_e4m3_is_8) == (RESET_CONTROL[generation].emax_e4m3 == 8)

    run(generation, bench)


def test_each_word_is_one_value_and_lasts_through_a_reset():
    async def bench(ctx, dut, reset):
        expected = Control().words.tolist()
        bits = 0
        for word, value in enumerate(EVERY_OTHER.words.tolist()):
            await write(ctx, dut, word, value)
            expected[word] = value
            bits |= 1 << word  # one bit each, in the order of the words
            assert words(ctx, dut) == expected
            assert ctx.get(dut.control.as_value()) == bits
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        assert words(ctx, dut) == expected
        for word, value in enumerate(Control().words.tolist()):
            await write(ctx, dut, word, value)
        assert ctx.get(dut.control.as_value()) == 0

    run(Generation.CAYMAN, bench)


def test_other_values_and_other_words():
    async def bench(ctx, dut, reset):
        for value, held in ((9, 7), (8, 8), (0, 7), (1 << 31 | 8, 7)):
            await write(ctx, dut, 0, value)
            assert words(ctx, dut)[0] == held
        for value, held in ((2, 0), (3, 1), (1 << 31, 0), (0xFFFFFFFF, 1)):
            await write(ctx, dut, 3, value)
            assert words(ctx, dut)[3] == held
        before = words(ctx, dut)
        for word in (WORDS, WORDS + 1, 8, 0x7FFF):
            await write(ctx, dut, word, 8)
            ctx.set(dut.word, word)
            assert ctx.get(dut.value) == 0
        assert words(ctx, dut) == before

    run(Generation.CAYMAN, bench)
