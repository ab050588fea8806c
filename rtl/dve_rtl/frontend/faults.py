"""Sets of reasons for which a record is illegal, and which one is reported (isa_common.md 5.8)."""

from amaranth import *
from amaranth.lib import data
from dve_golden.isa.enums import Reason


def fault_layout(*reasons: Reason) -> data.StructLayout:
    """One bit per reason, named like it, lowest reason first."""
    return data.StructLayout({reason.name.lower(): 1 for reason in sorted(reasons)})


ALL_REASONS = tuple(reason for reason in Reason if reason is not Reason.NONE)
Faults = fault_layout(*ALL_REASONS)
"""Every reason; bit i is reason i + 1."""


def union(*found) -> Value:
    """The reasons in any of several sets, as the bits of ``Faults``."""
    bits = []
    for reason in ALL_REASONS:
        name = reason.name.lower()
        bits.append(Cat(*(view[name] for view in found if name in view.shape().members)).any())
    return Cat(*bits)


def report(m: Module, faults, reason) -> None:
    """Drive ``reason`` with the lowest reason in ``faults``, or with 0. Combinational."""
    for candidate in reversed(ALL_REASONS):
        with m.If(faults[candidate.name.lower()]):
            m.d.comb += reason.eq(candidate)
