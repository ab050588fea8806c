"""The instructions as the specification words them: one channel, one element, one operation.

Reads records at the byte offsets of batchnorm.md sections 2 to 7 and isa_common.md 5.1, keeps
memories as bytearrays and computes with SoftFloat. It shares nothing with the golden machine and
is as slow as it looks. Legality is not checked.
"""

import struct

import softfloatpy

CANONICAL_NAN = 0x7FC0_0000
BF16, FP16, INT32, FP32, FP32R = 0x6, 0x7, 0x8, 0xA, 0xB
SIZE = {BF16: 2, FP16: 2, INT32: 4, FP32: 4, FP32R: 4}
CANONICAL_NAN_OF = {BF16: 0x7FC0, FP16: 0x7E00, FP32: CANONICAL_NAN, FP32R: CANONICAL_NAN}


def f32(bits):
    return softfloatpy.Float32.from_bytes(bits.to_bytes(4, "big"))


def bits_of(value):
    bits = int.from_bytes(value.to_bytes(), "big")
    return CANONICAL_NAN if bits & 0x7FFF_FFFF > 0x7F80_0000 else bits


def add(a, b):
    return bits_of(softfloatpy.f32_add(f32(a), f32(b)))


def sub(a, b):
    return bits_of(softfloatpy.f32_sub(f32(a), f32(b)))


def mul(a, b):
    return bits_of(softfloatpy.f32_mul(f32(a), f32(b)))


def div(a, b):
    return bits_of(softfloatpy.f32_div(f32(a), f32(b)))


def widen(raw, dtype):
    if dtype == INT32:
        signed = raw - (1 << 32) if raw >> 31 else raw
        return bits_of(softfloatpy.i32_to_f32(softfloatpy.Int32.from_int(signed)))
    if dtype == BF16:
        return bits_of(f32(raw << 16))
    if dtype == FP16:
        half = softfloatpy.Float16.from_bytes(raw.to_bytes(2, "big"))
        return bits_of(softfloatpy.f16_to_f32(half))
    return bits_of(f32(raw))


def narrow(bits, dtype):
    if bits & 0x7FFF_FFFF > 0x7F80_0000:
        return CANONICAL_NAN_OF[dtype]
    if dtype == FP16:
        return int.from_bytes(softfloatpy.f32_to_f16(f32(bits)).to_bytes(), "big")
    dropped = {BF16: 16, FP32R: 10, FP32: 0}[dtype]
    kept, rest = divmod(bits, 1 << dropped)
    twice = 2 * rest
    kept += twice > 1 << dropped or (twice == 1 << dropped and dropped > 0 and kept & 1)
    return kept if dtype == BF16 else kept << dropped


class ScalarMachine:
    """Starts from the state of a golden machine; ``state()`` gives arrays to compare."""

    def __init__(self, machine):
        self.sbuf = [bytearray(row.tobytes()) for row in machine.sbuf]
        self.psum = [bytearray(row.tobytes()) for row in machine.psum]
        self.registers = machine.registers.tolist()
        self.lanes = [struct.unpack("<5I", row.tobytes()) for row in machine.lane_state]
        self.ram = list(struct.unpack("<256I", machine.parameter_ram.tobytes()))

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

    def get(self, address, k, dtype, elements=0):
        row, offset = self.place(address, k)
        at = offset + elements * SIZE[dtype]
        return widen(int.from_bytes(row[at : at + SIZE[dtype]], "little"), dtype)

    def put(self, address, k, dtype, elements, bits):
        row, offset = self.place(address, k)
        at = offset + elements * SIZE[dtype]
        row[at : at + SIZE[dtype]] = narrow(bits, dtype).to_bytes(SIZE[dtype], "little")

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
