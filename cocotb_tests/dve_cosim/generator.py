"""Random legal programs of the batch-norm family, weighted toward corners.

Everything follows from one seed, so that a failing program can be made again from its number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    MAX_CHANNELS,
    PARAMETER_RAM_ENTRIES,
    REGISTERS,
    Dtype,
    ImmSrc,
    Opcode,
    Reason,
    WaitMode,
)
from dve_golden.memory.address import Geometry

from dve_cosim.aliasing import Alias
from dve_cosim.crossing import Crossing
from dve_cosim.events import set_events
from dve_cosim.lattice import aliased_walks, most_elements, reduced_most, reduced_walks
from dve_cosim.operand_types import (
    FLOATS,
    FORWARD,
    OPERANDS,
    SUMMANDS,
    Types,
    by_operand,
    operands_of,
    type_tuples,
)
from dve_cosim.operands import OperandGenerator
from dve_cosim.places import Place

SPECIAL_PATTERNS = np.array(
    [
        0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001,
        0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000,
        0x4B800000, 0x33800000,
    ],
    np.uint32,
)  # fmt: skip
"""Signed zeros, infinities, NaN with payload, subnormals, extremes, and powers of two."""

_ELEMENT_COUNTS = (
    1.0, 2.0, 3.0, 254.0, 255.0, 256.0, 257.0, 65535.0, 2.0**24,  # both sides of the RAM's end
    0.0, -0.0, -1.0, -4.0, 0.5, 2.5, 254.5,  # not a count, but legal
    2.0**-149, 1e-40, 2.0**-126, 2.0**125, 2.0**126, 2.0**127, 3.4028234663852886e38,
)  # fmt: skip
"""Values of N; the last ones have reciprocals that overflow, or are subnormal."""

_SHAPES_OF_RESULTS = {
    Opcode.BATCH_NORM_STATS: ((3, 1), (1, 3)),
    Opcode.BATCH_NORM_STATS2: ((6, 1), (3, 2), (2, 3), (1, 6)),
    Opcode.BATCH_NORM_AGGREGATE: ((2, 1), (1, 2)),
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: ((6, 1), (3, 2), (2, 3), (1, 6)),
}
_MULTIPLES = {Opcode.BATCH_NORM_AGGREGATE: 3, Opcode.TRANSPOSE_BATCH_NORM_STATS2: 32}
_LIMITS = {
    Opcode.BATCH_NORM_STATS: 256,
    Opcode.BATCH_NORM_STATS2: 512,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: 512,
}
"""Of the elements of a source (batchnorm.md section 10)."""

_DIRECT = (ImmSrc.POINTER,)
_DIRECT_OLD = (ImmSrc.POINTER, ImmSrc.INSTRUCTION)
"""Selectors of a pointer in the instruction; old binaries left 0 (batchnorm.md section 4)."""


@dataclass(frozen=True)
class Memories:
    """Contents of SBUF, PSUM and registers before a program."""

    sbuf: np.ndarray
    psum: np.ndarray
    registers: np.ndarray


def random_memories(rng: np.random.Generator, geometry: Geometry, *, special: float) -> Memories:
    """Random contents; a share ``special`` of the words is NaN, infinite, subnormal or random bits.

    Returns
    -------
    Memories
        uint8 [128, bytes] twice and uint32 [64]; registers are left zero for
        :func:`random_program` to fill.
    """

    def fill(size: int) -> np.ndarray:
        words = rng.standard_normal((MAX_CHANNELS, size // 4)).astype(np.float32).view(np.uint32)
        odd = rng.random(words.shape) < special
        bits = rng.integers(0, 1 << 32, words.shape, dtype=np.uint32)
        picks = rng.choice(SPECIAL_PATTERNS, words.shape)
        words = np.where(odd, np.where(rng.random(words.shape) < 0.5, bits, picks), words)
        return np.ascontiguousarray(words).view(np.uint8)

    return Memories(
        fill(geometry.sbuf_active), fill(geometry.psum_active), np.zeros(REGISTERS, np.uint32)
    )


class ProgramGenerator(OperandGenerator):
    """Makes legal programs; parameters as for `OperandGenerator`."""

    def program(self, instructions: int) -> bytes:
        """``instructions`` legal records in a plausible mix."""
        makers = (
            self.grad_accumulate, self.grad_accumulate2, self.param_load, self.param_load2,
            self.back_prop, self.back_prop, self.load_parameter_ram, self.synchronise,
            *self.forward,
        )  # fmt: skip
        return b"".join(self.legal(makers[self.below(len(makers))]) for _ in range(instructions))

    def legal(self, make) -> bytes:
        """The first legal record that ``make`` returns."""
        # Operands are legal by construction but for rare combinations (a source pair in two
        # quadrants), which are drawn again.
        while True:
            used = self._next_register
            record = make()
            verdict = validate(record, registers=self.registers, geometry=self.geometry)
            if verdict.reason is Reason.NONE:
                return record
            self._next_register = used

    # instructions

    def grad_accumulate(self) -> bytes:
        """0x63."""
        return self.tensors(self._any_crossing(Opcode.BATCH_NORM_GRAD_ACCUMULATE))

    def grad_accumulate2(self) -> bytes:
        """0x94."""
        return self.tensors(self._any_crossing(Opcode.BATCH_NORM_GRAD_ACCUMULATE2))

    def back_prop(self) -> bytes:
        """0x65."""
        return self.tensors(self._any_crossing(Opcode.BATCH_NORM_BACK_PROP))

    def tensors(self, crossing: Crossing) -> bytes:
        """An instruction of two sources and a destination, which is ``crossing``.

        If that says nothing of aliasing, it is left to chance.
        """
        channels, types = self._channels(), crossing.types
        fields: Fields = {
            "in0_in1_dtype.lo": int(types["src0"]),
            "in0_in1_dtype.hi": int(types["src1"]),
            "num_active_channels": channels,
        }
        place = self._on_a_grid if crossing.aliasing else self._anywhere
        fields |= place(channels, crossing)
        if crossing.opcode is not Opcode.BATCH_NORM_GRAD_ACCUMULATE2:
            fields["out_dtype"] = int(types["dst"])
        if crossing.sums:
            fields |= self._mean_and_scale(crossing.opcode, channels, types["dst"])
        return self._encode(crossing.opcode, fields | self._operator(crossing.opcode))

    def _operator(self, opcode: Opcode) -> Fields:
        """The operator byte of opcodes that have one which need not be zero."""
        return {}

    def _mean_and_scale(self, opcode: Opcode, channels: int, result: Dtype) -> Fields:
        immediate = self.pick(SUMMANDS)
        if opcode is Opcode.BATCH_NORM_GRAD_ACCUMULATE:
            invalid = immediate is Dtype.FP32 and self.rng.random() < 0.5
            return {
                "imm0": self.pointer(channels, immediate),
                "imm1": self.pointer(channels, immediate),
                "immediate_dtype": int(Dtype.INVALID if invalid else immediate),
            }
        fields: Fields = {
            "immediate_out_dtype.lo": int(immediate),
            "immediate_out_dtype.hi": int(result),
        }
        for name, half in (("imm0", "lo"), ("imm1", "hi")):
            source, fields[name] = self.pointer_source(channels, immediate, _DIRECT)
            fields[f"imm0_imm1_src.{half}"] = int(source)
        return fields

    def _any_crossing(self, opcode: Opcode) -> Crossing:
        return self.crossing(opcode, by_operand(opcode, self.pick(type_tuples(opcode))))

    def crossing(self, opcode: Opcode, types: Types) -> Crossing:
        """Memories, and perhaps aliasing, for operands of given types."""
        psum = dict.fromkeys(types, False)
        sources = operands_of(opcode)[:-1]
        if self.in_psum(0.3 * len(sources)):
            psum[self.pick(sources)] = True
        psum["dst"] = DTYPE_BYTES[types["dst"]] == 4 and self.in_psum(0.35)
        crossing = Crossing(opcode, types, psum, {})
        if self.rng.random() < 0.5:
            return crossing
        wanted = (Alias.APART, Alias.INTERLEAVED, Alias.OVERLAPS) if crossing.sums else tuple(Alias)
        aliasing = {name: self.pick(wanted) for name in sources}
        return replace(crossing, aliasing=aliasing)

    # forward statistics

    @property
    def forward(self) -> tuple[Callable[[], bytes], ...]:
        """Makers of 0x60, 0x61, 0x62 and 0x82."""
        return tuple(
            partial(lambda opcode: self.statistics(self._any_crossing(opcode)), opcode)
            for opcode in FORWARD
        )

    def statistics(self, crossing: Crossing) -> bytes:
        """An instruction of S4D2_BN, which is ``crossing``, with counts that need not be true."""
        opcode, types = crossing.opcode, crossing.types
        transposes = opcode is Opcode.TRANSPOSE_BATCH_NORM_STATS2
        channels = self._transposed_channels() if transposes else self._channels()
        fields: Fields = {
            "in_dtype": int(types["src"]),
            "out_dtype": int(types["dst"]),
            "num_active_channels": channels,
        }
        psum, aliasing = crossing.psum, crossing.aliasing
        meets = bool(aliasing) and psum["src"] == psum["dst"]
        most = reduced_most(self.room(psum["src"])) if meets else 1 << 32
        counts = self._four(self._statistics_count(opcode, most))
        results = self.pick(_SHAPES_OF_RESULTS[opcode])
        start = self.partition(channels)
        if meets:
            sizes = {name: DTYPE_BYTES[dtype] for name, dtype in types.items()}
            room = self.room(psum["src"])
            walks = reduced_walks(self.rng, counts, results, sizes, aliasing["src"], room)
            for name, shape in (("src", counts), ("dst", results)):
                place = Place(psum[name], start, walks[name].offset)
                fields |= self.pattern(name, place, walks[name].steps, shape)
        else:
            where = self.pick((start, start, self.partition(channels)))
            fields |= self.walk("src", start, counts, types["src"], psum=psum["src"])
            fields |= self.walk("dst", where, results, types["dst"], psum=psum["dst"])
        if opcode is not Opcode.BATCH_NORM_AGGREGATE:
            fields |= {"even_count": self._element_count(), "odd_count": self._element_count()}
        return self._encode(opcode, fields)

    def _transposed_channels(self) -> int:
        return self.pick((32, 32, 64, 96, 128))

    def _statistics_count(self, opcode: Opcode, most: int) -> int:
        """Elements of a source, which has at least two where it has to meet the destination."""
        multiple, limit = _MULTIPLES.get(opcode, 1), _LIMITS.get(opcode, 1 << 32)
        while True:
            count = int(np.prod(self._counts())) // multiple * multiple
            count = min(max(count, multiple), limit)
            if (1 if most == 1 << 32 else 2) <= count <= most:
                return count

    def _four(self, count: int) -> tuple[int, ...]:
        """Four dimensions of so many elements."""
        first, *others = self.reshaped((count,))
        inner = self.pick([d for d in range(1, first + 1) if first % d == 0])
        return inner, first // inner, *others

    def param_load(self) -> bytes:
        """0x64."""
        channels, dtype = self._channels(), self.pick(FLOATS)
        fields = self._parameters(channels, dtype, self.pick(((3, 1), (1, 3))))
        source, fields["imm0"] = self.pointer_source(channels, Dtype.FP32, _DIRECT_OLD)
        fields |= {
            "imm1": self._element_count(),
            "dtype": int(dtype),
            "num_active_channels": channels,
            "imm0_src": int(source),
        }
        return self._encode(Opcode.BATCH_NORM_PARAM_LOAD, fields)

    def param_load2(self) -> bytes:
        """0x8e."""
        channels, dtype, immediate = self._channels(), self.pick(FLOATS), self.pick(FLOATS)
        fields = self._parameters(channels, dtype, self.pick(((2, 1), (1, 2))))
        fields |= {
            "element_count": self._element_count(),
            "src_dtype": int(dtype),
            "immediate_dtype": int(immediate),
            "num_active_channels": channels,
        }
        for name in ("imm0", "imm1"):
            source, fields[name] = self.pointer_source(channels, immediate, _DIRECT_OLD)
            fields[f"{name}_src"] = int(source)
        return self._encode(Opcode.BATCH_NORM_PARAM_LOAD2, fields)

    def load_parameter_ram(self) -> bytes:
        """0x66."""
        most = min(PARAMETER_RAM_ENTRIES, self.room(psum=False) // 4)
        count = self.pick((1, most, *(1 + self.below(32),) * 6))
        last = PARAMETER_RAM_ENTRIES - count
        fields: Fields = {
            "addr": self.contiguous(count, Dtype.FP32),
            "first_entry": self.pick((0, last, *(self.below(last + 1),) * 4)),
            "entry_count": count,
            "dtype": int(Dtype.FP32),
        }
        return self._encode(Opcode.LOAD_PARAMETER_RAM, fields)

    def synchronise(self) -> bytes:
        """NOP or EVENT_SEMAPHORE with an update and without a wait; see `with_events`."""
        opcode = self.pick((Opcode.NOP, Opcode.EVENT_SEMAPHORE))
        return set_events(self.rng, self._encode(opcode, {}), WaitMode.NONE)

    def _encode(self, opcode: Opcode, fields: Fields) -> bytes:
        if self.rng.random() < 0.2:  # these two bytes mean nothing to the engine
            fields |= {"header.debug_cmd": self.below(256), "header.debug_hint": self.below(256)}
        return encode(opcode, fields)

    # operands

    def _parameters(self, channels: int, dtype: Dtype, counts) -> Fields:
        return self.walk("src", self.partition(channels), counts, dtype, psum=self.in_psum(0.25))

    def _anywhere(self, channels: int, crossing: Crossing) -> Fields:
        """Sources in one quadrant, or in two memories, and a destination, often near them."""
        types, psum = crossing.types, crossing.psum
        counts, start = self._counts(), self.partition(channels)
        fields: Fields = {}
        for name in ("src0", "src1"):
            shape = counts if self.rng.random() < 0.5 else self.reshaped(counts)
            # Of a pair in two memories, either may lie in any quadrant.
            where = self.partition(channels) if psum[name] else start
            fields |= self.walk(name, where, shape, types[name], psum=psum[name])
        where = start if self.rng.random() < 0.5 else self.partition(channels)
        shape = counts if self.rng.random() < 0.5 else self.reshaped(counts)
        if crossing.sums:
            shape = (3,)
        return fields | self.walk("dst", where, shape, types["dst"], psum=psum["dst"])

    def _on_a_grid(self, channels: int, crossing: Crossing) -> Fields:
        """Sources that meet the destination as they shall; what is in another memory is apart."""
        types, psum = crossing.types, crossing.psum
        room = min(self.room(memory) for memory in set(psum.values()))
        counts = self._counts()
        while not 2 <= np.prod(counts) <= most_elements(room):
            counts = self._counts()
        near = [name for name in crossing.aliasing if psum[name] == psum["dst"]]
        walks = aliased_walks(
            self.rng,
            counts,
            (3,) if crossing.sums else counts,
            {name: DTYPE_BYTES[types[name]] for name in ("dst", *near)},
            {name: crossing.aliasing[name] for name in near},
            self.room(psum["dst"]),
        )
        start, elsewhere = self.partition(channels), self.partition(channels)
        fields: Fields = {}
        for name in OPERANDS:
            if name in walks:
                place = Place(psum[name], start, walks[name].offset)
                shape = (3,) if crossing.sums and name == "dst" else counts
                fields |= self.pattern(name, place, walks[name].steps, shape)
            else:
                fields |= self.walk(name, elsewhere, counts, types[name], psum=psum[name])
        return fields

    def _element_count(self) -> int:
        value = self.pick((*_ELEMENT_COUNTS, *(float(self.below(1 << 20)),) * 6))
        return int(np.float32(value).view(np.uint32))
