"""Random legal programs of the batch-norm backward family, weighted toward corners.

Everything follows from one seed, so that a failing program can be made again from its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    MAX_CHANNELS,
    REGISTER_OPERAND,
    REGISTERS,
    Dtype,
    ImmSrc,
    Opcode,
    Reason,
    UpdateMode,
    WaitMode,
)
from dve_golden.machine import Machine, WaitingError
from dve_golden.memory.address import Geometry

SOURCES = (Dtype.FP32, Dtype.FP16, Dtype.BF16, Dtype.INT32)
FLOATS = (Dtype.FP32, Dtype.FP16, Dtype.BF16)
RESULTS = (*FLOATS, Dtype.FP32R)
SBUF_STRIDE = 0x40000
PSUM_BASE = 0x2000000
PSUM_STRIDE = 0x8000
ADDRESS_REGISTER = 0x80000000

SPECIAL_PATTERNS = np.array(
    [
        0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001,
        0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000,
        0x4B800000, 0x33800000,
    ],
    np.uint32,
)  # fmt: skip
"""Signed zeros, infinities, NaN with payload, subnormals, extremes, and powers of two."""


_SYNC_VALUES = (0, 1, 2, 3, 5, REGISTERS - 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
"""Operands of waits and updates; small ones are also register numbers."""

_SYNC_INDICES = (0, 1, 2, 255)
"""Few semaphores and events, so that instructions meet on them."""


def with_events(rng: np.random.Generator, records: Iterable[bytes], machine: Machine) -> bytes:
    """The records with random legal waits and updates, none of which waits in vain.

    Parameters
    ----------
    rng : numpy.random.Generator
    records : iterable of bytes
    machine : Machine
        In the state before the first record; left in the state after the last one.
    """
    done = []
    for record in records:
        changed = _set_events(rng, record, list(WaitMode)[rng.integers(len(WaitMode))])
        if rng.random() < 0.5:
            changed = _make_equal(changed, machine)
        done.append(executed(changed, machine))
    return b"".join(done)


def executed(record: bytes, machine: Machine) -> bytes:
    """The record after ``machine`` has executed it, without its wait if that was in vain."""
    try:
        machine.execute(record)
    except WaitingError:
        record = record[:4] + bytes([WaitMode.NONE]) + record[5:]
        machine.execute(record)
    return record


def _make_equal(record: bytes, machine: Machine) -> bytes:
    """Let a wait compare with what its semaphore holds: chance would rarely have them equal."""
    held = int(machine.semaphores[record[5]])
    if record[4] & REGISTER_OPERAND:
        (equal,) = np.nonzero(machine.registers == held)
        held = int(equal[-1]) if equal.size else record[8]
    elif record[6] & REGISTER_OPERAND and record[0] != Opcode.EVENT_SEMAPHORE:
        return record  # the word is the number of a register, for the update
    return record[:8] + held.to_bytes(4, "little") + record[12:]


def _set_events(rng: np.random.Generator, record: bytes, wait: WaitMode) -> bytes:
    update = list(UpdateMode)[rng.integers(len(UpdateMode))]
    data = bytearray(record)
    data[4:8] = wait, rng.choice(_SYNC_INDICES), update, rng.choice(_SYNC_INDICES)
    values = [int(value).to_bytes(4, "little") for value in rng.choice(_SYNC_VALUES, 2)]
    registers = [
        int(rng.integers(REGISTERS)).to_bytes(4, "little") if mode & REGISTER_OPERAND else value
        for mode, value in zip((wait, update), values, strict=True)
    ]
    if record[0] == Opcode.EVENT_SEMAPHORE:
        data[8:16] = b"".join(registers)
    else:  # one word serves both: a register number for whoever takes one
        data[8:12] = registers[0] if wait & REGISTER_OPERAND else registers[1]
    return bytes(data)


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


class ProgramGenerator:
    """Makes legal programs; fills address registers as it needs them.

    Parameters
    ----------
    rng : numpy.random.Generator
    geometry : Geometry
        Bytes per partition of the machine the programs are for.
    registers : numpy.ndarray
        uint32 [64]; written when an instruction addresses through a register.
    max_elements : int
        Largest number of elements per channel.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        geometry: Geometry,
        registers: np.ndarray,
        *,
        max_elements: int = 64,
    ):
        self.rng = rng
        self.geometry = geometry
        self.registers = registers
        self.max_elements = max_elements
        self._next_register = 0

    @property
    def registers_used(self) -> int:
        """How many of the first registers hold what instructions address with."""
        return self._next_register

    def program(self, instructions: int) -> bytes:
        """``instructions`` legal records in a plausible mix."""
        makers = (
            self.grad_accumulate, self.grad_accumulate2, self.param_load, self.param_load2,
            self.back_prop, self.back_prop, self.load_parameter_ram, self.synchronise,
        )  # fmt: skip
        return b"".join(self._legal(makers[self._below(len(makers))]) for _ in range(instructions))

    def _legal(self, make) -> bytes:
        # Operands are legal by construction but for rare combinations (a source pair in two
        # quadrants, a full register file), which are drawn again.
        while True:
            used = self._next_register
            record = make()
            verdict = validate(record, registers=self.registers, geometry=self.geometry)
            if verdict.reason is Reason.NONE:
                return record
            self._next_register = used

    # instructions

    def grad_accumulate(self) -> bytes:
        return self._grad_accumulate(Opcode.BATCH_NORM_GRAD_ACCUMULATE)

    def grad_accumulate2(self) -> bytes:
        return self._grad_accumulate(Opcode.BATCH_NORM_GRAD_ACCUMULATE2)

    def _grad_accumulate(self, opcode: Opcode) -> bytes:
        channels = self._channels()
        src0_dtype, src1_dtype, out = self._pick(SOURCES), self._pick(SOURCES), self._pick(FLOATS)
        immediate = self._pick(SOURCES)
        start = self._partition(channels)
        counts = self._counts()
        fields: Fields = {
            "in0_in1_dtype.lo": int(src0_dtype),
            "in0_in1_dtype.hi": int(src1_dtype),
            "num_active_channels": channels,
        }
        self._sources(fields, start, counts, src0_dtype, src1_dtype)
        fields |= self._walk("dst", self._partition(channels), (3,), out, write=True)
        for name in ("imm0", "imm1"):
            pointer = self._pointer(channels, immediate)
            source = ImmSrc.POINTER
            if opcode is Opcode.BATCH_NORM_GRAD_ACCUMULATE2:
                source, pointer = self._pointer_source(pointer)
                half = "lo" if name == "imm0" else "hi"
                fields[f"imm0_imm1_src.{half}"] = int(source)
            fields[name] = pointer
        if opcode is Opcode.BATCH_NORM_GRAD_ACCUMULATE2:
            fields["immediate_out_dtype.lo"] = int(immediate)
            fields["immediate_out_dtype.hi"] = int(out)
        else:
            invalid = immediate is Dtype.FP32 and self.rng.random() < 0.5
            fields["immediate_dtype"] = int(Dtype.INVALID if invalid else immediate)
            fields["out_dtype"] = int(out)
        return encode(opcode, fields)

    def param_load(self) -> bytes:
        channels, dtype = self._channels(), self._pick(FLOATS)
        counts = self._pick(((3, 1), (1, 3)))
        fields = self._walk("src", self._partition(channels), counts, dtype, write=False)
        source, pointer = self._pointer_source(self._pointer(channels, Dtype.FP32))
        fields |= {
            "imm1": self._element_count(),
            "dtype": int(dtype),
            "num_active_channels": channels,
            "imm0": pointer,
            "imm0_src": int(source),
        }
        return encode(Opcode.BATCH_NORM_PARAM_LOAD, fields)

    def param_load2(self) -> bytes:
        channels, dtype, immediate = self._channels(), self._pick(FLOATS), self._pick(FLOATS)
        counts = self._pick(((2, 1), (1, 2)))
        fields = self._walk("src", self._partition(channels), counts, dtype, write=False)
        fields |= {
            "element_count": self._element_count(),
            "src_dtype": int(dtype),
            "immediate_dtype": int(immediate),
            "num_active_channels": channels,
        }
        for name in ("imm0", "imm1"):
            source, pointer = self._pointer_source(self._pointer(channels, immediate))
            fields |= {name: pointer, f"{name}_src": int(source)}
        return encode(Opcode.BATCH_NORM_PARAM_LOAD2, fields)

    def back_prop(self) -> bytes:
        channels = self._channels()
        src0_dtype, src1_dtype, out = self._pick(SOURCES), self._pick(SOURCES), self._pick(RESULTS)
        start = self._partition(channels)
        counts = self._counts()
        fields: Fields = {
            "in0_in1_dtype.lo": int(src0_dtype),
            "in0_in1_dtype.hi": int(src1_dtype),
            "out_dtype": int(out),
            "num_active_channels": channels,
        }
        self._sources(fields, start, counts, src0_dtype, src1_dtype)
        style = self.rng.random()
        source = self._pick(("src0", "src1"))
        if style < 0.25:  # in place: the walk of a source
            fields |= {
                f"dst.{part}": fields[f"{source}.{part}"]
                for part in ("start_addr", "step_elem", "num_elem")
            }
        else:  # elsewhere, or (same partition, small memory) overlapping a source
            where = start if style < 0.6 else self._partition(channels)
            same = self.rng.random() < 0.5
            fields |= self._walk(
                "dst", where, counts if same else self._reshaped(counts), out, write=True
            )
        return encode(Opcode.BATCH_NORM_BACK_PROP, fields)

    def load_parameter_ram(self) -> bytes:
        count = int(self.rng.integers(1, 33))
        address = self._address(self._partition(1), 0, 4 * count, 4, write=False)
        fields: Fields = {
            "addr": self._maybe_register(address),
            "first_entry": int(self.rng.integers(0, 257 - count)),
            "entry_count": count,
            "dtype": int(Dtype.FP32),
        }
        return encode(Opcode.LOAD_PARAMETER_RAM, fields)

    def synchronise(self) -> bytes:
        """NOP or EVENT_SEMAPHORE with an update and without a wait; see `with_events`."""
        opcode = self._pick((Opcode.NOP, Opcode.EVENT_SEMAPHORE))
        return _set_events(self.rng, encode(opcode, {}), WaitMode.NONE)

    # operands

    def _sources(self, fields, start, counts, src0_dtype, src1_dtype) -> None:
        """Two sources: in one SBUF quadrant, or one of them in PSUM."""
        in_psum = self._pick((None, None, "src0", "src1"))
        for name, dtype in (("src0", src0_dtype), ("src1", src1_dtype)):
            shape = counts if self.rng.random() < 0.5 else self._reshaped(counts)
            fields |= self._walk(name, start, shape, dtype, write=False, psum=name == in_psum)

    def _walk(self, name, partition, counts, dtype, *, write, psum=None) -> Fields:
        """A walk of the given counts that stays in the partition."""
        size = DTYPE_BYTES[dtype]
        if psum is None:
            psum = self.rng.random() < 0.25
        psum = psum and not (write and size != 4)
        limit = self.geometry.psum_active if psum else self.geometry.sbuf_active
        while True:
            steps = tuple(self._step(count) for count in counts)
            low = size * sum(min(0, (n - 1) * s) for n, s in zip(counts, steps, strict=True))
            high = size * sum(max(0, (n - 1) * s) for n, s in zip(counts, steps, strict=True))
            if high - low + size <= limit:
                break
        address = self._address(partition, -low, high + size, size, write=write, psum=psum)
        return {
            f"{name}.start_addr": self._maybe_register(address),
            f"{name}.step_elem": steps,
            f"{name}.num_elem": counts,
        }

    def _address(self, partition, before, after, size, *, write, psum=None) -> int:
        """An aligned address with ``before`` bytes below and ``after`` bytes from it on."""
        if psum is None:
            psum = not write and self.rng.random() < 0.25
        limit = self.geometry.psum_active if psum else self.geometry.sbuf_active
        lowest, highest = -(-before // size), (limit - after) // size
        # Both ends of the room are corners: a walk that begins at byte 0, one that ends the row.
        slot = self._pick((lowest, highest, int(self.rng.integers(lowest, highest + 1))))
        base = PSUM_BASE + partition * PSUM_STRIDE if psum else partition * SBUF_STRIDE
        return base + slot * size

    def _pointer(self, channels, dtype) -> int:
        size = DTYPE_BYTES[dtype]
        return self._address(self._partition(channels), 0, size, size, write=False)

    def _pointer_source(self, pointer) -> tuple[ImmSrc, int]:
        if self.rng.random() < 0.25 and self._next_register < REGISTERS:
            return ImmSrc.REGISTER, self._register(pointer)
        return ImmSrc.POINTER, pointer

    def _maybe_register(self, address) -> int:
        if self.rng.random() < 0.1 and self._next_register < REGISTERS:
            return ADDRESS_REGISTER | self._register(address)
        return address

    def _register(self, value) -> int:
        register = self._next_register
        self.registers[register] = value
        self._next_register += 1
        return register

    # numbers

    def _channels(self) -> int:
        return self._pick(
            (1, 32, 33, 64, 65, 128, *(int(self.rng.integers(1, MAX_CHANNELS + 1)),) * 6)
        )

    def _partition(self, channels) -> int:
        if channels <= 32:
            return self._pick((0, 32, 64, 96))
        return self._pick((0, 64)) if channels <= 64 else 0

    def _counts(self) -> tuple[int, int, int]:
        while True:
            x, y, z = (int(n) for n in self.rng.integers(1, 1 + self._pick((2, 4, 9, 24)), 3))
            if x * y * z <= self.max_elements:
                return x, y, z

    def _reshaped(self, counts) -> tuple[int, ...]:
        """The same product in another shape, because ordinals are matched, not shapes."""
        total = int(np.prod(counts))
        divisors = [d for d in range(1, total + 1) if total % d == 0]
        inner = self._pick(divisors)
        middle = self._pick([d for d in divisors if (total // inner) % d == 0])
        return inner, middle, total // inner // middle

    def _step(self, count) -> int:
        if count == 1 and self.rng.random() < 0.3:
            return int(self.rng.integers(-(1 << 15), 1 << 15))
        return self._pick((1, 1, -1, 0, 2, -2, 3, int(self.rng.integers(-8, 9))))

    def _element_count(self) -> int:
        value = self._pick(
            (1.0, 3.0, 255.0, 256.0, 0.0, -4.0, 2.5, 1e-40, 1e38, float(self._below(1 << 20)))
        )
        return int(np.float32(value).view(np.uint32))

    def _below(self, limit) -> int:
        return int(self.rng.integers(limit))

    def _pick(self, options):
        return options[self._below(len(options))]
