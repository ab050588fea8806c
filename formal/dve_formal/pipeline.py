"""Whether a pipeline delays all of its operands alike.

If every path from a port into the unit to a port out of it has the same number L of registers, all
of them on one clock and without enable or reset, then the unit is the function that it has with its
registers made wires, L clocks later. That carries every proof over to the unit with its registers.

Ports that are constant while there are operands in the unit have a part in this function, but none
in its timing: they may meet an operand behind any register.
"""

from collections import defaultdict
from typing import Any

Bit = int | str
"""A net of Yosys's JSON, or a constant."""

REGISTER = "$dff"
IGNORED = frozenset({"$scopeinfo"})
CLOCKS = frozenset({"clk", "rst"})
CONSTANT = frozenset({"control"})

Depth = int | None
"""Registers from the operands on; None of what is constant."""


class Unbalanced(Exception):
    """The paths of a netlist have different numbers of registers; the message says where."""


def latency(module: dict[str, Any], output: str) -> int:
    """Registers on every path from an input to an output.

    Parameters
    ----------
    module : dict
        A flat module of Yosys's JSON, at word level.
    output : str
        Name of the port.

    Raises
    ------
    Unbalanced
        If there is no such number, or if something has a state that is not a plain register.
    """
    names = _names(module)
    depths: dict[Bit, Depth] = {}
    for name, port in module["ports"].items():
        if port["direction"] == "input" and name not in CLOCKS:
            depths |= dict.fromkeys(port["bits"], None if name in CONSTANT else 0)
    clock = module["ports"]["clk"]["bits"][0]
    users = defaultdict(list)
    waiting = {}
    for name, cell in module["cells"].items():
        if cell["type"] in IGNORED:
            continue
        operands = _bits(cell, "input")
        if cell["type"] == REGISTER:
            if cell["connections"]["CLK"] != [clock] or cell["parameters"]["CLK_POLARITY"] == "0":
                raise Unbalanced(f"the register {name} is not on the rising edge of clk")
            operands -= {clock}
        elif any(word in cell["type"] for word in ("dff", "latch", "mem", "$sr", "$fsm")):
            raise Unbalanced(f"{name} is {cell['type']}, not a plain register")
        waiting[name] = len(operands)
        for bit in operands:
            users[bit].append(name)
    ready = list(depths)
    while ready:
        for name in users[ready.pop()]:
            waiting[name] -= 1
            if waiting[name] == 0:
                cell = module["cells"][name]
                depth = _depth(cell, clock, depths, names)
                for bit in _bits(cell, "output"):
                    depths[bit] = depth
                    ready.append(bit)
    bits = [bit for bit in module["ports"][output]["bits"] if isinstance(bit, int)]
    found = {depth for bit in bits if (depth := depths.get(bit)) is not None}
    if not found or any(bit not in depths for bit in bits):
        raise Unbalanced(f"{output} depends on a loop, or on no operand")
    if len(found) != 1:
        raise Unbalanced(f"bits of {output} are behind {sorted(found)} registers")
    return found.pop()


def _depth(
    cell: dict[str, Any], clock: Bit, depths: dict[Bit, Depth], names: dict[Bit, str]
) -> Depth:
    """Registers before the outputs of a cell all of whose operands are known."""
    operands = {
        bit: depth
        for bit in _bits(cell, "input")
        if bit != clock and (depth := depths[bit]) is not None
    }
    if len(set(operands.values())) > 1:
        least, most = (choose(operands, key=operands.__getitem__) for choose in (min, max))
        raise Unbalanced(
            f"{names.get(least, least)} is behind {operands[least]} registers where it meets "
            f"{names.get(most, most)} behind {operands[most]}"
        )
    if not operands:
        return None
    return next(iter(operands.values())) + (cell["type"] == REGISTER)


def _bits(cell: dict[str, Any], direction: str) -> set[Bit]:
    """Nets at the ports of one direction; constants are none."""
    return {
        bit
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == direction
        for bit in bits
        if isinstance(bit, int)
    }


def _names(module: dict[str, Any]) -> dict[Bit, str]:
    """A name for each net, those of the source first."""
    names: dict[Bit, str] = {}
    for hidden in (1, 0):
        for name, net in module["netnames"].items():
            if net["hide_name"] == hidden:
                names |= dict.fromkeys(net["bits"], name)
    return names
