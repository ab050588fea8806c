"""Random legal programs of the tensor-tensor family, and contents of memory that suit them."""

from __future__ import annotations

import numpy as np
from dve_golden.isa.codec import Fields
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    INTEGER_DTYPES,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    Opcode,
)
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import (
    GENERAL_ARITHMETIC,
    GENERAL_BITVECTOR,
    REQUIRED_OPERATOR,
    AluOp,
)
from dve_rtl.config import EngineConfig

from dve_cosim.generator import Memories, ProgramGenerator
from dve_cosim.places import Place
from dve_cosim.reference import geometry_of
from dve_cosim.state import ArchState
from dve_cosim.workloads import random_state

INTEGERS, PLAIN, RESULTS = (sorted(d) for d in (INTEGER_DTYPES, PLAIN_DTYPES, RESULT_DTYPES))

BF16_OPCODES = (
    Opcode.TENSOR_TENSOR_ADD_BF16,
    Opcode.TENSOR_TENSOR_MULT_BF16,
    Opcode.TENSOR_TENSOR_SUB_BF16,
)
"""Sunda's; their sources are walked in pairs."""

_PAIR_ALIGNMENT = 4
"""Bytes; of the sources."""


def tensor_state(rng: np.random.Generator, config: EngineConfig, *, special: float) -> ArchState:
    """Every array filled; among the words are zeros, for predicates, and counts of shifts.

    Control values are any.
    """
    state = random_state(rng, config, special=special)
    for memory in (state.sbuf, state.psum):
        bytes_ = memory.reshape(-1)
        kind = np.repeat(rng.random(bytes_.size // 4), 4)
        counts = rng.integers(0, 40, bytes_.size)
        counts[np.arange(bytes_.size) % 4 != 0] *= rng.random(counts.size * 3 // 4) < 0.3
        bytes_[:] = np.where(kind < 0.3, 0, np.where(kind < 0.5, counts, bytes_))
    state.control[0] = rng.choice((7, 8))
    state.control[1:] = rng.integers(0, 2, len(state.control) - 1)
    return state


class TensorGenerator(ProgramGenerator):
    """Makes legal programs; parameters as for `OperandGenerator`."""

    def program(self, instructions: int) -> bytes:
        """``instructions`` legal records, most of them of this family."""
        makers = [
            *(3 * [self.arithmetic]),
            *(2 * [self.bit_vector]),
            *(self.copy_predicated, self.cast_predicated, self.cast_predicated),
            *(self.back_prop, self.grad_accumulate, self.param_load),
        ]
        if self.geometry.generation is Generation.SUNDA:
            makers += 4 * [self.paired]
        return b"".join(self.legal(makers[self.below(len(makers))]) for _ in range(instructions))

    def arithmetic(self) -> bytes:
        """0x41."""
        operators = sorted(GENERAL_ARITHMETIC[self.geometry.generation])
        types = {
            "src0": self.pick(PLAIN),
            "src1": self.pick(PLAIN),
            "dst": self.pick(RESULTS),
        }
        return self._operate(Opcode.TENSOR_TENSOR_ARITH_OP, types, self.pick(operators))

    def bit_vector(self) -> bytes:
        """0x51."""
        types: dict[str, Dtype] = dict.fromkeys(("src0", "src1", "dst"), self.pick(INTEGERS))
        operator = self.pick(sorted(GENERAL_BITVECTOR))
        return self._operate(Opcode.TENSOR_TENSOR_BITVEC_OP, types, operator)

    def copy_predicated(self) -> bytes:
        """0x72."""
        data = self.pick(PLAIN)
        types = {"src0": self.pick(INTEGERS), "src1": data, "dst": data}
        return self._operate(Opcode.COPY_PREDICATED, types)

    def cast_predicated(self) -> bytes:
        """0x99."""
        types = {"src0": self.pick(INTEGERS), "src1": self.pick(PLAIN), "dst": self.pick(PLAIN)}
        return self._operate(Opcode.CAST_PREDICATED, types)

    def paired(self) -> bytes:
        """One of sunda's bf16 opcodes; its destination is one for pairs, or any."""
        opcode = self.pick(BF16_OPCODES)
        result = self.pick(RESULTS)
        channels = self._channels()
        inner, *outer = self._counts()
        counts = (2 * inner, *outer)
        start = self.partition(channels)
        psum = self.in_psum(0.3)
        fields: Fields = {
            "in0_in1_dtype.lo": int(Dtype.BF16),
            "in0_in1_dtype.hi": int(Dtype.BF16),
            "out_dtype": int(result),
            "num_active_channels": channels,
            "op": int(REQUIRED_OPERATOR[opcode]),
            **self._pair_walk("src0", start, counts, Dtype.BF16, _PAIR_ALIGNMENT, psum=psum),
            **self._pair_walk("src1", start, counts, Dtype.BF16, _PAIR_ALIGNMENT, psum=False),
        }
        where = self.pick((start, self.partition(channels)))
        psum = DTYPE_BYTES[result] == 4 and self.in_psum(0.3)
        if self.rng.random() < 0.6:
            alignment = 2 * DTYPE_BYTES[result]
            fields |= self._pair_walk("dst", where, counts, result, alignment, psum=psum)
        else:
            fields |= self.walk("dst", where, self.reshaped(counts), result, psum=psum)
        return self._encode(opcode, fields)

    def _operate(self, opcode: Opcode, types: dict[str, Dtype], operator: AluOp | None = None):
        op = REQUIRED_OPERATOR[opcode] if operator is None else operator
        return self.tensors(self.crossing(opcode, types), {"op": int(op)})

    def _pair_walk(
        self, name: str, partition: int, counts, dtype: Dtype, alignment: int, *, psum: bool
    ) -> Fields:
        """The fields of a walk of neighbours in pairs."""
        size = DTYPE_BYTES[dtype]
        while True:
            outer = [2 * self.below(25) - 24 for _ in counts[1:]]
            steps = (1, *outer)
            low = size * sum(min(0, (n - 1) * s) for n, s in zip(counts, steps, strict=True))
            high = size * sum(max(0, (n - 1) * s) for n, s in zip(counts, steps, strict=True))
            if high - low + size <= self.room(psum):
                break
        first, last = -(low // alignment), (self.room(psum) - high - size) // alignment
        offset = alignment * int(self.rng.integers(first, last + 1)) if last >= first else -low
        return self.pattern(name, Place(psum, partition, offset), steps, counts)


def tensor_programs(
    seed: int,
    config: EngineConfig,
    *,
    programs: int,
    instructions: int,
    special: float,
    max_elements: int = 64,
) -> tuple[ArchState, list[bytes]]:
    """A state, and legal programs to run from it one after the other."""
    rng = np.random.default_rng(seed)
    state = tensor_state(rng, config, special=special)
    memories = Memories(state.sbuf, state.psum, state.registers)
    generator = TensorGenerator(
        rng, geometry_of(config), memories.registers, max_elements=max_elements
    )
    return state, [generator.program(instructions) for _ in range(programs)]
