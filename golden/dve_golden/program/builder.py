"""Programs written with named tensors; every instruction they hold is legal."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import index
from typing import Unpack

import numpy as np

from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, ImmSrc, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import MNEMONICS
from dve_golden.isa.operators import AluOp
from dve_golden.memory.address import QUADRANT, Geometry, Location, Region, address_of, regions_of
from dve_golden.program.allocation import Allocator
from dve_golden.program.printing import Line, format_program
from dve_golden.program.tensor import Tensor, View, whole
from dve_golden.program.waits import Events, event_fields

Operand = Tensor | View
"""What instructions take; a tensor stands for the view of all of it."""


class ProgramError(ValueError):
    """An instruction that cannot be written: the message names it, the operand and the rule."""


class ProgramBuilder:
    """Allocates tensors and appends instructions.

    Sources are broadcast to the shape of the destination as numpy does, by step 0. An instruction
    acts on as many channels as its operands have; `Tensor.on` takes fewer of a tensor. Each takes
    ``wait`` and ``update`` as keywords, a `Wait` and an `Update`.

    Parameters
    ----------
    generation : Generation
    sbuf_bytes, psum_bytes : int
        Configured bytes per partition.

    Raises
    ------
    ValueError
        If a size is not a positive number of whole words.
    """

    def __init__(
        self,
        *,
        generation: Generation = Generation.CAYMAN,
        sbuf_bytes: int = 64 * 1024,
        psum_bytes: int = 16 * 1024,
    ) -> None:
        self.geometry = Geometry(
            sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes, generation=generation
        )
        self._allocators = {
            region: Allocator(region.value, self.geometry.active(region)) for region in Region
        }
        self._tensors: dict[Tensor, None] = {}  # in the order in which they were made
        self._live: dict[str, Tensor] = {}
        self._lines: list[Line] = []

    # --- tensors -----------------------------------------------------------------------------

    def sbuf(
        self,
        name: str,
        channels: int,
        shape: int | tuple[int, ...],
        dtype: Dtype = Dtype.FP32,
        *,
        partition: int = 0,
    ) -> Tensor:
        """A new tensor in SBUF: ``channels`` partitions with ``shape`` elements each.

        It starts on an 8-byte word, so that it is aligned for every dtype. The name is one word, as
        the text of the program has it in its comments.

        Raises
        ------
        ProgramError
            If the name is none or that of a live tensor, the dtype has no elements of whole bytes,
            the shape is empty, the generation has no such memory,
            or the channels do not fit the start partition: 0 takes 1 to 128, 64 up to 64, 32 and 96
            up to 32.
        AllocationError
            If no partition has room.
        """
        return self._allocate(Region.SBUF, name, channels, shape, dtype, partition)

    def psum(
        self,
        name: str,
        channels: int,
        shape: int | tuple[int, ...],
        dtype: Dtype = Dtype.FP32,
        *,
        partition: int = 0,
    ) -> Tensor:
        """A new tensor in PSUM; otherwise as `sbuf`."""
        return self._allocate(Region.PSUM, name, channels, shape, dtype, partition)

    def free(self, *tensors: Tensor) -> None:
        """Give the bytes of tensors back; using one afterwards is an error.

        Raises
        ------
        ProgramError
            If one is free already.
        """
        for tensor in tensors:
            if not tensor.live:
                raise ProgramError(f"{tensor.name} is freed twice")
            tensor.live = False
            del self._live[tensor.name]
            self._allocators[tensor.region].release(tensor.block)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Free at the end, an error too, whatever was allocated inside and is still live."""
        before = set(self._live.values())
        try:
            yield
        finally:
            self.free(*(tensor for tensor in self._live.copy().values() if tensor not in before))

    def written_by_host(self, operand: Operand) -> None:
        """Say that the host puts values there before the program reads them."""
        view = self._usable("operand", whole(operand))
        view.tensor.mark_written(view.elements(), view.channels)

    # --- instructions ------------------------------------------------------------------------

    def tensor_tensor(
        self,
        dst: Operand,
        a: Operand,
        b: Operand,
        op: str | AluOp,
        **events: Unpack[Events],
    ) -> None:
        """``dst = a op b`` in binary32, one rounding, then the one of the destination's dtype.

        Parameters
        ----------
        op : str or AluOp
            A general arithmetic operator (isa_common.md 6.1), by name in any case.

        Raises
        ------
        ProgramError
            As every instruction: if a tensor is free, a source holds no value yet, shapes or
            channels do not match, or the record would break a rule of legality.
        """
        code = _operator(op)
        self._three(Opcode.TENSOR_TENSOR_ARITH_OP, dst, a, b, events, {"op": code})

    def bitvec(
        self,
        dst: Operand,
        a: Operand,
        b: Operand,
        op: str | AluOp,
        **events: Unpack[Events],
    ) -> None:
        """``dst = a op b`` on raw elements of one integer dtype; raises as `tensor_tensor`."""
        code = _operator(op)
        self._three(Opcode.TENSOR_TENSOR_BITVEC_OP, dst, a, b, events, {"op": code})

    def copy_predicated(
        self,
        dst: Operand,
        predicate: Operand,
        data: Operand,
        **events: Unpack[Events],
    ) -> None:
        """``dst = data`` bit for bit where the integer ``predicate`` is not 0.

        The destination must hold values already, because the others stay.
        """
        self._three(Opcode.COPY_PREDICATED, dst, predicate, data, events, partial_write=True)

    def cast_predicated(
        self,
        dst: Operand,
        predicate: Operand,
        data: Operand,
        **events: Unpack[Events],
    ) -> None:
        """`copy_predicated` with a conversion through binary32 if the dtypes differ."""
        self._three(Opcode.CAST_PREDICATED, dst, predicate, data, events, partial_write=True)

    def back_prop(
        self,
        dst: Operand,
        x: Operand,
        dy: Operand,
        **events: Unpack[Events],
    ) -> None:
        """d_x of ``x`` and ``dy`` with the lane state that `param_load` left (0x65)."""
        self._three(Opcode.BATCH_NORM_BACK_PROP, dst, x, dy, events)

    def grad_accumulate(
        self,
        sums: Operand,
        x: Operand,
        dy: Operand,
        mean: Operand,
        inv_std: Operand,
        **events: Unpack[Events],
    ) -> None:
        """The three ``sums``: d_beta, d_gamma and the sum of the normalised values (0x94).

        ``mean`` and ``inv_std`` have one element per channel, of one dtype.
        """
        out, first, second = whole(sums), whole(x), whole(dy)
        pointers = {"imm0": whole(mean), "imm1": whole(inv_std)}
        operands = {"dst": out, "src0": first, "src1": second, **pointers}
        fields: Fields = {
            **self._pattern("dst", out, 1),
            **self._pattern("src0", first, 3),
            **self._pattern("src1", second, 3),
            **self._pointers(pointers),
            "imm0_imm1_src.lo": ImmSrc.POINTER,
            "imm0_imm1_src.hi": ImmSrc.POINTER,
            "in0_in1_dtype.lo": first.dtype,
            "in0_in1_dtype.hi": second.dtype,
            "immediate_out_dtype.lo": pointers["imm0"].dtype,
            "immediate_out_dtype.hi": out.dtype,
        }
        self._emit(Opcode.BATCH_NORM_GRAD_ACCUMULATE2, operands, fields, events)

    def param_load(
        self,
        b_and_c: Operand,
        a: Operand,
        mean: Operand,
        count: int,
        **events: Unpack[Events],
    ) -> None:
        """Load N = ``count``, mean, A, B and C into the lane state (0x8e).

        ``b_and_c`` has two elements per channel, ``a`` and ``mean`` have one, of one dtype.
        """
        source = whole(b_and_c)
        pointers = {"imm0": whole(mean), "imm1": whole(a)}
        fields: Fields = {
            **self._pattern("src", source, 2),
            **self._pointers(pointers),
            "imm0_src": ImmSrc.POINTER,
            "imm1_src": ImmSrc.POINTER,
            "src_dtype": source.dtype,
            "immediate_dtype": pointers["imm0"].dtype,
            "element_count": int(np.float32(count).view(np.uint32)),
        }
        operands = {"src": source, **pointers}
        self._emit(Opcode.BATCH_NORM_PARAM_LOAD2, operands, fields, events)

    def stats2(self, dst: Operand, src: Operand, **events: Unpack[Events]) -> None:
        """Count, mean and nvar of the even and of the odd elements of ``src`` (0x61).

        ``dst`` has six elements per channel, ``src`` 512 at most.
        """
        source = whole(src)
        elements = int(np.prod(source.shape))
        counts: Fields = {
            "even_count": int(np.float32((elements + 1) // 2).view(np.uint32)),
            "odd_count": int(np.float32(elements // 2).view(np.uint32)),
        }
        self._statistics(Opcode.BATCH_NORM_STATS2, whole(dst), source, events, counts)

    def aggregate(self, dst: Operand, src: Operand, **events: Unpack[Events]) -> None:
        """Mean and variance of the union of sets, each given by count, mean and nvar (0x62).

        ``dst`` has two elements per channel, ``src`` three for each set.
        """
        self._statistics(Opcode.BATCH_NORM_AGGREGATE, whole(dst), whole(src), events, {})

    def event_semaphore(self, **events: Unpack[Events]) -> None:
        """Wait and update, each with an operand of its own (0xa0)."""
        self._append(Opcode.EVENT_SEMAPHORE, event_fields(**events, extended=True), {})

    def nop(self, **events: Unpack[Events]) -> None:
        """Wait and update, and nothing else (0xa4)."""
        self._append(Opcode.NOP, event_fields(**events), {})

    # --- results -----------------------------------------------------------------------------

    def encode(self, start: int = 0) -> bytes:
        """The program from instruction ``start`` on, 64 bytes each."""
        return b"".join(line.record for line in self._lines[start:])

    def assembly(self) -> str:
        """The program as text: a table of the tensors, then a line per instruction.

        `dve_golden.isa.text.assemble` makes of it what `encode` gives.
        """
        return format_program(self._lines, list(self._tensors), self.geometry.generation)

    def footprint(
        self, region: Region, start: int = 0, *, written: bool = False
    ) -> tuple[range, ...]:
        """Bytes of a partition in the tensors that instructions use, from ``start`` on.

        ``written`` asks for those of destinations only.
        """
        tensors = {
            view.tensor: None
            for line in self._lines[start:]
            for role, view in line.operands.items()
            if view.tensor.region is region and (role == "dst" or not written)
        }
        return tuple(range(t.block.offset, t.block.end) for t in tensors)

    def __len__(self) -> int:
        """Instructions so far."""
        return len(self._lines)

    # --- how an instruction is made ----------------------------------------------------------

    def _allocate(
        self,
        region: Region,
        name: str,
        channels: int,
        shape: int | tuple[int, ...],
        dtype: Dtype,
        partition: int,
    ) -> Tensor:
        counts = shape if isinstance(shape, Iterable) else (shape,)
        shape, channels = tuple(map(index, counts)), index(channels)  # numpy's integers as well
        generation = self.geometry.generation
        if not name.isprintable() or name.split() != [name]:
            raise ProgramError(f"a name is one printable word, got {name!r}")
        if not isinstance(dtype, Dtype) or dtype not in DTYPE_BYTES:
            raise ProgramError(f"{name}: dtype must be a Dtype with a size, got {dtype!r}")
        if region not in regions_of(generation):
            raise ProgramError(f"{name}: {generation.value} has no {region.value}")
        if name in self._live:
            raise ProgramError(f"there is a live tensor {name} already")
        if not shape or min(shape) < 1:
            raise ProgramError(f"{name} has no elements: shape {shape}")
        if channels < 1 or channels > _CHANNELS_FROM.get(partition, 0):
            raise ProgramError(
                f"{name}: {channels} channels cannot start at partition {partition};"
                " a start of 0 takes 1 to 128, of 64 up to 64, of 32 or 96 up to 32"
            )
        size = int(np.prod(shape)) * DTYPE_BYTES[dtype]
        block = self._allocators[region].allocate(name, partition, channels, size)
        tensor = Tensor(name, region, partition, channels, shape, dtype, block)
        self._tensors[tensor] = None
        self._live[name] = tensor
        return tensor

    def _three(
        self,
        opcode: Opcode,
        dst: Operand,
        src0: Operand,
        src1: Operand,
        events: Events,
        selector: Fields | None = None,
        *,
        partial_write: bool = False,
    ) -> None:
        """An instruction of the struct S3S3D3_TT."""
        out = whole(dst)
        try:
            first, second = (whole(source).broadcast_to(out.shape) for source in (src0, src1))
        except ValueError as error:
            raise ProgramError(f"{MNEMONICS[opcode]}: {error}") from None
        operands = {"dst": out, "src0": first, "src1": second}
        fields: Fields = {
            **(selector or {}),
            **self._pattern("dst", out, 3),
            **self._pattern("src0", first, 3),
            **self._pattern("src1", second, 3),
            "in0_in1_dtype.lo": first.dtype,
            "in0_in1_dtype.hi": second.dtype,
            "out_dtype": out.dtype,
        }
        if partial_write:
            self._require_values(opcode, "dst", out)
        self._emit(opcode, operands, fields, events)

    def _statistics(
        self, opcode: Opcode, dst: View, src: View, events: Events, counts: Fields
    ) -> None:
        """An instruction of the struct S4D2_BN."""
        fields: Fields = {
            **self._pattern("dst", dst, 2),
            **self._pattern("src", src, 4),
            **counts,
            "in_dtype": src.dtype,
            "out_dtype": dst.dtype,
        }
        self._emit(opcode, {"dst": dst, "src": src}, fields, events)

    def _emit(
        self,
        opcode: Opcode,
        operands: Mapping[str, View],
        fields: Fields,
        events: Events,
    ) -> None:
        """Check the operands, append, and note what is written."""
        channels = {view.channels for view in operands.values()}
        if len(channels) != 1:
            counts = ", ".join(f"{view.name} {view.channels}" for view in operands.values())
            raise ProgramError(f"{MNEMONICS[opcode]}: channels differ: {counts}")
        for role, view in operands.items():
            self._usable(f"{MNEMONICS[opcode]} {role}", view)
            if role != "dst":
                self._require_values(opcode, role, view)
        active: Fields = {"num_active_channels": channels.pop()}
        self._append(opcode, {**fields, **active, **event_fields(**events)}, operands)
        if "dst" in operands:
            out = operands["dst"]
            out.tensor.mark_written(out.elements(), out.channels)

    def _append(self, opcode: Opcode, fields: Fields, operands: Mapping[str, View]) -> None:
        mnemonic = MNEMONICS[opcode]
        try:
            record = encode(opcode, fields)
        except ValueError as error:  # a count or step beyond its field
            raise ProgramError(f"{mnemonic}: {error}") from None
        verdict = validate(record, geometry=self.geometry)
        if not verdict.legal:
            finding = verdict.findings[0]
            operand = operands.get(finding.field.partition(".")[0])
            of = "" if operand is None else f" ({operand.name})"
            raise ProgramError(
                f"{mnemonic}: {finding.field}{of} is {finding.value}, must be {finding.rule}: "
                f"reason {int(verdict.reason)}, {verdict.reason.name.lower()}"
            )
        self._lines.append(Line(record, dict(operands)))

    def _usable(self, role: str, view: View) -> View:
        if not view.tensor.live:
            raise ProgramError(f"{role}: {view.name} is used after it was freed")
        if view.tensor not in self._tensors:
            raise ProgramError(f"{role}: {view.name} belongs to another program")
        return view

    def _require_values(self, opcode: Opcode, role: str, view: View) -> None:
        if not view.tensor.holds(view.elements(), view.channels):
            raise ProgramError(
                f"{MNEMONICS[opcode]} {role}: {view.name} is read before it is written"
            )

    def _pattern(self, role: str, view: View, rank: int) -> Fields:
        walk = view.walk()
        if len(walk) > rank:
            raise ProgramError(f"{role}: {view.name} needs {len(walk)} dimensions, has {rank}")
        unused = rank - len(walk)
        return {
            f"{role}.start_addr": self._address(view),
            f"{role}.step_elem": (*(dim.step for dim in walk), *(1,) * unused),
            f"{role}.num_elem": (*(dim.count for dim in walk), *(1,) * unused),
        }

    def _pointers(self, views: Mapping[str, View]) -> Fields:
        first, second = views.values()
        if first.dtype != second.dtype:
            raise ProgramError(f"{first.name} and {second.name} must have one dtype")
        for role, view in views.items():
            if view.walk()[0].count != 1:
                raise ProgramError(f"{role}: {view.name} must be one element per channel")
        return {role: self._address(view) for role, view in views.items()}

    def _address(self, view: View) -> int:
        place = Location(view.tensor.region, view.tensor.partition, view.byte)
        return address_of(place, self.geometry.generation)


_CHANNELS_FROM = {
    0: 4 * QUADRANT,
    QUADRANT: QUADRANT,
    2 * QUADRANT: 2 * QUADRANT,
    3 * QUADRANT: QUADRANT,
}
"""Most channels by start partition (isa_common.md 3.3)."""


def _operator(op: str | AluOp) -> AluOp:
    if isinstance(op, AluOp):
        return op
    try:
        return AluOp[op.upper()]
    except (KeyError, AttributeError):
        raise ProgramError(f"there is no operator {op!r}") from None
