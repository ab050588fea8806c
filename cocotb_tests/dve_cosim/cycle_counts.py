"""What ``docs/architecture.md`` says that instructions take, and programs to measure it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.enums import STATISTICS, Dtype, ImmSrc, Opcode
from dve_golden.isa.operators import AluOp
from dve_golden.isa.text import assemble
from dve_rtl.config import EngineConfig

from dve_cosim.state import ArchState

_ROW = re.compile(r"^\| (0x\w\w.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_FORMULAS = (
    (re.compile(r"groups x \(n \+ (\d+)\) \+ (\d+)"), lambda g, n, a, b: g * (n + a) + b),
    (re.compile(r"groups x \(2 n \+ (\d+)\) \+ (\d+)"), lambda g, n, a, b: g * (2 * n + a) + b),
    (re.compile(r"groups x (\d+) \+ (\d+)"), lambda g, n, a, b: g * a + b),
    (re.compile(r"groups x n \+ (\d+)()"), lambda g, n, a, b: g * n + a),
    (re.compile(r"entries \+ (\d+)()"), lambda g, n, a, b: n + a),
)

CHANNELS = (1, 2, 7, 33, 128)
COUNTS = (1, 2, 7, 8, 9, 25)

_TUPLES = 0x330
"""Where an Aggregate has its tuples: bytes that no case writes."""

_LONG_COUNT = 40
"""Elements of the instruction ahead, during which the next one is validated."""


_PLACEMENTS: dict[str, tuple[str, str, str]] = {
    "in front of both sources": ("sbuf[0:0x204]:fp32", "sbuf[0:0x104]:fp32", "sbuf[0:0x4]:fp32"),
    "between the sources": ("sbuf[0:0x4]:fp32", "sbuf[0:0x204]:fp32", "sbuf[0:0x104]:fp32"),
    "in place of the first source": ("sbuf[0:0x4]:fp32", "sbuf[0:0x104]:fp32", "sbuf[0:0x4]:fp32"),
    "in place of the second source": ("sbuf[0:0x2]:bf16", "sbuf[0:0x42]:bf16", "sbuf[0:0x42]:fp16"),
    "in place of both": ("sbuf[0:0x3f0]:fp16", "sbuf[0:0x3f0]:bf16", "sbuf[0:0x3f0]:bf16"),
    "in another memory": ("sbuf[0:0x4]:fp32", "sbuf[0:0x4]:fp32", "psum[0:0x4]:fp32"),
    "in another quadrant": ("sbuf[32:0x4]:fp32", "sbuf[32:0x4]:fp32", "sbuf[64:0x4]:fp32"),
}
"""Of src0, src1 and dst, by what dst is: no element can read what another one writes."""

_QUADRANT_CHANNELS, _PLACED_COUNT = 32, 8


@dataclass(frozen=True)
class Case:
    """An instruction with its sizes: channels, and elements of a channel, tuples or entries.

    Sources and destination are such that elements overlap in time: they share no byte, or a
    BackProp has one of `_PLACEMENTS`.
    """

    opcode: Opcode
    channels: int
    count: int
    placement: str = ""

    @property
    def elements(self) -> int:
        """Of the source of a channel."""
        return self.count * (STATISTICS if self.opcode is Opcode.BATCH_NORM_AGGREGATE else 1)

    def encode(self) -> bytes:
        """The record."""
        if not self.placement:
            return encode(self.opcode, _FIELDS[self.opcode](self.channels, self.count))
        # Three dimensions, the innermost backwards, so that a walk is more than its bounds.
        walk = f"2x2x{self.count // 4}@-1,2,4"
        src0, src1, dst = (f"{place}:{walk}" for place in _PLACEMENTS[self.placement])
        return assemble(f"back_prop channels={self.channels} src0={src0} src1={src1} dst={dst}")


class CycleCounts:
    """The formulas of the table ``cycle_counts``.

    Parameters
    ----------
    page : str
        Text of ``docs/architecture.md``.

    Raises
    ------
    ValueError
        If the table is not there, or a cell of it is none of the known formulas.
    """

    def __init__(self, page: str) -> None:
        table = page.partition("<!-- table cycle_counts -->")[2].partition("<!-- end -->")[0]
        self._cells: dict[Opcode, tuple[str, str]] = {}
        for names, behind, alone in _ROW.findall(table):
            for code in re.findall(r"0x\w\w", names):
                self._cells[Opcode(int(code, 16))] = behind, alone
        if self._cells.keys() != _FIELDS.keys():
            raise ValueError(f"the table lists {sorted(self._cells)}")

    def expected(self, case: Case, config: EngineConfig, *, alone: bool) -> int:
        """Cycles of an instruction, into an idle engine or behind another one."""
        groups = -(-case.channels // config.lanes)
        cell = self._cells[case.opcode][alone]
        for pattern, value in _FORMULAS:
            if match := pattern.fullmatch(cell):
                first, second = (int(text or 0) for text in match.groups())
                return value(groups, case.elements, first, second)
        raise ValueError(f"cycles of {case.opcode.name}: {cell!r} is no known formula")


def measured_from(config: EngineConfig) -> ArchState:
    """The state to measure from: counts of an Aggregate whose reciprocals the Parameter RAM has."""
    state = ArchState.reset(config)
    state.sbuf[:, _TUPLES : _TUPLES + STATISTICS * max(COUNTS)] = 1
    return state


def cases_behind() -> list[Case]:
    """Cases to run behind another instruction: every opcode, all sizes of the tensor ones."""
    cases = []
    for opcode in _FIELDS:
        if opcode is Opcode.LOAD_PARAMETER_RAM:
            cases += [Case(opcode, 1, count) for count in COUNTS]
        elif opcode in (Opcode.BATCH_NORM_PARAM_LOAD, Opcode.BATCH_NORM_PARAM_LOAD2):
            cases += [Case(opcode, channels, 1) for channels in CHANNELS]
        elif opcode is Opcode.TRANSPOSE_BATCH_NORM_STATS2:
            cases += [Case(opcode, channels, n) for channels in (32, 128) for n in (32, 96)]
        else:
            cases += [Case(opcode, channels, n) for channels in CHANNELS for n in COUNTS]
    for placement in _PLACEMENTS:
        cases.append(
            Case(Opcode.BATCH_NORM_BACK_PROP, _QUADRANT_CHANNELS, _PLACED_COUNT, placement)
        )
    return cases


def cases_alone() -> list[Case]:
    """Cases to run into an idle engine: the smallest, and one of several passes, of each opcode."""
    sizes: dict[Opcode, tuple[tuple[int, int], ...]] = dict.fromkeys(_FIELDS, ((1, 1), (3, 4)))
    sizes[Opcode.LOAD_PARAMETER_RAM] = ((1, 1),)
    sizes[Opcode.TRANSPOSE_BATCH_NORM_STATS2] = ((32, 32),)
    return [Case(opcode, *size) for opcode in _FIELDS for size in sizes[opcode]]


def behind_another(cases: list[Case]) -> bytes:
    """A program that runs each case behind a longer instruction: every second one is a case."""
    ahead = Case(Opcode.BATCH_NORM_BACK_PROP, 1, _LONG_COUNT).encode()
    return b"".join(ahead + case.encode() for case in cases)


def _walk(name: str, offset: int, count: int) -> Fields:
    return {
        f"{name}.start_addr": offset,
        f"{name}.step_elem": (1, 0, 0),
        f"{name}.num_elem": (count, 1, 1),
    }


def _tensors(channels: int, count: int) -> Fields:
    return {
        "in0_in1_dtype.lo": Dtype.FP32,
        "in0_in1_dtype.hi": Dtype.FP32,
        "num_active_channels": channels,
        **_walk("src0", 0x000, count),
        **_walk("src1", 0x100, count),
    }


def _sums() -> Fields:
    return {"dst.start_addr": 0x200, "dst.step_elem": (1,), "dst.num_elem": (3,)}


def _forward(channels: int, dtype: Dtype, results: int) -> Fields:
    return {
        "in_dtype": dtype, "out_dtype": Dtype.FP32, "num_active_channels": channels,
        "dst.start_addr": 0x200, "dst.step_elem": (1, 1), "dst.num_elem": (results, 1),
    }  # fmt: skip


def _stats(channels: int, count: int) -> Fields:
    elements = {"src.step_elem": (1, 0, 0, 0), "src.num_elem": (count, 1, 1, 1)}
    return _forward(channels, Dtype.FP32, 3) | elements | {"src.start_addr": 0x000}


def _stats2(channels: int, count: int) -> Fields:
    return _stats(channels, count) | {"dst.num_elem": (6, 1)}


def _aggregate(channels: int, count: int) -> Fields:
    return _forward(channels, Dtype.INT8, 2) | {
        "src.start_addr": _TUPLES,
        "src.step_elem": (1, 3, 0, 0),
        "src.num_elem": (3, count, 1, 1),
    }


def _grad_accumulate(channels: int, count: int) -> Fields:
    return _tensors(channels, count) | _sums() | {
        "immediate_dtype": Dtype.FP32, "out_dtype": Dtype.FP32, "imm0": 0x300, "imm1": 0x304,
    }  # fmt: skip


def _grad_accumulate2(channels: int, count: int) -> Fields:
    return _tensors(channels, count) | _sums() | {
        "immediate_out_dtype.lo": Dtype.FP32, "immediate_out_dtype.hi": Dtype.FP32,
        "imm0_imm1_src.lo": ImmSrc.POINTER, "imm0_imm1_src.hi": ImmSrc.POINTER,
        "imm0": 0x300, "imm1": 0x304,
    }  # fmt: skip


def _back_prop(channels: int, count: int) -> Fields:
    return _tensors(channels, count) | _walk("dst", 0x200, count) | {"out_dtype": Dtype.FP32}


def _tensor_tensor(channels: int, count: int) -> Fields:
    return _back_prop(channels, count) | {"op": AluOp.ADD}


def _bit_vector(channels: int, count: int) -> Fields:
    types = {"in0_in1_dtype.lo": Dtype.INT32, "in0_in1_dtype.hi": Dtype.INT32}
    return _back_prop(channels, count) | types | {"out_dtype": Dtype.INT32, "op": AluOp.BITWISE_XOR}


def _copy_predicated(channels: int, count: int) -> Fields:
    return _back_prop(channels, count) | {"in0_in1_dtype.lo": Dtype.INT32}


def _cast_predicated(channels: int, count: int) -> Fields:
    return _copy_predicated(channels, count) | {"out_dtype": Dtype.BF16}


def _param_load(channels: int, count: int) -> Fields:
    return {
        "dtype": Dtype.FP32, "num_active_channels": channels, "imm0_src": ImmSrc.POINTER,
        "imm0": 0x300, "imm1": 0x43FA0000,
        "src.start_addr": 0x310, "src.step_elem": (1, 0), "src.num_elem": (3, 1),
    }  # fmt: skip


def _param_load2(channels: int, count: int) -> Fields:
    return {
        "src_dtype": Dtype.FP32, "immediate_dtype": Dtype.FP32, "num_active_channels": channels,
        "imm0_src": ImmSrc.POINTER, "imm1_src": ImmSrc.POINTER, "imm0": 0x300, "imm1": 0x304,
        "element_count": 0x43FA0000,
        "src.start_addr": 0x310, "src.step_elem": (1, 0), "src.num_elem": (2, 1),
    }  # fmt: skip


def _load_parameter_ram(channels: int, count: int) -> Fields:
    return {"addr": 0x100, "first_entry": 3, "entry_count": count, "dtype": Dtype.FP32}


_FIELDS = {
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: _grad_accumulate,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: _grad_accumulate2,
    Opcode.BATCH_NORM_BACK_PROP: _back_prop,
    Opcode.TENSOR_TENSOR_ARITH_OP: _tensor_tensor,
    Opcode.TENSOR_TENSOR_BITVEC_OP: _bit_vector,
    Opcode.COPY_PREDICATED: _copy_predicated,
    Opcode.CAST_PREDICATED: _cast_predicated,
    Opcode.BATCH_NORM_PARAM_LOAD: _param_load,
    Opcode.BATCH_NORM_PARAM_LOAD2: _param_load2,
    Opcode.LOAD_PARAMETER_RAM: _load_parameter_ram,
    Opcode.BATCH_NORM_STATS: _stats,
    Opcode.BATCH_NORM_STATS2: _stats2,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: _stats2,
    Opcode.BATCH_NORM_AGGREGATE: _aggregate,
}
