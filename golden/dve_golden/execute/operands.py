"""From the fields of a validated record to its operands."""

from dve_golden.execute.operand import Operand
from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.codec import Fields
from dve_golden.isa.control import Control
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, ImmSrc
from dve_golden.memory.address import locate, resolve
from dve_golden.memory.walk import Walk
from dve_golden.state import State


class Operands:
    """The fields of one record, read against the registers and memories of a state.

    Parameters
    ----------
    state
        Where registers and memories are looked up.
    fields
        The decoded record; it has passed validation.

    Raises
    ------
    ValueError
        If a control value of the state is none.
    """

    def __init__(self, state: State, fields: Fields) -> None:
        self._state = state
        self._fields = fields
        self._control = Control.from_words(state.control)

    def number(self, name: str) -> int:
        """A scalar field."""
        value = self._fields[name]
        assert isinstance(value, int), name
        return value

    def dtype(self, name: str) -> Dtype:
        """A field that holds an element type."""
        return Dtype(self.number(name))

    def tensor(self, name: str, dtype_field: str) -> Operand:
        """The access pattern ``name`` (isa_common.md 4.1); its address may be a register's."""
        return self._operand(
            self._resolved(f"{name}.start_addr"),
            self.dtype(dtype_field),
            self._numbers(f"{name}.step_elem"),
            self._numbers(f"{name}.num_elem"),
            self.number("num_active_channels"),
        )

    def vector(self, address_field: str, dtype_field: str, count: int) -> Operand:
        """``count`` consecutive elements in the one partition that an ADDR4 field names."""
        address = self._resolved(address_field)
        return self._operand(address, self.dtype(dtype_field), (1,), (count,), channels=1)

    def immediate(self, name: str, dtype: Dtype, source: int) -> Floats:
        """One widened element per channel, [channels], through a pointer.

        The pointer is in the field, or in the register that the field names. A parameter load
        accepts selector 0 for the former (batchnorm.md section 4).
        """
        pointer = self.number(name)
        if source == ImmSrc.REGISTER:
            pointer = int(self._state.registers[pointer])
        operand = self._operand(pointer, dtype, (), (), self.number("num_active_channels"))
        return operand.read_all()[:, 0]

    def _resolved(self, field: str) -> int | None:
        return resolve(self.number(field), self._state.registers, self._state.geometry.generation)

    def _numbers(self, name: str) -> tuple[int, ...]:
        value = self._fields[name]
        assert isinstance(value, tuple), name
        return value

    def _operand(
        self,
        address: int | None,
        dtype: Dtype,
        steps: tuple[int, ...],
        counts: tuple[int, ...],
        channels: int,
    ) -> Operand:
        start = None if address is None else locate(address, self._state.geometry.generation)
        assert start is not None, "validation admits addresses in SBUF and PSUM only"
        walk = Walk(start, DTYPE_BYTES[dtype], steps, counts)
        memory = self._state.memory(start.region)
        return Operand(memory, walk, dtype, channels, self._control)
