"""Control values of the converters as the host reads and writes them."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.control import IEEE_EMAX_E4M3, OCP_EMAX_E4M3
from dve_golden.isa.generations import Generation

from .control import ConverterControl, reset_values


class ControlRegisters(wiring.Component):
    """One word for each control value, in the order of `ConverterControl`.

    A word holds 0 or 1, the first one 7 or 8. Of a value that is neither, the first word takes 7,
    any other the lowest bit. Words beyond the last read as 0 and take nothing.

    Like the lane state they keep their values at reset; at power-on they are the generation's.

    Parameters
    ----------
    generation : Generation

    Members
    -------
    word : In(15)
        Which one to read or write.
    write : In(1), data : In(32)
        Write it at the end of this clock.
    value : Out(32)
        What it holds in this clock.
    control : Out(ConverterControl)
    """

    word: In(15)
    write: In(1)
    data: In(32)
    value: Out(32)
    control: Out(ConverterControl)

    def __init__(self, generation: Generation):
        self._reset_values = reset_values(generation)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        held = Signal(ConverterControl, init=self._reset_values, reset_less=True)
        m.d.comb += self.control.eq(held)
        with m.Switch(self.word):
            for word, name in enumerate(self._reset_values):
                bit = getattr(held, name)
                if name == "emax_e4m3_is_8":
                    value, new = Mux(bit, OCP_EMAX_E4M3, IEEE_EMAX_E4M3), self.data == OCP_EMAX_E4M3
                else:
                    value, new = bit, self.data[0]
                with m.Case(word):
                    m.d.comb += self.value.eq(value)
                    with m.If(self.write):
                        m.d.sync += bit.eq(new)
        return m
