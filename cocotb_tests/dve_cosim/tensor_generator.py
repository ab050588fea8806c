"""Random legal programs of all that the engine executes: those of batch norm, and S3S3D3_TT."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from dve_golden.isa.codec import Fields
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC, GENERAL_BITVECTOR, REQUIRED_OPERATOR

from dve_cosim.crossing import Crossing
from dve_cosim.generator import ProgramGenerator
from dve_cosim.lattice import PAIR_SLOT, aliased_walks, most_elements
from dve_cosim.operand_types import (
    ELEMENTWISE,
    FORWARD,
    OPERANDS,
    PAIRED,
    by_operand,
    types_by_size,
)
from dve_cosim.places import Place

_WORD_BYTES = 4
"""Of a pair of bf16 elements, to which sources of pairs are aligned."""

_WIDEST_BYTES = 4
"""Of an element of any type."""


class TensorGenerator(ProgramGenerator):
    """Makes legal programs; parameters as for `OperandGenerator`."""

    def program(self, instructions: int) -> bytes:
        """``instructions`` legal records, nearly half of them of S3S3D3_TT."""
        makers = [
            *(self.grad_accumulate, self.grad_accumulate2, self.param_load, self.param_load2),
            *(self.back_prop, self.load_parameter_ram, self.synchronise),
            *(self.arithmetic, self.arithmetic, self.arithmetic, self.bit_vector, self.bit_vector),
            *(self.copy_predicated, self.cast_predicated),
            *self.forward,
        ]
        if self.geometry.generation is Generation.SUNDA:
            makers += 3 * [self.paired]
        return b"".join(self.legal(self.pick(makers)) for _ in range(instructions))

    def arithmetic(self) -> bytes:
        """0x41."""
        return self.tensors(self._any_crossing(Opcode.TENSOR_TENSOR_ARITH_OP))

    def bit_vector(self) -> bytes:
        """0x51."""
        return self.tensors(self._any_crossing(Opcode.TENSOR_TENSOR_BITVEC_OP))

    def copy_predicated(self) -> bytes:
        """0x72."""
        return self.tensors(self._any_crossing(Opcode.COPY_PREDICATED))

    def cast_predicated(self) -> bytes:
        """0x99."""
        return self.tensors(self._any_crossing(Opcode.CAST_PREDICATED))

    def paired(self) -> bytes:
        """One of sunda's bf16 opcodes."""
        return self.tensors(self._any_crossing(self.pick(PAIRED)))

    def aimed(self, crossing: Crossing) -> bytes:
        """An instruction for the bin of ``crossing``, with any types that count for it."""
        if crossing.opcode in ELEMENTWISE:
            sizes = tuple(DTYPE_BYTES[crossing.types[name]] for name in OPERANDS)
            types = self.pick(types_by_size(crossing.opcode)[sizes])
            crossing = replace(crossing, types=by_operand(crossing.opcode, types))
        if crossing.opcode in FORWARD:
            return self.statistics(crossing)
        return self.tensors(crossing)

    def _operator(self, opcode: Opcode) -> Fields:
        if opcode is Opcode.TENSOR_TENSOR_ARITH_OP:
            choice = self.pick(sorted(GENERAL_ARITHMETIC[self.geometry.generation]))
        elif opcode is Opcode.TENSOR_TENSOR_BITVEC_OP:
            choice = self.pick(sorted(GENERAL_BITVECTOR))
        elif opcode in REQUIRED_OPERATOR:
            choice = REQUIRED_OPERATOR[opcode]
        else:
            return {}
        return {"op": int(choice)}

    # pairs

    def _anywhere(self, channels: int, crossing: Crossing) -> Fields:
        """As before; sources of pairs have rows of neighbours, and often the destination too."""
        if crossing.opcode not in PAIRED:
            return super()._anywhere(channels, crossing)
        psum = crossing.psum
        room = min(self.room(memory) for memory in set(psum.values()))
        counts, start = self._even_counts(room), self.partition(channels)
        fields: Fields = {}
        for name in ("src0", "src1"):
            where = self.partition(channels) if psum[name] else start
            fields |= self._rows(name, where, counts, Dtype.BF16, _WORD_BYTES, psum=psum[name])
        where, dtype = self.pick((start, self.partition(channels))), crossing.types["dst"]
        if self.rng.random() < 0.6:
            alignment = 2 * DTYPE_BYTES[dtype]
            return fields | self._rows("dst", where, counts, dtype, alignment, psum=psum["dst"])
        return fields | self.walk("dst", where, self.reshaped(counts), dtype, psum=psum["dst"])

    def _on_a_grid(self, channels: int, crossing: Crossing) -> Fields:
        """As before; of pairs each cell of the grid has one."""
        if crossing.opcode not in PAIRED:
            return super()._on_a_grid(channels, crossing)
        types, psum = crossing.types, crossing.psum
        room = min(self.room(memory) for memory in set(psum.values()))
        counts = self._even_counts(room)
        while not 4 <= np.prod(counts) <= 2 * most_elements(room, PAIR_SLOT):
            counts = self._even_counts(room)
        cells = self.reshaped((int(np.prod(counts)) // 2,))[:2]
        cells = (cells[0], int(np.prod(counts)) // 2 // cells[0])
        near = [name for name in crossing.aliasing if psum[name] == psum["dst"]]
        walks = aliased_walks(
            self.rng,
            cells,
            cells,
            {name: 2 * DTYPE_BYTES[types[name]] for name in ("dst", *near)},
            {name: crossing.aliasing[name] for name in near},
            self.room(psum["dst"]),
            PAIR_SLOT,
        )
        start, elsewhere = self.partition(channels), self.partition(channels)
        fields: Fields = {}
        for name in OPERANDS:
            if name in walks:
                steps = (1, *(2 * step for step in walks[name].steps))
                place = Place(psum[name], start, walks[name].offset)
                fields |= self.pattern(name, place, steps, (2, *cells))
            else:
                fields |= self._rows(
                    name, elsewhere, counts, types[name], _WORD_BYTES, psum=psum[name]
                )
        return fields

    def _even_counts(self, room: int) -> tuple[int, ...]:
        """Counts of rows of pairs; a row of elements of any type fits ``room`` bytes."""
        while (pairs := int(np.prod(self._counts())) // 2) == 0:
            pass
        while True:
            inner, *outer = self.reshaped((pairs,))
            if 2 * inner * _WIDEST_BYTES <= room:
                return (2 * inner, *outer)

    def _rows(
        self, name: str, partition: int, counts, dtype: Dtype, alignment: int, *, psum: bool
    ) -> Fields:
        """The fields of a walk of rows of neighbours, each of which starts aligned."""
        size = DTYPE_BYTES[dtype]
        while True:
            steps = (1, *(2 * self._step(count) for count in counts[1:]))
            reach = [size * (n - 1) * step for n, step in zip(counts, steps, strict=True)]
            low, high = sum(min(0, far) for far in reach), sum(max(0, far) for far in reach)
            first = -(low // alignment)
            last = (self.room(psum) - high - size) // alignment
            if first <= last and all(-(1 << 15) <= step < 1 << 15 for step in steps):
                break
        slot = self.pick((first, last, *(2 * (int(self.rng.integers(first, last + 1)),))))
        return self.pattern(name, Place(psum, partition, slot * alignment), steps, counts)
