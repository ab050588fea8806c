"""Whether a record may execute, and if not, why (isa_common.md 5.8; batchnorm.md 2 to 7, 10).

Reasons 1 and 2 come first and alone; everything else is evaluated together and the lowest reason
is reported. The generation decides which opcodes are known, where the memories lie and which form
a register word has; all else is the same in every generation.
"""

from collections.abc import Callable
from functools import partial

from dve_golden.frontend import nearest, statistics, tensor_tensor
from dve_golden.frontend.immediates import check_finite
from dve_golden.frontend.inspection import Inspection, field_bytes
from dve_golden.frontend.operands import (
    check_channels,
    check_fixed_count,
    check_pattern,
    check_run,
    check_same_count,
    check_source_placement,
)
from dve_golden.frontend.starts import check_pointer
from dve_golden.frontend.sync import DEFINED, operand_field
from dve_golden.frontend.verdict import Finding, Verdict
from dve_golden.isa.codec import decode_fields
from dve_golden.isa.dispatch import INVALID_OPCODE, opcode_name
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    FLOAT_DTYPES,
    GRAD_ACCUMULATE_DTYPES,
    INST_WORD_LEN,
    PARAMETER_RAM_ENTRIES,
    RECORD_BYTES,
    REGISTER_OPERAND,
    REGISTERS,
    Dtype,
    ImmSrc,
    Opcode,
    Reason,
    UpdateMode,
    WaitMode,
)
from dve_golden.isa.generations import Generation, in_generation
from dve_golden.isa.notation import format_code
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.types import Record
from dve_golden.memory.address import Geometry, Registers

GRADIENT_SUMS = 3
"""Elements that GradAccum writes: d_beta, d_gamma, mean coupling (batchnorm.md 8)."""

LOADED_PARAMETERS = {Opcode.BATCH_NORM_PARAM_LOAD: 3, Opcode.BATCH_NORM_PARAM_LOAD2: 2}
"""Elements of the source: A, B, C of 0x64, B, C of 0x8e (batchnorm.md 4, 5)."""

FP32_BYTES = DTYPE_BYTES[Dtype.FP32]

_EXECUTED = {
    generation: frozenset(int(code) for code in Opcode if in_generation(code, generation))
    for generation in Generation
}
"""Opcodes that the engine executes, by generation."""

_EVENTS = (("wait", WaitMode, Reason.WAIT), ("update", UpdateMode, Reason.UPDATE))
_ZERO_REGISTERS = (0,) * REGISTERS
_DEFAULT_GEOMETRY = Geometry()


def validate(
    record: bytes,
    *,
    registers: Registers = _ZERO_REGISTERS,
    geometry: Geometry = _DEFAULT_GEOMETRY,
) -> Verdict:
    """Judge one instruction.

    Parameters
    ----------
    record
        The 64 bytes.
    registers
        The 64 address registers as they are when the instruction executes.
    geometry
        Generation and configured memory sizes.

    Raises
    ------
    ValueError
        If there are not 64 bytes.
    """
    if len(record) != RECORD_BYTES:
        raise ValueError(f"an instruction is {RECORD_BYTES} bytes long, got {len(record)}")
    first = check_header(record, geometry.generation)
    if first is not None:
        return Verdict(first.reason, (first,))
    opcode = Opcode(record[0])
    fields = decode_fields(STRUCT_OF_OPCODE[opcode], record)
    inspection = Inspection(opcode, fields, registers, geometry)
    _check_events(inspection)
    _RULES[opcode](inspection)
    for name in _RESERVED[opcode]:
        _check_reserved(inspection, name)
    if not inspection.findings:
        return _LEGAL
    findings = sorted(inspection.findings, key=lambda finding: finding.reason)
    return Verdict(findings[0].reason, tuple(findings))


_LEGAL = Verdict(Reason.NONE)


