"""Hardware layouts of the wire structs, derived from the tables of ``dve_golden.isa``."""

from amaranth.hdl import Shape
from amaranth.lib import data
from dve_golden.isa.types import Array, Record, Scalar, Wire


def shape_of(wire: Wire) -> Shape | data.Layout:
    """Shape of one wire type.

    A reserved run becomes one wide unsigned value, because it is only ever compared with zero.
    """
    if isinstance(wire, Scalar):
        return Shape(wire.bits, wire.signed)
    if isinstance(wire, Array):
        if wire.element.kind == "reserved":
            return Shape(wire.bits)
        return data.ArrayLayout(shape_of(wire.element), wire.length)
    return layout_of(wire)


def layout_of(record: Record) -> data.StructLayout:
    """Layout of a record: the same members in the same order, from the lowest bit."""
    return data.StructLayout({member.name: shape_of(member.type) for member in record.members})
