"""Conversions of one element, as isa_common.md 2.5 and 2.6 word them: SoftFloat and fractions."""

from dataclasses import dataclass

import softfloatpy
from dve_golden.isa.control import Control, IntegerRounding
from dve_golden.isa.enums import Dtype
from exact_formats import FP8_MODES, RANGES, to_integer
from scalar_arithmetic import NAN, bits_of, f32, is_nan

INT32, UINT32, BF16, FP16, FP32, FP32R = 0x8, 0x9, 0x6, 0x7, 0xA, 0xB
SIZE = {2: 1, 3: 1, 4: 2, 5: 2, BF16: 2, FP16: 2, INT32: 4, UINT32: 4, FP32: 4, FP32R: 4}
SIZE |= {0xD: 1, 0xE: 1, 0xF: 1}
EXPONENT = {
    **{BF16: 0x7F80, FP16: 0x7C00, FP32: 0x7F80_0000, FP32R: 0x7F80_0000},
    **{0xD: 0x70, 0xE: 0x78, 0xF: 0x7C},
}
QUIET = {BF16: 0x7FC0, FP16: 0x7E00, FP32: NAN, FP32R: NAN}


@dataclass(frozen=True)
class Converters:
    """Both directions, with the control values in the order of the state files."""

    emax_e4m3: int
    range_extension: int
    ocp_sat: int
    sis: int
    sns: int
    rounding: int
    flush_to_zero: int

    def widen(self, raw, dtype):
        """The binary32 pattern of an element."""
        raw = self._flushed(raw, dtype)
        if dtype in (2, 3, 4, 5, INT32, UINT32):
            low, high = RANGES[Dtype(dtype)]
            value = raw if raw <= high else raw - (high - low + 1)
            if dtype == UINT32:
                return bits_of(softfloatpy.ui32_to_f32(softfloatpy.UInt32.from_int(value)))
            return bits_of(softfloatpy.i32_to_f32(softfloatpy.Int32.from_int(value)))
        if dtype == BF16:
            return bits_of(f32(raw << 16))
        if dtype == FP16:
            half = softfloatpy.Float16.from_bytes(raw.to_bytes(2, "big"))
            return bits_of(softfloatpy.f16_to_f32(half))
        if dtype == FP32:
            return bits_of(f32(raw))
        return self._fp8(dtype).widened(raw)

    def narrow(self, bits, dtype):
        """The element that a binary32 pattern becomes."""
        return self._flushed(self._rounded(bits, dtype), dtype)

    def _rounded(self, bits, dtype):
        if dtype in (2, 3, 4, 5, INT32, UINT32):
            integer = to_integer(bits, Dtype(dtype), IntegerRounding(self.rounding))
            return integer % (1 << 8 * SIZE[dtype])
        if dtype not in QUIET:
            return self._fp8(dtype).narrowed(bits)
        short = dtype in (BF16, FP16)
        if is_nan(bits):
            return EXPONENT[dtype] - 1 if short and self.sns else QUIET[dtype]
        if dtype == FP16:
            rounded = int.from_bytes(softfloatpy.f32_to_f16(f32(bits)).to_bytes(), "big")
        else:
            dropped = {BF16: 16, FP32R: 10, FP32: 0}[dtype]
            kept, rest = divmod(bits, 1 << dropped)
            twice = 2 * rest
            kept += twice > 1 << dropped or (twice == 1 << dropped and dropped > 0 and kept & 1)
            rounded = kept if dtype == BF16 else kept << dropped
        infinite = short and rounded & 0x7FFF == EXPONENT[dtype]
        return rounded - 1 if infinite and self.sis else rounded

    def _flushed(self, raw, dtype):
        if not self.flush_to_zero or dtype not in EXPONENT or raw & EXPONENT[dtype]:
            return raw
        return raw & 1 << 8 * SIZE[dtype] - 1

    def _fp8(self, dtype):
        """The row of isa_common.md 2.6 that is in force."""
        saturates = bool(self.ocp_sat)
        wanted = {
            0xD: Control(range_extension=bool(self.range_extension), ocp_sat=saturates),
            0xE: Control(emax_e4m3=self.emax_e4m3, ocp_sat=saturates),
            0xF: Control(ocp_sat=saturates),
        }[dtype]
        (mode,) = (m for m in FP8_MODES if m.dtype == dtype and m.control == wanted)
        return mode
