"""Exact product of two significands: the one place where a target's multiplier block enters."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..target import Target
from .format import SIGNIFICAND_BITS
from .staging import Stages

BLOCK_BITS = 18
"""Factor width of a MULT18X18D."""

BLOCK_REGISTERS = 3
"""Registers of a MULT18X18D, in the order of the data: input, pipeline, output."""

REGISTERS = BLOCK_REGISTERS + 2
"""Places for registers in a product: those of the blocks, then two that split the final sum."""


class Product(wiring.Component):
    """Exact unsigned 24 x 24 bit product; a new one can start every clock.

    Both forms have the same ports, values and latency. The portable form is one ``*`` behind the
    first register and before the others, where synthesizers that move registers, or absorb them
    into multiplier blocks, find them. Yosys does neither, so for ECP5 four MULT18X18D are
    instantiated with their own registers on.

    Parameters
    ----------
    registers : tuple of bool
        Which of the places in `REGISTERS` have one.
    target : Target

    Members
    -------
    a, b : In(24)
        Factors.
    o : Out(48)
        Product, as many clocks later as there are registers.
    """

    a: In(SIGNIFICAND_BITS)
    b: In(SIGNIFICAND_BITS)
    o: Out(2 * SIGNIFICAND_BITS)

    def __init__(self, *, registers: tuple[bool, ...], target: Target):
        assert len(registers) == REGISTERS
        self.registers = registers
        self.target = target
        super().__init__()

    @property
    def latency(self) -> int:
        return sum(self.registers)

    def elaborate(self, platform):
        m = Module()
        match self.target:
            case Target.PORTABLE:
                self._portable(m)
            case Target.ECP5:
                self._ecp5(m)
        return m

    def _portable(self, m: Module) -> None:
        stages = Stages(m, self.registers)
        factors = stages.close(a=self.a, b=self.b)
        s = stages.close(product=factors.a * factors.b)
        for _ in range(REGISTERS - 2):
            s = stages.close(product=s.product)
        m.d.comb += self.o.eq(s.product)

    def _ecp5(self, m: Module) -> None:
        # Each factor is high * 2^18 + low, high of 6 bits. The outer products do not overlap: that
        # of the lows has 36 bits, that of the highs begins at bit 36. The two cross products of 24
        # bits are added to them at bit 18; the low 18 bits are final.
        parts = {"low": slice(BLOCK_BITS), "high": slice(BLOCK_BITS, None)}
        products = {}
        for a_part, a_bits in parts.items():
            for b_part, b_bits in parts.items():
                a, b = self.a[a_bits], self.b[b_bits]
                o = Signal(2 * BLOCK_BITS, name=f"{a_part}_{b_part}")
                block = _mult18x18d(a, b, o, self.registers[:BLOCK_REGISTERS])
                m.submodules[f"{a_part}_{b_part}"] = block
                products[a_part, b_part] = o[: len(a) + len(b)]
        stages = Stages(m, self.registers[BLOCK_REGISTERS:])
        s = stages.close(
            outer=Cat(products["low", "low"], products["high", "high"]),
            cross=products["low", "high"] + products["high", "low"],
        )
        high = s.outer[BLOCK_BITS:] + s.cross  # the whole product has 48 bits: no carry
        s = stages.close(product=Cat(s.outer[:BLOCK_BITS], high[: len(self.o) - BLOCK_BITS]))
        m.d.comb += self.o.eq(s.product)


def _mult18x18d(a: Value, b: Value, o: Signal, registers: tuple[bool, ...]) -> Instance:
    """``o = a * b``, unsigned, in one block; its registers in the order of the data."""
    ports = {}
    for letter, factor in (("A", a), ("B", b)):
        padded = Cat(factor, C(0, BLOCK_BITS - len(factor)))
        ports |= {f"i_{letter}{bit}": padded[bit] for bit in range(BLOCK_BITS)}
        ports |= {f"i_SIGNED{letter}": C(0, 1), f"i_SOURCE{letter}": C(0, 1)}
    ports |= {f"i_C{bit}": C(0, 1) for bit in range(BLOCK_BITS)}
    ports |= {f"o_P{bit}": o[bit] for bit in range(2 * BLOCK_BITS)}
    ports |= {"i_CLK0": ClockSignal(), "i_CE0": C(1, 1), "i_RST0": C(0, 1)}
    names = (("INPUTA", "INPUTB"), ("PIPELINE",), ("OUTPUT",))
    clocks = {
        f"p_REG_{name}_CLK": "CLK0" if registered else "NONE"
        for stage, registered in zip(names, registers, strict=True)
        for name in stage
    }
    return Instance("MULT18X18D", p_GSR="DISABLED", **clocks, **ports)
