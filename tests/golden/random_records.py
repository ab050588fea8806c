"""Random legal records, and the machine state to execute them on, by seed."""

import numpy as np
from dve_golden.isa.codec import encode
from dve_golden.isa.control import CONTROL_WORDS
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.machine import Machine

QUADRANT = 0x80_0000  # SBUF bytes from one quadrant to the next
PSUM = 0x200_0000
PSUM_QUADRANT = 0x10_0000
SBUF_BYTES = 256
PSUM_BYTES = 128
FLOATS = [Dtype.FP32, Dtype.FP16, Dtype.BF16]
SOURCES = [*FLOATS, Dtype.INT32]
INTEGERS = [
    *(Dtype.INT8, Dtype.UINT8, Dtype.INT16, Dtype.UINT16, Dtype.INT32, Dtype.UINT32),
]
PLAIN = [*INTEGERS, *FLOATS, Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5]
RESULTS = [*PLAIN, Dtype.FP32R]
ARITHMETIC = [0x00, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0D, 0x0E, 0x0F, *range(0x12, 0x1A)]
SINCE_MARIANA = [0x20, 0x21, 0x22, 0x23]
BIT_VECTOR = [0x00, 0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11]


def pattern(name, address, counts, steps=None):
    steps = (1,) * len(counts) if steps is None else steps
    return {
        f"{name}.start_addr": address,
        f"{name}.step_elem": tuple(steps),
        f"{name}.num_elem": tuple(counts),
    }


def bits(value):
    return int(np.float32(value).view(np.uint32))


