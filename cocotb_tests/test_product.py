"""Products in multiplier blocks under Verilator, against exact integers and the portable form.

The block is simulated by our own model of it, ``mult18x18d.v``, since Yosys ships none.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from amaranth import Array, C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_cosim.arith import grids
from dve_cosim.arith.operations import operation
from dve_cosim.arith.simulator import UnitSimulator
from dve_cosim.arith.units import unit_verilog
from dve_rtl.fp32.format import SIGNIFICAND_BITS
from dve_rtl.fp32.multiplier import STAGES, Multiplier
from dve_rtl.fp32.product import BLOCK_BITS, BLOCK_REGISTERS, Product
from dve_rtl.target import Target

BLOCK = Path(__file__).with_name("mult18x18d.v").read_text()

SETTINGS = [(*block, *block[:2]) for block in product((False, True), repeat=BLOCK_REGISTERS)]
"""Every choice of the registers of a block, and of those of the sum."""

LATENCIES = range(1, len(STAGES) + 1)


class Bench(wiring.Component):
    """Several pipelines on the same operands in one program; ``select`` says whose word is ``o``.

    Each is delayed to ``latency``, at least that of the deepest.
    """

    a: Value
    b: Value
    select: Value
    o: Value
    latency: int

    def __init__(self):
        super().__init__({"a": In(32), "b": In(32), "select": In(4), "o": Out(32)})

    def choose(self, m: Module, words: list[tuple[Value, int]]) -> None:
        """``o`` is one of the words; with each the latency of its pipeline."""
        together = [_delayed(m, word, self.latency - latency) for word, latency in words]
        select = _delayed(m, self.select, self.latency)
        m.d.comb += self.o.eq(Array(together)[select])


def _delayed(m: Module, value: Value, clocks: int) -> Value:
    for _ in range(clocks):
        later = Signal(len(value))
        m.d.sync += later.eq(value)
        value = later
    return value


class Products(Bench):
    """Word ``2*n`` is bits 31:0 of the ECP5 form with registers ``SETTINGS[n]``.

    Word ``2*n + 1`` is its bits 47:32, and in bit 31 whether any bit of the two forms differs.
    """

    latency = max(map(sum, SETTINGS))

    def elaborate(self, platform):
        m = Module()
        words = []
        for registers in SETTINGS:
            forms = {target: Product(registers=registers, target=target) for target in Target}
            for form in forms.values():
                m.submodules += form
                m.d.comb += [form.a.eq(self.a), form.b.eq(self.b)]
            block, portable = forms[Target.ECP5], forms[Target.PORTABLE]
            assert block.latency == portable.latency
            high = Cat(block.o[32:], C(0, 15), block.o != portable.o)
            words += [(block.o[:32], block.latency), (high, block.latency)]
        self.choose(m, words)
        return m


class Multipliers(Bench):
    """Word ``n`` is of the ECP5 form with latency ``LATENCIES[n]``."""

    latency = len(STAGES)

    def elaborate(self, platform):
        m = Module()
        words = []
        for latency in LATENCIES:
            m.submodules += (unit := Multiplier(latency=latency, target=Target.ECP5))
            m.d.comb += [unit.a.eq(self.a), unit.b.eq(self.b)]
            words.append((unit.o, latency))
        self.choose(m, words)
        return m


def factors() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of 24-bit factors: each corner with each other, and random ones; [n] each."""
    ones = (1 << SIGNIFICAND_BITS) - 1
    low_ones = (1 << BLOCK_BITS) - 1
    corners = {0, ones, low_ones, ones - low_ones, 0x555555, 0xAAAAAA}
    corners |= {1 << bit for bit in range(SIGNIFICAND_BITS)}
    corners |= {(1 << bit) - 1 for bit in range(SIGNIFICAND_BITS)}
    corners |= {ones ^ 1 << bit for bit in range(SIGNIFICAND_BITS)}
    pairs = np.array(list(product(sorted(corners), repeat=2)), np.uint32)
    random = np.random.default_rng(18).integers(0, 1 << SIGNIFICAND_BITS, (200_000, 2), np.uint32)
    a, b = np.concatenate((pairs, random)).T
    return a, b


@pytest.fixture(scope="module")
def products():
    with UnitSimulator(unit_verilog(Products()) + BLOCK) as simulator:
        yield simulator


@pytest.mark.parametrize("setting", range(len(SETTINGS)))
def test_both_forms_give_the_exact_product(products, setting):
    a, b = factors()
    exact = a.astype(np.uint64) * b
    for select, want in ((2 * setting, exact & 0xFFFFFFFF), (2 * setting + 1, exact >> 32)):
        products.send(a, b, select=select)
        np.testing.assert_array_equal(products.receive(), want)


@pytest.fixture(scope="module")
def multipliers():
    with UnitSimulator(unit_verilog(Multipliers()) + BLOCK) as simulator:
        yield simulator


@pytest.mark.parametrize("latency", LATENCIES)
def test_multiplier_of_blocks(multipliers, latency):
    """The grid of level 1 and random operands, at each latency: no bit and no clock differs."""
    entry = operation("multiply")
    for a, b in (*entry.grid(1, 0), *entry.random(grids.BLOCK, latency)):
        multipliers.send(a, b, select=latency - LATENCIES[0])
        np.testing.assert_array_equal(multipliers.receive(), entry.exact(a, b))