def check_header(record: bytes, generation: Generation = Generation.CAYMAN) -> Finding | None:
    """Reasons 1 and 2; a record that fails one is not looked at any further."""
    opcode, length = record[0], record[1]
    if opcode not in _EXECUTED[generation]:
        names = ", ".join(f"{code:#04x}" for code in sorted(_EXECUTED[generation]))
        return Finding(
            Reason.OPCODE,
            "header.opcode",
            (0, 0),
            f"{opcode:#04x}, {_standing(opcode, generation)}",
            f"one of {names}",
        )
    if length != INST_WORD_LEN:
        return Finding(
            Reason.LENGTH,
            "header.inst_word_len",
            (1, 1),
            str(length),
            f"{INST_WORD_LEN}, in words of 4 bytes",
            partial(nearest.codes, "header.inst_word_len", length, (INST_WORD_LEN,)),
        )
    return None


def _standing(opcode: int, generation: Generation) -> str:
    """What an opcode that is not executed is to the generation, and its name if that is known."""
    if opcode == INVALID_OPCODE:
        return "the sentinel INVALID, never an instruction"
    name = opcode_name(opcode)
    called = "" if name is None else f"{name}: "
    if in_generation(opcode, generation):
        return f"{called}known, not implemented"
    return f"{called}unknown, not an opcode of {generation.value}"


def _check_events(inspection: Inspection) -> None:
    """Modes, and the register number in bits 7:0 of the operand (isa_common.md 1.4)."""
    for part, codes, reason in _EVENTS:
        field = f"events.{part}_mode"
        mode = inspection.number(field)
        operand = operand_field(inspection.opcode, part)
        value = inspection.number(operand)
        if mode not in DEFINED[codes]:
            show = partial(format_code, codes=codes)
            near = partial(nearest.codes, field, mode, DEFINED[codes], show)
            inspection.report(reason, field, f"{mode:#04x}", f"a defined {part}_mode", near=near)
        elif mode & REGISTER_OPERAND and value & 0xFF >= REGISTERS:
            first, _ = field_bytes(inspection.opcode, operand)
            last = value & ~0xFF | REGISTERS - 1  # the upper bytes are free and stay
            inspection.report(
                reason,
                operand,
                f"register {value & 0xFF}",
                f"{format_code(mode, codes)} names a register 0 to {REGISTERS - 1} in byte {first}",
                near=partial(nearest.codes, operand, value, (last,), "{:#x}".format),
            )


def _check_reserved(inspection: Inspection, field: str) -> None:
    value = inspection.raw(field)
    if any(value):
        near = partial(nearest.zeros, field, len(value))
        inspection.report(Reason.RESERVED, field, value.hex(" "), "reserved bytes are 0", near=near)


def _reserved_fields(record: Record) -> tuple[str, ...]:
    return tuple(m.name for m in record.members if m.name.startswith("reserved"))


_RESERVED = {opcode: _reserved_fields(record) for opcode, record in STRUCT_OF_OPCODE.items()}


def _grad_accumulate(inspection: Inspection, result: int | None) -> int:
    """What 0x63 and 0x94 share (batchnorm.md 2, 3); the active channels."""
    size0 = inspection.element_bytes("in0_in1_dtype.lo", GRAD_ACCUMULATE_DTYPES)
    size1 = inspection.element_bytes("in0_in1_dtype.hi", GRAD_ACCUMULATE_DTYPES)
    channels = check_channels(inspection)
    src0 = check_pattern(inspection, "src0", size0, channels)
    src1 = check_pattern(inspection, "src1", size1, channels)
    dst = check_pattern(inspection, "dst", result, channels, write=True)
    check_same_count(inspection, src0, src1)
    check_fixed_count(inspection, dst, GRADIENT_SUMS)
    check_source_placement(inspection, src0, src1)
    return channels


_OPTIONAL_IMMEDIATE = GRAD_ACCUMULATE_DTYPES | {Dtype.INVALID}
"""Immediate types of 0x63; INVALID means fp32 (batchnorm.md 2)."""


def _grad_accumulate1(inspection: Inspection) -> None:
    immediate = inspection.element_bytes("immediate_dtype", _OPTIONAL_IMMEDIATE)
    if inspection.number("immediate_dtype") == Dtype.INVALID:
        immediate = FP32_BYTES
    result = inspection.element_bytes("out_dtype", FLOAT_DTYPES)
    channels = _grad_accumulate(inspection, result)
    check_pointer(inspection, "imm0", immediate, channels)
    check_pointer(inspection, "imm1", immediate, channels)