def divisors_of(total, rng):
    inner = rng.choice([d for d in range(1, total + 1) if total % d == 0])
    middle = rng.choice([d for d in range(1, total // inner + 1) if total // inner % d == 0])
    return int(inner), int(middle), int(total // inner // middle)


class RandomRecords:
    """Random legal records for a machine with small memories, where operands often overlap.

    Parameters
    ----------
    seed
        Anything that seeds a numpy generator; decides machine state and records.
    generation
        One whose addresses are those of CAYMAN.
    """

    def __init__(self, seed, generation=Generation.CAYMAN):
        self.rng = np.random.default_rng(seed)
        self.machine = Machine(sbuf_bytes=SBUF_BYTES, psum_bytes=PSUM_BYTES, generation=generation)
        self.channels = int(
            self.rng.choice([1, 2, 3, 31, 33, 65], p=[0.3, 0.3, 0.3, 0.04, 0.03, 0.03])
        )
        for memory in (self.machine.sbuf, self.machine.psum):
            memory[:] = self.words(128, memory.shape[1] // 4).view(np.uint8)
        self.machine.lane_state.view(np.uint32)[:] = self.words(128, 5)
        counts = self.rng.choice([1, 3, 7, 255, 256, 1000, 2.5, -4], 128)
        self.machine.lane_state[:, 0] = np.where(
            self.rng.random(128) < 0.8, counts, self.machine.lane_state[:, 0]
        )

    def any_control(self):
        """Change any of the control values."""
        changed = self.rng.integers(0, 2, len(CONTROL_WORDS), np.uint32)
        changed[0] += 7  # emax_e4m3
        self.machine.control[:] = changed

    def words(self, *shape):
        """Any pattern, small integers, or ordinary fp32, fp16 and bf16 numbers."""
        rng = self.rng
        ordinary = rng.standard_normal(shape).astype(np.float32)
        half = rng.standard_normal((*shape, 2)).astype(np.float16).view(np.uint32)[..., 0]
        kinds = [
            rng.integers(0, 1 << 32, shape, np.uint32),
            rng.integers(-100, 100, shape, np.int32).view(np.uint32),
            ordinary.view(np.uint32),
            half,
            (ordinary.view(np.uint32) >> 16) * 0x1_0001,
        ]
        return np.choose(rng.choice(5, shape, p=[0.1, 0.1, 0.4, 0.2, 0.2]), kinds)

    def base(self, region):
        """Address of a quadrant that this many channels may start in."""
        starts = [0] if self.channels > 64 else [0, 2] if self.channels > 32 else range(4)
        # Mostly the first quadrant, so that operands meet.
        q = 0 if self.rng.random() < 0.7 else int(self.rng.choice(starts))
        return q * QUADRANT if region == "sbuf" else PSUM + q * PSUM_QUADRANT

    def operand(self, base, dtype, counts):
        """Address and steps of a walk that stays in the partition; three steps in ten are zero."""
        size = DTYPE_BYTES[dtype]
        room = (SBUF_BYTES if base < PSUM else PSUM_BYTES) // size
        while True:
            steps = [int(s) for s in self.rng.choice([0, 0, 1, 1, 1, -1, 2, -3, 4, 5], len(counts))]
            reach = [(n - 1) * s for n, s in zip(counts, steps, strict=True)]
            low, high = -sum(min(0, r) for r in reach), room - sum(max(0, r) for r in reach)
            if low < high:
                return base + size * int(self.rng.integers(low, high)), tuple(steps)

    def tensor(self, name, base, dtype, counts):
        address, steps = self.operand(base, dtype, counts)
        return pattern(name, address, counts, steps)

    def sources(self, total, lo, hi):
        """Both in one SBUF quadrant, or one of them in PSUM."""
        kind = self.rng.choice(["both", "src0", "src1"], p=[0.7, 0.15, 0.15])
        sbuf = self.base("sbuf")
        bases = [self.base("psum") if kind == name else sbuf for name in ("src0", "src1")]
        return self.tensor("src0", bases[0], lo, divisors_of(total, self.rng)) | self.tensor(
            "src1", bases[1], hi, divisors_of(total, self.rng)
        )

    def result(self, counts, dtype):
        word = DTYPE_BYTES[dtype] == 4
        region = "psum" if word and self.rng.random() < 0.2 else "sbuf"
        return self.tensor("dst", self.base(region), dtype, counts)

    def pointer(self, dtype):
        return self.operand(self.base(self.rng.choice(["sbuf", "psum"])), dtype, ())[0]

    def pick(self, dtypes):
        return dtypes[self.rng.integers(len(dtypes))]

    def back_prop(self):
        return self.elementwise(
            Opcode.BATCH_NORM_BACK_PROP, self.pick(PLAIN), self.pick(PLAIN), self.pick(RESULTS)
        )

    def tensor_tensor(self, operator=None):
        operators = ARITHMETIC
        if self.machine.geometry.generation is Generation.MARIANA:
            operators = [*ARITHMETIC, *SINCE_MARIANA]
        operator = self.pick(operators) if operator is None else operator
        lo, hi, out = self.pick(PLAIN), self.pick(PLAIN), self.pick(RESULTS)
        return self.elementwise(Opcode.TENSOR_TENSOR_ARITH_OP, lo, hi, out, operator)

    def bit_vector(self, operator=None):
        operator = self.pick(BIT_VECTOR) if operator is None else operator
        dtype = self.pick(INTEGERS)
        return self.elementwise(Opcode.TENSOR_TENSOR_BITVEC_OP, dtype, dtype, dtype, operator)

    def copy_predicated(self):
        dtype = self.pick(PLAIN)
        return self.elementwise(Opcode.COPY_PREDICATED, self.pick(INTEGERS), dtype, dtype)

    def cast_predicated(self):
        return self.elementwise(
            Opcode.CAST_PREDICATED, self.pick(INTEGERS), self.pick(PLAIN), self.pick(PLAIN)
        )

    def bf16(self, opcode, operator):
        """One of SUNDA's opcodes: rows of pairs, at least two of them at a time."""
        bf16 = Dtype.BF16
        total = 2 * int(self.rng.integers(1, 11))
        fields = {
            "in0_in1_dtype.lo": bf16,
            "in0_in1_dtype.hi": bf16,
            "out_dtype": self.pick(RESULTS),
            "op": operator,
            "num_active_channels": self.channels,
        }
        base = self.base("sbuf")
        for name in ("src0", "src1"):
            inner, middle, outer = divisors_of(total // 2, self.rng)
            counts = (2 * inner, middle, outer)
            while True:
                steps = (1, *(2 * int(s) for s in self.rng.integers(-3, 4, 2)))
                reach = [(n - 1) * s for n, s in zip(counts, steps, strict=True)]
                low = -sum(min(0, r) for r in reach)
                high = SBUF_BYTES // 2 - sum(max(0, r) for r in reach)
                if low < high:
                    break
            start = base + 4 * int(self.rng.integers(low // 2, high // 2))
            fields |= pattern(name, start, counts, steps)
        return encode(
            opcode, fields | self.result(divisors_of(total, self.rng), fields["out_dtype"])
        )

    def elementwise(self, opcode, lo, hi, out, operator=0):
        """Two sources of as many elements as the result, which may lie exactly on src1."""
        total = int(self.rng.integers(1, 21))
        fields = {
            "in0_in1_dtype.lo": lo,
            "in0_in1_dtype.hi": hi,
            "out_dtype": out,
            "op": operator,
            "num_active_channels": self.channels,
            **self.sources(total, lo, hi),
            **self.result(divisors_of(total, self.rng), out),
        }
        if self.rng.random() < 0.3 and fields["src1.start_addr"] < PSUM:
            fields |= {
                f"dst.{part}": fields[f"src1.{part}"]
                for part in ("start_addr", "step_elem", "num_elem")
            }
            fields["out_dtype"] = hi
        return encode(opcode, fields)

    def statistics(self, opcode):
        """One of S4D2_BN; counts are what they are now and then only."""
        totals, results = {
            Opcode.BATCH_NORM_STATS: ([*range(1, 21), 255, 256], 3),
            Opcode.BATCH_NORM_STATS2: ([*range(1, 21), 255, 256, 511, 512], 6),
            Opcode.TRANSPOSE_BATCH_NORM_STATS2: ([32, 64], 6),
            Opcode.BATCH_NORM_AGGREGATE: ([*range(3, 61, 3), 180], 2),
        }[opcode]
        if opcode is Opcode.TRANSPOSE_BATCH_NORM_STATS2:
            self.channels = 32
        total = int(self.pick(totals))
        inner, middle, outer = divisors_of(total, self.rng)
        row = divisors_of(inner, self.rng)[0]
        shape = (row, inner // row, middle, outer)
        dtype, out = self.pick(PLAIN), self.pick(FLOATS)
        rows = int(self.rng.choice([d for d in (1, 2, 3, 6) if results % d == 0]))
        fields = {
            **self.tensor("src", self.base(self.rng.choice(["sbuf", "psum"])), dtype, shape),
            **self.result((results // rows, rows), out),
            "in_dtype": dtype,
            "out_dtype": out,
            "num_active_channels": self.channels,
        }
        if opcode is not Opcode.BATCH_NORM_AGGREGATE:
            counts = self.rng.choice([0, 1, 128, 256, -0.0, 0.1, 70000, -3e38], 2)
            fields |= {"even_count": bits(counts[0]), "odd_count": bits(counts[1])}
        return encode(opcode, fields)

    def accumulate(self, opcode):
        total = int(self.rng.integers(1, 21))
        lo, hi, out = self.pick(SOURCES), self.pick(SOURCES), self.pick(FLOATS)
        immediate = self.pick(SOURCES)
        fields = {
            "imm0": self.pointer(immediate),
            "imm1": self.pointer(immediate),
            **self.sources(total, lo, hi),
            **self.result((3,), out),
            "in0_in1_dtype.lo": lo,
            "in0_in1_dtype.hi": hi,
            "num_active_channels": self.channels,
        }
        if opcode is Opcode.BATCH_NORM_GRAD_ACCUMULATE:
            return encode(opcode, fields | {"immediate_dtype": immediate, "out_dtype": out})
        self.machine.registers[17] = fields["imm0"]
        return encode(
            opcode,
            fields
            | {
                "imm0": 17,
                "imm0_imm1_src.lo": 2,
                "imm0_imm1_src.hi": 1,
                "immediate_out_dtype.lo": immediate,
                "immediate_out_dtype.hi": out,
            },
        )

    def load(self):
        dtype = self.pick(FLOATS)
        return encode(
            Opcode.BATCH_NORM_PARAM_LOAD,
            {
                **self.tensor("src", self.base("sbuf"), dtype, (3, 1)),
                "imm1": bits(self.rng.choice([1, 200, 1024, -0.0, 0.1])),
                "dtype": dtype,
                "num_active_channels": self.channels,
                "imm0": self.pointer(Dtype.FP32),
                "imm0_src": 1,
            },
        )

    def load2(self):
        dtype, immediate = self.pick(FLOATS), self.pick(FLOATS)
        self.machine.registers[18] = self.pointer(immediate)
        return encode(
            Opcode.BATCH_NORM_PARAM_LOAD2,
            {
                **self.tensor("src", self.base("psum"), dtype, (1, 2)),
                "element_count": bits(self.rng.choice([1, 200, 1024, -0.0, 0.1])),
                "src_dtype": dtype,
                "immediate_dtype": immediate,
                "num_active_channels": self.channels,
                "imm0": self.pointer(immediate),
                "imm1": 18,
                "imm1_src": 2,
            },
        )

    def load_ram(self):
        first = int(self.rng.integers(0, 230))
        count = int(self.rng.integers(1, 26))
        return encode(
            Opcode.LOAD_PARAMETER_RAM,
            {
                "addr": 96 * 0x4_0000,
                "first_entry": first,
                "entry_count": count,
                "dtype": Dtype.FP32,
            },
        )
