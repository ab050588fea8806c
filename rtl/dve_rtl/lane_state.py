"""Per-channel state of one lane, and its copy of the Parameter RAM (batchnorm.md 6, 7)."""

from fractions import Fraction

from amaranth import *
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import PARAMETER_RAM_ENTRIES

from dve_rtl.config import EngineConfig

ONE = 0x3F800000
INFINITY = 0x7F800000


def reciprocal_table() -> list[int]:
    """Reset content of the Parameter RAM: 1/n correctly rounded; entry 0 holds 1.0."""
    return [ONE] + [_reciprocal_bits(n) for n in range(1, PARAMETER_RAM_ENTRIES)]


def _reciprocal_bits(n: int) -> int:
    # 1/n lies in [2^exponent, 2^(exponent+1)); a significand has 24 bits. No tie is possible:
    # a midpoint has 25 significant bits, and 25-bit * n = power of two has no other solution
    # than n a power of two, where the quotient is exact.
    exponent = -((n - 1).bit_length())
    significand = round(Fraction(1, n) / Fraction(2) ** (exponent - 23))
    return (exponent + 127 << 23) + significand - (1 << 23)


class LaneState(wiring.Component):
    """RAMs of {N, mean, A, B, C}, of what is derived from them, and the Parameter RAM.

    Every value has its own read address, because each is read one clock before the unit that
    takes it works, and at one time several channel groups are on their way through the units.
    ``mean``, ``scale``, N and its general reciprocal have two banks: the lane state (mean, C, N),
    which lasts, and the immediates, which do not belong to it: those of the current GradAccumulate
    (mean, inv_std), and what the current statistics keep.

    Latency: 1 clock from address to value; ``recip`` 2 clocks, because N decides between the
    Parameter RAM and the stored general reciprocal.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    immediates : In(1)
        Read the bank of immediates; constant while an instruction executes.
    {mean,scale,n,a,b,recip,prefactor}_group : In
        Channel group to read.
    {mean,scale,n,a,b,recip,prefactor} : Out(32)
    write_group : In
        Channel group to write.
    write_{mean,scale,a,b,n} : In(1)
        Write ``value``, or for N ``n_value`` and its general reciprocal ``recip_value``.
    write_bank : In(1)
        Bank to write; 1 for immediates.
    in_table : Out(1)
        ``recip`` is an entry of the Parameter RAM.
    value, n_value, recip_value : In(32)
    write_prefactor, prefactor_write_group, prefactor_value : In
        The derived prefactor A * recip(N) of a group.
    write_entry, entry, entry_value : In
        One entry of the Parameter RAM.
    entry_read, entry_read_value : In(1), Out(32)
        Read of the Parameter RAM at ``entry``, by the host or for statistics; it takes the place
        of ``recip``. Latency 1 clock.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        group = config.group_bits
        values = ("mean", "scale", "n", "a", "b", "recip", "prefactor")
        super().__init__(
            {
                "immediates": In(1),
                **{f"{name}_group": In(group) for name in values},
                **{name: Out(32) for name in values},
                "write_group": In(group),
                **{f"write_{name}": In(1) for name in ("mean", "scale", "a", "b", "n")},
                "write_bank": In(1),
                "value": In(32),
                "n_value": In(32),
                "recip_value": In(32),
                "write_prefactor": In(1),
                "prefactor_write_group": In(group),
                "prefactor_value": In(32),
                "write_entry": In(1),
                "entry": In(8),
                "entry_value": In(32),
                "entry_read": In(1),
                "entry_read_value": Out(32),
                "in_table": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        groups = self.config.groups

        def ram(name, *, depth=groups, init=()):
            array = memory.Memory(shape=unsigned(32), depth=depth, init=list(init))
            m.submodules[f"{name}_ram"] = array
            return array

        def write(array, enable, address, value):
            port = array.write_port()
            m.d.comb += [port.en.eq(enable), port.addr.eq(address), port.data.eq(value)]

        def read(array, address):
            port = array.read_port()
            m.d.comb += port.addr.eq(address)
            return port.data

        banked_write = Cat(self.write_group, self.write_bank)
        for name in ("mean", "scale"):
            banked = ram(name, depth=2 * groups)
            write(banked, getattr(self, f"write_{name}"), banked_write, self.value)
            address = Cat(getattr(self, f"{name}_group"), self.immediates)
            m.d.comb += getattr(self, name).eq(read(banked, address))
        for name in ("a", "b"):
            array = ram(name)
            write(array, getattr(self, f"write_{name}"), self.write_group, self.value)
            m.d.comb += getattr(self, name).eq(read(array, getattr(self, f"{name}_group")))
        prefactors = ram("prefactor")
        write(prefactors, self.write_prefactor, self.prefactor_write_group, self.prefactor_value)
        m.d.comb += self.prefactor.eq(read(prefactors, self.prefactor_group))

        counts = ram("n", depth=2 * groups)
        write(counts, self.write_n, banked_write, self.n_value)
        m.d.comb += self.n.eq(read(counts, Cat(self.n_group, self.immediates)))

        # recip: N is read first; if it is an integer in 1..255 it is the address of the
        # Parameter RAM, else the stored general reciprocal counts (section 9). A lane that was
        # never loaded has N = 0, whose reciprocal is +inf.
        general = ram("recip", depth=2 * groups, init=[INFINITY] * groups)
        write(general, self.write_n, banked_write, self.recip_value)
        address = Cat(self.recip_group, self.immediates)
        n = read(counts, address)
        general_address = Signal.like(address)
        m.d.sync += general_address.eq(address)

        # 1.fraction shifted left by exponent - 127 (0 to 7): eight integer bits, 23 below them.
        biased = n[23:31]
        fixed = Signal(31)
        integer = Signal()
        m.d.comb += [
            fixed.eq(Cat(n[:23], Const(1, 1)) << (biased[:3] + 1)[:3]),
            integer.eq(~n[31] & (biased >= 127) & (biased < 135) & (fixed[:23] == 0)),
        ]
        entries = ram("parameter", depth=PARAMETER_RAM_ENTRIES, init=reciprocal_table())
        write(entries, self.write_entry, self.entry, self.entry_value)
        entry = read(entries, Mux(self.entry_read, self.entry, fixed[23:31]))
        tabulated = Signal()
        m.d.sync += tabulated.eq(integer)
        m.d.comb += [
            self.entry_read_value.eq(entry),
            self.recip.eq(Mux(tabulated, entry, read(general, general_address))),
            self.in_table.eq(tabulated),
        ]
        return m
