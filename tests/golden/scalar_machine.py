"""The instructions as the specification words them: one channel, one element, one operation.

Reads records at the byte offsets of batchnorm.md sections 2 to 10 and isa_common.md 5.1, keeps
memories as bytearrays, converts and computes one number at a time. It shares nothing with the
golden machine and is as slow as it looks. Legality is not checked.
"""

import struct

from scalar_arithmetic import BIT_VECTOR, OPERATORS, add, div, mul, sub
from scalar_conversions import FP32, SIZE, Converters


def float_bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def tree(terms):
    """Neighbours are added, then neighbours of these sums, until one is left."""
    while len(terms) > 1:
        terms = [add(a, b) for a, b in zip(terms[0::2], terms[1::2], strict=True)]
    return terms[0]


def fold(terms):
    """batchnorm.md 8."""
    partials = [0] * 8
    for e, term in enumerate(terms):
        partials[e % 8] = add(partials[e % 8], term)
    return tree(partials)


class ScalarMachine:
    """Starts from the state of a golden machine; ``state()`` gives arrays to compare."""

    def __init__(self, machine):
        self.sbuf = [bytearray(row.tobytes()) for row in machine.sbuf]
        self.psum = [bytearray(row.tobytes()) for row in machine.psum]
        self.registers = machine.registers.tolist()
        self.lanes = [struct.unpack("<5I", row.tobytes()) for row in machine.lane_state]
        self.ram = list(struct.unpack("<256I", machine.parameter_ram.tobytes()))
        self.converters = Converters(*machine.control.tolist())

    def state(self):
        return {
            "sbuf": b"".join(self.sbuf),
            "psum": b"".join(self.psum),
            "lane_state": b"".join(struct.pack("<5I", *lane) for lane in self.lanes),
            "parameter_ram": struct.pack("<256I", *self.ram),
        }

    def execute(self, record):
        {
            0x60: self.statistics,
            0x61: self.statistics,
            0x82: self.statistics,
            0x62: self.aggregate,
            0x63: self.grad_accumulate,
            0x94: self.grad_accumulate2,
            0x64: self.parameter_load,
            0x8E: self.parameter_load2,
            0x66: self.load_parameter_ram,
            0x65: self.back_prop,
            0x41: self.tensor_tensor,
            0x51: self.bit_vector,
            0x72: self.copy_predicated,
            0x99: self.copy_predicated,
            0x8A: self.tensor_tensor,
            0x8B: self.tensor_tensor,
            0x8F: self.tensor_tensor,
        }[record[0]](record)

    def place(self, address, k):
        """The row of channel k and the byte in it."""
        if address >= 0x200_0000:
            return self.psum[(address - 0x200_0000 >> 15) + k], address & 0x7FFF
        return self.sbuf[(address >> 18) + k], address & 0x3_FFFF

    def address(self, word):
        return self.registers[word & 0xFF] if word >> 31 else word

    def pointer(self, word, source):
        return self.registers[word] if source == 2 else word

    def get_raw(self, address, k, dtype, elements=0):
        row, offset = self.place(address, k)
        at = offset + elements * SIZE[dtype]
        return int.from_bytes(row[at : at + SIZE[dtype]], "little")

    def put_raw(self, address, k, dtype, elements, raw):
        row, offset = self.place(address, k)
        at = offset + elements * SIZE[dtype]
        row[at : at + SIZE[dtype]] = raw.to_bytes(SIZE[dtype], "little")

    def get(self, address, k, dtype, elements=0):
        return self.converters.widen(self.get_raw(address, k, dtype, elements), dtype)

    def put(self, address, k, dtype, elements, bits):
        self.put_raw(address, k, dtype, elements, self.converters.narrow(bits, dtype))

    def pattern(self, record, at, rank):
        """Address and the element offset of every ordinal."""
        word, *rest = struct.unpack_from(f"<I{rank}h{rank}H", record, at)
        steps, counts = rest[:rank], rest[rank:]
        total = 1
        for count in counts:
            total *= count
        walk = []
        for e in range(total):
            distance = 0
            for step, count in zip(steps, counts, strict=True):
                distance += e % count * step
                e //= count
            walk.append(distance)
        return self.address(word), walk

    def grad_accumulate(self, record):
        imm0, imm1 = (
            struct.unpack_from("<I", record, 12)[0],
            struct.unpack_from("<I", record, 56)[0],
        )
        self.sums(record, imm0, imm1, record[61] or FP32, record[62])

    def grad_accumulate2(self, record):
        imm0, imm1 = (
            struct.unpack_from("<I", record, 12)[0],
            struct.unpack_from("<I", record, 56)[0],
        )
        mean = self.pointer(imm0, record[62] & 15)
        inv_std = self.pointer(imm1, record[62] >> 4)
        self.sums(record, mean, inv_std, record[61] & 15, record[61] >> 4)

    def sums(self, record, mean_at, inv_std_at, immediate_dtype, out_dtype):
        om_at, om_walk = self.pattern(record, 16, 3)
        dy_at, dy_walk = self.pattern(record, 32, 3)
        dst_at, dst_walk = self.pattern(record, 48, 1)
        for k in range(record[63]):
            mean = self.get(mean_at, k, immediate_dtype)
            inv_std = self.get(inv_std_at, k, immediate_dtype)
            q = [[0] * 8 for _ in range(3)]
            for e, (om_e, dy_e) in enumerate(zip(om_walk, dy_walk, strict=True)):
                om = self.get(om_at, k, record[60] & 15, om_e)
                dy = self.get(dy_at, k, record[60] >> 4, dy_e)
                xn = mul(sub(om, mean), inv_std)
                for partials, term in zip(q, (dy, mul(dy, xn), xn), strict=True):
                    partials[e % 8] = add(partials[e % 8], term)
            for partials, at in zip(q, dst_walk, strict=True):
                self.put(dst_at, k, out_dtype, at, tree(partials))

    def statistics(self, record):
        src_at, walk = self.pattern(record, 12, 4)
        counts = struct.unpack_from("<II", record, 40)
        whole = [(counts[0], range(len(walk)), range(8))]
        halves = [(counts[i], range(i, len(walk), 2), range(i, 8, 2)) for i in range(2)]
        for k in range(record[34]):
            x = [self.get(src_at, k, record[32], at) for at in walk]
            results = []
            for count, ordinals, partials in whole if record[0] == 0x60 else halves:
                results += [count, *self.mean_and_nvar(x, ordinals, partials)]
            self.results(record, k, results)

    def mean_and_nvar(self, x, ordinals, partials):
        if not ordinals:
            return 0, 0
        sums, squares = [0] * 8, [0] * 8
        for e in ordinals:
            s = sub(x[e], x[ordinals[0]])
            sums[e % 8] = add(sums[e % 8], s)
            squares[e % 8] = add(squares[e % 8], mul(s, s))
        n = float_bits(len(ordinals))
        m = mul(tree([sums[i] for i in partials]), self.reciprocal(n))
        nvar = sub(tree([squares[i] for i in partials]), mul(n, mul(m, m)))
        return add(x[ordinals[0]], m), nvar

    def aggregate(self, record):
        src_at, walk = self.pattern(record, 12, 4)
        for k in range(record[34]):
            x = [self.get(src_at, k, record[32], at) for at in walk]
            tuples = list(zip(x[0::3], x[1::3], x[2::3], strict=True))
            recip = self.reciprocal(fold(count for count, _, _ in tuples))
            mean = mul(fold(mul(count, mean_i) for count, mean_i, _ in tuples), recip)
            between = []
            for count, mean_i, _ in tuples:
                d = sub(mean_i, mean)
                between.append(mul(count, mul(d, d)))
            nvar = add(fold(nvar_i for _, _, nvar_i in tuples), fold(between))
            self.results(record, k, [mean, mul(nvar, recip)])

    def results(self, record, k, values):
        dst_at, walk = self.pattern(record, 48, 2)
        for at, bits in zip(walk, values, strict=True):
            self.put(dst_at, k, record[33], at, bits)

    def reciprocal(self, n):
        value = struct.unpack("<f", struct.pack("<I", n))[0]
        tabulated = 1 <= value <= 255 and value == int(value)
        return self.ram[int(value)] if tabulated else div(0x3F80_0000, n)

    def parameter_load(self, record):
        src_at, walk = self.pattern(record, 16, 2)
        (n,) = struct.unpack_from("<I", record, 28)
        mean_at = self.pointer(struct.unpack_from("<I", record, 44)[0], record[48])
        for k in range(record[34]):
            a, b, c = (self.get(src_at, k, record[32], at) for at in walk)
            self.lanes[k] = (n, self.get(mean_at, k, FP32), a, b, c)

    def parameter_load2(self, record):
        src_at, walk = self.pattern(record, 12, 2)
        n, imm0, imm1 = struct.unpack_from("<I8xII", record, 28)
        mean_at, a_at = self.pointer(imm0, record[48]), self.pointer(imm1, record[49])
        for k in range(record[34]):
            b, c = (self.get(src_at, k, record[32], at) for at in walk)
            mean, a = self.get(mean_at, k, record[33]), self.get(a_at, k, record[33])
            self.lanes[k] = (n, mean, a, b, c)

    def load_parameter_ram(self, record):
        word, first, count = struct.unpack_from("<IHH", record, 12)
        for i in range(count):
            self.ram[first + i] = self.get(self.address(word), 0, FP32, i)

    def back_prop(self, record):
        x_at, x_walk = self.pattern(record, 16, 3)
        dy_at, dy_walk = self.pattern(record, 32, 3)
        dst_at, dst_walk = self.pattern(record, 48, 3)
        lo, hi, out = record[12] & 15, record[12] >> 4, record[13]
        for k in range(record[15]):
            n, mean, a, b, c = self.lanes[k]
            prefactor = mul(a, self.reciprocal(n))
            for x_e, dy_e, dst_e in zip(x_walk, dy_walk, dst_walk, strict=True):
                x, dy = self.get(x_at, k, lo, x_e), self.get(dy_at, k, hi, dy_e)
                t2 = sub(mul(n, dy), b)
                t4 = sub(t2, mul(sub(x, mean), c))
                self.put(dst_at, k, out, dst_e, mul(prefactor, t4))

    def elements(self, record):
        """Types of src0, src1 and dst; and place by place what is at each ordinal."""
        types = record[12] & 15, record[12] >> 4, record[13]
        patterns = [self.pattern(record, at, 3) for at in (16, 32, 48)]
        places = [
            [
                (address, k, dtype, at[e])
                for dtype, (address, at) in zip(types, patterns, strict=True)
            ]
            for k in range(record[15])
            for e in range(len(patterns[0][1]))
        ]
        return types, places

    def tensor_tensor(self, record):
        operator = {0x41: record[14], 0x8A: 0x04, 0x8B: 0x06, 0x8F: 0x05}[record[0]]
        for src0, src1, dst in self.elements(record)[1]:
            self.put(*dst, OPERATORS[operator](self.get(*src0), self.get(*src1)))

    def bit_vector(self, record):
        (dtype, _, _), places = self.elements(record)
        for src0, src1, dst in places:
            a, b = self.get_raw(*src0), self.get_raw(*src1)
            self.put_raw(*dst, BIT_VECTOR[record[14]](a, b, 8 * SIZE[dtype]))

    def copy_predicated(self, record):
        (_, data, result), places = self.elements(record)
        for src0, src1, dst in places:
            if self.get_raw(*src0) == 0:
                continue
            if data == result:
                self.put_raw(*dst, self.get_raw(*src1))
            else:
                self.put(*dst, self.get(*src1))