_SELECTORS_2 = {1: ImmSrc.POINTER, 2: ImmSrc.REGISTER}
"""Pointer selectors of 0x94 (batchnorm.md 3)."""

_SELECTORS_3 = {0: ImmSrc.POINTER, 1: ImmSrc.POINTER, 2: ImmSrc.REGISTER}
"""Pointer selectors of 0x64 and 0x8e: 0 is accepted for old binaries (batchnorm.md 4, 5)."""


def _grad_accumulate2(inspection: Inspection) -> None:
    immediate = inspection.element_bytes("immediate_out_dtype.lo", GRAD_ACCUMULATE_DTYPES)
    result = inspection.element_bytes("immediate_out_dtype.hi", FLOAT_DTYPES)
    channels = _grad_accumulate(inspection, result)
    for field, selector in (("imm0", "imm0_imm1_src.lo"), ("imm1", "imm0_imm1_src.hi")):
        check_pointer(inspection, field, immediate, channels, selector=selector, legal=_SELECTORS_2)


def _param_load(inspection: Inspection) -> None:
    size = inspection.element_bytes("dtype", FLOAT_DTYPES)
    channels = check_channels(inspection)
    src = check_pattern(inspection, "src", size, channels)
    check_fixed_count(inspection, src, LOADED_PARAMETERS[inspection.opcode])
    check_finite(inspection, "imm1")
    check_pointer(inspection, "imm0", FP32_BYTES, channels, selector="imm0_src", legal=_SELECTORS_3)


def _param_load2(inspection: Inspection) -> None:
    size = inspection.element_bytes("src_dtype", FLOAT_DTYPES)
    immediate = inspection.element_bytes("immediate_dtype", FLOAT_DTYPES)
    channels = check_channels(inspection)
    src = check_pattern(inspection, "src", size, channels)
    check_fixed_count(inspection, src, LOADED_PARAMETERS[inspection.opcode])
    check_finite(inspection, "element_count")
    for field in ("imm0", "imm1"):
        check_pointer(
            inspection, field, immediate, channels, selector=f"{field}_src", legal=_SELECTORS_3
        )


def _load_parameter_ram(inspection: Inspection) -> None:
    size = inspection.element_bytes("dtype", {Dtype.FP32})
    check_run(inspection, "addr", "entry_count", size)
    first, count = inspection.number("first_entry"), inspection.number("entry_count")
    if count > PARAMETER_RAM_ENTRIES:
        inspection.report(
            Reason.IMMEDIATE,
            "entry_count",
            count,
            f"1 to {PARAMETER_RAM_ENTRIES}",
            near=partial(nearest.codes, "entry_count", count, range(1, PARAMETER_RAM_ENTRIES + 1)),
        )
    elif first + count > PARAMETER_RAM_ENTRIES:
        inspection.report(
            Reason.IMMEDIATE,
            "first_entry",
            f"{first}, with {count} entries",
            f"first entry plus count is at most {PARAMETER_RAM_ENTRIES}",
            near=partial(nearest.codes, "first_entry", first, (PARAMETER_RAM_ENTRIES - count,)),
        )


def _no_operands(inspection: Inspection) -> None:
    """0xA0 and 0xA4 have events and reserved bytes only, which every record is judged by."""


_RULES: dict[Opcode, Callable[[Inspection], None]] = {
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: _grad_accumulate1,
    Opcode.BATCH_NORM_PARAM_LOAD: _param_load,
    Opcode.LOAD_PARAMETER_RAM: _load_parameter_ram,
    Opcode.BATCH_NORM_PARAM_LOAD2: _param_load2,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: _grad_accumulate2,
    Opcode.EVENT_SEMAPHORE: _no_operands,
    Opcode.NOP: _no_operands,
    **statistics.RULES,
    **tensor_tensor.RULES,
}
