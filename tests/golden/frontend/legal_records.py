"""One legal record per opcode, and records that differ from it in named fields."""

from collections.abc import Mapping

from dve_golden.isa.codec import Fields, Value, encode
from dve_golden.isa.enums import Dtype, Opcode
from dve_golden.isa.generations import Generation, in_generation
from dve_golden.isa.operators import AluOp
from dve_golden.memory.address import Geometry

FP32, BF16, INT32 = int(Dtype.FP32), int(Dtype.BF16), int(Dtype.INT32)

GRAD1 = Opcode.BATCH_NORM_GRAD_ACCUMULATE
GRAD2 = Opcode.BATCH_NORM_GRAD_ACCUMULATE2
LOAD1 = Opcode.BATCH_NORM_PARAM_LOAD
LOAD2 = Opcode.BATCH_NORM_PARAM_LOAD2
BACK = Opcode.BATCH_NORM_BACK_PROP
PRAM = Opcode.LOAD_PARAMETER_RAM
ARITH = Opcode.TENSOR_TENSOR_ARITH_OP
BITVEC = Opcode.TENSOR_TENSOR_BITVEC_OP
COPY = Opcode.COPY_PREDICATED
CAST = Opcode.CAST_PREDICATED
ADD_BF16 = Opcode.TENSOR_TENSOR_ADD_BF16
MULT_BF16 = Opcode.TENSOR_TENSOR_MULT_BF16
SUB_BF16 = Opcode.TENSOR_TENSOR_SUB_BF16
STATS = Opcode.BATCH_NORM_STATS
STATS2 = Opcode.BATCH_NORM_STATS2
AGGREGATE = Opcode.BATCH_NORM_AGGREGATE
TRANSPOSE = Opcode.TRANSPOSE_BATCH_NORM_STATS2
SYNC = Opcode.EVENT_SEMAPHORE
NOP = Opcode.NOP


def pattern(name: str, address: int, *counts: int) -> Fields:
    return {
        f"{name}.start_addr": address,
        f"{name}.step_elem": (1,) * len(counts),
        f"{name}.num_elem": counts,
    }


_GRAD: Fields = {
    "num_active_channels": 32,
    **pattern("src0", 0x000, 6, 1, 1),
    **pattern("src1", 0x100, 2, 3, 1),
    **pattern("dst", 0x200, 3),
    "imm0": 0x300,
    "imm1": 0x304,
    "in0_in1_dtype.lo": FP32,
    "in0_in1_dtype.hi": FP32,
}

_TENSOR: Fields = {
    "num_active_channels": 32,
    "in0_in1_dtype.lo": FP32,
    "in0_in1_dtype.hi": FP32,
    "out_dtype": FP32,
    **pattern("src0", 0x000, 6, 1, 1),
    **pattern("src1", 0x100, 2, 3, 1),
    **pattern("dst", 0x200, 1, 6, 1),
}

_PAIRS: Fields = {
    **_TENSOR,
    "in0_in1_dtype.lo": BF16,
    "in0_in1_dtype.hi": BF16,
    "src0.step_elem": (1, 2, 2),
    "src1.step_elem": (1, 4, -2),
}

_STATISTICS: Fields = {
    "num_active_channels": 32,
    **pattern("src", 0x000, 4, 2, 3, 4),
    **pattern("dst", 0x200, 3, 2),
    "in_dtype": FP32,
    "out_dtype": FP32,
    "even_count": 0x42400000,  # 48.0
    "odd_count": 0x42400000,
}

LEGAL: dict[Opcode, Fields] = {
    GRAD1: {**_GRAD, "immediate_dtype": FP32, "out_dtype": FP32},
    GRAD2: {
        **_GRAD,
        "immediate_out_dtype.lo": FP32,
        "immediate_out_dtype.hi": FP32,
        "imm0_imm1_src.lo": 1,
        "imm0_imm1_src.hi": 1,
    },
    LOAD1: {
        "num_active_channels": 32,
        **pattern("src", 0x000, 3, 1),
        "dtype": FP32,
        "imm1": 0x40C00000,  # 6.0
        "imm0": 0x100,
        "imm0_src": 1,
    },
    LOAD2: {
        "num_active_channels": 32,
        **pattern("src", 0x000, 2, 1),
        "src_dtype": FP32,
        "immediate_dtype": FP32,
        "element_count": 0x40C00000,
        "imm0": 0x100,
        "imm1": 0x104,
        "imm0_src": 1,
        "imm1_src": 1,
    },
    BACK: _TENSOR,
    ARITH: {**_TENSOR, "op": int(AluOp.SUBTRACT)},
    BITVEC: {
        **_TENSOR,
        "in0_in1_dtype.lo": INT32,
        "in0_in1_dtype.hi": INT32,
        "out_dtype": INT32,
        "op": int(AluOp.BITWISE_XOR),
    },
    COPY: {**_TENSOR, "in0_in1_dtype.lo": INT32},
    CAST: {**_TENSOR, "in0_in1_dtype.lo": INT32},
    ADD_BF16: {**_PAIRS, "op": int(AluOp.ADD)},
    MULT_BF16: {**_PAIRS, "op": int(AluOp.MULT)},
    SUB_BF16: {**_PAIRS, "op": int(AluOp.SUBTRACT)},
    PRAM: {"addr": 0x100, "first_entry": 1, "entry_count": 255, "dtype": FP32},
    STATS: {**_STATISTICS, **pattern("dst", 0x200, 1, 3)},
    STATS2: _STATISTICS,
    AGGREGATE: {
        **_STATISTICS,
        **pattern("dst", 0x200, 2, 1),
        "even_count": 0,
        "odd_count": 0,
    },
    TRANSPOSE: _STATISTICS,
    SYNC: {},
    NOP: {},
}


def variant(opcode: Opcode, changes: Mapping[str, Value]) -> bytes:
    """The legal record of the opcode with some fields changed."""
    return encode(opcode, {**LEGAL[opcode], **changes})


def generation_of(opcode: int) -> Generation:
    """A generation that knows the opcode: cayman if it does."""
    known = (g for g in (Generation.CAYMAN, *Generation) if in_generation(opcode, g))
    return next(known)


def geometry_of(opcode: int) -> Geometry:
    """The default memories of such a generation."""
    return Geometry(generation=generation_of(opcode))
