"""Random records of the struct S3S3D3_TT: a third are legal, the others nearly so."""

from dve_cosim.places import Place, address_of, has_psum
from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import Geometry
from frontend_bench import BF16, BF16_OPERATORS, BITVEC, CAST, COPY, TENSOR_TENSOR_FAMILY, TT
from numpy.random import Generator

_INTEGERS = (0x2, 0x3, 0x4, 0x5, 0x8, 0x9)
_PLAIN = (*_INTEGERS, 0x6, 0x7, 0xA, 0xD, 0xE, 0xF)
_RESULTS = (*_PLAIN, 0xB)
_CHANNELS = (1, 2, 31, 32)
_ODD_CHANNELS = (0, 33, 64, 65, 127, 128, 129, 255)
_STEPS = (1, 1, 1, 2, 3, 12, 0, -1, -4, 300)
_COUNTS = ((1, 1, 1), (2, 1, 1), (4, 3, 1), (2, 6, 1), (12, 1, 1), (6, 1, 2), (1, 2, 6), (3, 2, 2))


class TensorTensorRecords:
    """An endless source of records.

    Parameters
    ----------
    rng : numpy.random.Generator
    geometry : Geometry
        Generation and memories.
    """

    def __init__(self, rng: Generator, geometry: Geometry):
        self.rng = rng
        self.geometry = geometry
        self.generation = geometry.generation
        sunda = geometry.generation is Generation.SUNDA
        self.opcodes = (*TENSOR_TENSOR_FAMILY, *(BF16_OPERATORS if sunda else ()))

    def next(self) -> bytes:
        """One record."""
        opcode = self._pick(self.opcodes)
        types = self._types(opcode)
        quadrant = self._below(4) * 32
        packed = opcode in BF16_OPERATORS
        fields: Fields = {
            "in0_in1_dtype.lo": types["src0"],
            "in0_in1_dtype.hi": types["src1"],
            "out_dtype": types["dst"],
            "op": self._operator(opcode),
            "num_active_channels": self._pick(_ODD_CHANNELS if self._chance(0.1) else _CHANNELS),
        }
        count = self._pick(_COUNTS)
        for name, dtype in types.items():
            partition = quadrant if name != "dst" or self._chance(0.5) else 32 * self._below(4)
            fields |= self._walk(name, dtype, partition, count, packed and name != "dst")
        return encode(opcode, fields)

    def _types(self, opcode: Opcode) -> dict[str, int]:
        if opcode in BF16_OPERATORS:
            types = {"src0": BF16, "src1": BF16, "dst": self._pick(_RESULTS)}
        elif opcode is BITVEC:
            types = dict.fromkeys(("src0", "src1", "dst"), self._pick(_INTEGERS))
        elif opcode in (COPY, CAST):
            types = {"src0": self._pick(_INTEGERS), "src1": self._pick(_PLAIN)}
            types["dst"] = types["src1"] if opcode is COPY else self._pick(_PLAIN)
        else:
            types = {"src0": self._pick(_PLAIN), "src1": self._pick(_PLAIN)}
            types["dst"] = self._pick(_RESULTS)
        if self._chance(0.08):
            types[self._pick(tuple(types))] = self._below(16)
        return types

    def _operator(self, opcode: Opcode) -> int:
        if self._chance(0.06):
            return self._below(256)
        if opcode is TT:
            return self._pick((0x00, 0x04, 0x06, 0x09, 0x0D, 0x17, 0x19, 0x20, 0x23))
        if opcode is BITVEC:
            return self._pick((0x00, 0x01, 0x03, 0x0A, 0x0C, 0x10, 0x11))
        return BF16_OPERATORS.get(opcode, 0)

    def _walk(self, name, dtype, partition, count, packed) -> Fields:
        """An operand in the middle of its partition, or at one of its ends."""
        size = DTYPE_BYTES.get(Dtype(dtype), 1)
        # Two bytes into PSUM are illegal, so mostly not even tried.
        in_psum = has_psum(self.generation) and self._chance(0.2 if name != "dst" else 0.1)
        end = self.geometry.psum_active if in_psum else self.geometry.sbuf_active
        grain = 4 if packed else size
        near = grain * self._below(16)
        offset = self._pick((0x1000 + near, 0x2000, 0x2000, near, end - near))
        if self._chance(0.05):
            offset ^= 1 << self._below(4)
        inner = 1 if packed and not self._chance(0.05) else self._step()
        unit = 2 if packed and not self._chance(0.05) else 1
        counts = list(count if packed or self._chance(0.7) else count[::-1])
        if self._chance(0.04):
            at = self._below(3)
            counts[at] = self._pick((0, 1, counts[at] + 1, counts[at] ^ 1))
        word = address_of(Place(in_psum, partition, offset), self.generation)
        if self._chance(0.04):
            word = self._pick((1 << 31 | self._below(66), word | 1 << 29, word | 1 << 30))
        return {
            f"{name}.start_addr": word,
            f"{name}.step_elem": (inner, unit * self._step(), unit * self._step()),
            f"{name}.num_elem": tuple(counts),
        }

    def _step(self) -> int:
        return self._pick((-1 << 14, (1 << 14) - 1)) if self._chance(0.02) else self._pick(_STEPS)

    def _below(self, limit: int) -> int:
        return int(self.rng.integers(limit))

    def _pick(self, options):
        return options[self._below(len(options))]

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share
