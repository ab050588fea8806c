"""A built program as text, with the names of its tensors in comments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import format_dtype, format_location
from dve_golden.isa.text import format_instruction
from dve_golden.memory.address import Location
from dve_golden.program.tensor import Tensor, View


@dataclass(frozen=True)
class Line:
    """One instruction.

    Parameters
    ----------
    record : bytes
        64 bytes.
    operands : dict
        The view that each operand stands for.
    """

    record: bytes
    operands: dict[str, View]


def format_program(lines: Iterable[Line], tensors: Sequence[Tensor], generation: Generation) -> str:
    """Text that assembles to the records of ``lines``."""
    text = "".join(f"# {described}\n" for described in _columns(tensors))
    for line in lines:
        names = " ".join(f"{role}={view.name}" for role, view in line.operands.items())
        comment = f"  # {names}" if names else ""
        text += f"{format_instruction(line.record, generation)}{comment}\n"
    return text


def _columns(tensors: Sequence[Tensor]) -> Iterable[str]:
    width = max((len(tensor.name) for tensor in tensors), default=0)
    for tensor in tensors:
        place = Location(tensor.region, tensor.partition, tensor.offset)
        shape = " x ".join(map(str, tensor.shape))
        yield (
            f"{tensor.name:{width}}  {format_location(place)} {format_dtype(tensor.dtype)}, "
            f"{tensor.channels} channels, {shape}"
        )
