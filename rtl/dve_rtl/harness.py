"""The registered harness that a unit is measured in.

A unit's paths only count if they run from register to register, and a device has fewer pins than a
lane has ports. The harness is one chain of registers that moves by one place a clock. The chain is
the unit's operands, loaded through one pin; where ``capture`` is high, the unit's results take the
places at the chain's beginning, and leave through another pin. It costs a register for each bit of
operands and three for the pins, and a table for each bit of results: for the adder 68 and 32.
"""

from collections.abc import Collection

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Harness(wiring.Component):
    """A component with all of its ports in one chain of registers.

    Operands stand in the chain for one clock, and other ones in the next. The results of a
    pipelined unit are captured ``latency`` clocks later.

    Parameters
    ----------
    unit : Component
        Any component; its ports may be streams and structs.
    unobserved : collection of str
        Outputs that are not captured, by name: those that repeat others.

    Members
    -------
    serial_in, capture : In(1)
        Registered. What was at ``serial_in`` is at place 0 of the chain two clocks later, unless
        results took it.
    serial_out : Out(1)
        The chain's last place, out of a register.
    """

    serial_in: In(1)
    capture: In(1)
    serial_out: Out(1)

    def __init__(self, unit: wiring.Component, *, unobserved: Collection[str] = ()):
        self.unit = unit
        ports = [
            (member.flow, Value.cast(port))
            for path, member, port in unit.signature.flatten(unit)
            if path[0] not in unobserved
        ]
        self._operands = Cat(port for flow, port in ports if flow is In)
        self._results = Cat(port for flow, port in ports if flow is Out)
        super().__init__()

    @property
    def length(self) -> int:
        """Places of the chain."""
        return max(len(self._operands), len(self._results))

    @property
    def lut4(self) -> int:
        """Tables of 4 inputs that it takes: a choice for each bit of results."""
        return len(self._results)

    @property
    def ff(self) -> int:
        """Registers that it takes."""
        return self.length + 3

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = self.unit
        chain = Signal(self.length, reset_less=True)
        first = Signal(reset_less=True)
        captured = Signal(reset_less=True)
        last = Signal(reset_less=True)
        m.d.sync += [
            first.eq(self.serial_in),
            captured.eq(self.capture),
            chain.eq(Cat(first, chain)),
            last.eq(chain[-1]),
        ]
        with m.If(captured):
            m.d.sync += chain[: len(self._results)].eq(self._results)
        m.d.comb += [self._operands.eq(chain), self.serial_out.eq(last)]
        return m
