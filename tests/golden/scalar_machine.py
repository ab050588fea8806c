"""The instructions as the specification words them: one channel, one element, one operation.

Reads records at the byte offsets of batchnorm.md sections 2 to 7 and isa_common.md 5.1, keeps
memories as bytearrays, converts and computes one number at a time. It shares nothing with the
golden machine and is as slow as it looks. Legality is not checked.
"""

import struct

from scalar_arithmetic import BIT_VECTOR, OPERATORS, add, div, mul, sub
from scalar_conversions import FP32, SIZE, Converters


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
            for (q0, q1, q2, q3, q4, q5, q6, q7), at in zip(q, dst_walk, strict=True):
                low, high = add(add(q0, q1), add(q2, q3)), add(add(q4, q5), add(q6, q7))
                self.put(dst_at, k, out_dtype, at, add(low, high))

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
            value = struct.unpack("<f", struct.pack("<I", n))[0]
            tabulated = 1 <= value <= 255 and value == int(value)
            prefactor = mul(a, self.ram[int(value)] if tabulated else div(0x3F80_0000, n))
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
