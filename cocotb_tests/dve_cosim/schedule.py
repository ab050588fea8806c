"""When the parts of the engine work, from the cycles of completions and the lanes' schedule.

The element path has fixed latencies and never stalls, so what a completion's clock leaves open is
nothing: the last address of an instruction is a known number of clocks ahead of it, and the passes
before lie one length and one gap apart.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from dve_golden.isa.codec import Fields, decode
from dve_golden.isa.notation import MNEMONICS
from dve_golden.isa.operators import AluOp
from dve_rtl.config import EngineConfig
from dve_rtl.frontend.dispatch import DOCUMENTED
from dve_rtl.lane_orders import LOAD_LATENCY
from dve_rtl.lane_program import (
    ARITH,
    BACK_PROP,
    GRAD_ACCUMULATE,
    RESULT_OF_OPERATOR,
    TENSOR_TENSOR,
    UNITS,
    Program,
    Schedule,
)
from dve_rtl.payloads import Handler
from dve_rtl.sequencer import PASSES

from dve_cosim.clocks import (
    COMPLETION_CLOCKS,
    back_prop_tail,
    grad_accumulate_tail,
    param_load_tail,
    raw_tail,
    tensor_tensor_tail,
)

INSTRUCTIONS, SLOTS = "instructions", "element slots"
TRACKS = (INSTRUCTIONS, SLOTS, *UNITS, ARITH)
"""Who can be busy: the queue, the sequencer, and the units of a lane."""

_TAILS = {
    Handler.GRAD_ACCUMULATE: grad_accumulate_tail,
    Handler.BACK_PROP: back_prop_tail,
    Handler.PARAM_LOAD: param_load_tail,
    Handler.PARAM_LOAD2: param_load_tail,
    Handler.LOAD_PARAMETER_RAM: param_load_tail,
    Handler.TENSOR_TENSOR: tensor_tensor_tail,
    Handler.CAST_PREDICATED: tensor_tensor_tail,
    Handler.BITVEC: raw_tail,
    Handler.COPY_PREDICATED: raw_tail,
}


@dataclass(frozen=True)
class Busy:
    """A stretch of clocks in which something works.

    Parameters
    ----------
    track : str
        Who, one of `TRACKS`.
    name : str
        At what.
    start, clocks : int
        First clock, counted from the first instruction's, and how many.
    sequence : int
        Number of the instruction.
    """

    track: str
    name: str
    start: int
    clocks: int
    sequence: int


def schedule(config: EngineConfig, done: Iterable[tuple[bytes, int]]) -> Iterator[Busy]:
    """Who works when, over a program that ran without waits and without serial instructions.

    Parameters
    ----------
    config : EngineConfig
    done : iterable of (bytes, int)
        Every record with the cycles of its completion, all of reason 0.
    """
    end = 0
    for sequence, (record, cycles) in enumerate(done):
        opcode, fields = decode(record)
        yield Busy(INSTRUCTIONS, MNEMONICS[opcode], end, cycles, sequence)
        end += cycles
        handler = DOCUMENTED[int(opcode)].handler
        if handler not in _TAILS:  # waits and updates only
            continue
        groups, slots, gap = _passes(config, handler, fields)
        last = end - COMPLETION_CLOCKS - _TAILS[handler](config)
        for group in range(groups):
            first = last - (groups - 1 - group) * (slots + gap) - (slots - 1)
            yield Busy(SLOTS, f"group {group}", first, slots, sequence)
            for unit, start in _starts(config, handler, fields).items():
                yield Busy(unit, MNEMONICS[opcode], first + start, slots, sequence)


def utilisation(config: EngineConfig, done: Iterable[tuple[bytes, int]]) -> dict[str, float]:
    """Share of all clocks in which each track but the instructions is busy."""
    busy: dict[str, int] = dict.fromkeys(TRACKS, 0)
    for stretch in schedule(config, done):
        busy[stretch.track] += stretch.clocks
    whole = busy.pop(INSTRUCTIONS)
    return {track: clocks / whole for track, clocks in busy.items()}


def _passes(config: EngineConfig, handler: Handler, fields: Fields) -> tuple[int, int, int]:
    """Passes of an instruction, slots of each, and the clocks between two of them."""
    table = PASSES[handler]
    channels, counts = fields.get("num_active_channels", 1), fields.get("src0.num_elem")
    assert isinstance(channels, int)
    if handler in (Handler.PARAM_LOAD, Handler.PARAM_LOAD2):
        slots = len(table.lead) + len(table.elements)
    elif isinstance(counts, tuple):
        slots = prod(counts)
    else:
        entries = fields["entry_count"]
        assert isinstance(entries, int)
        slots = entries
    return -(-channels // config.lanes), slots, table.gap(config) if table.gap else 0


def _starts(config: EngineConfig, handler: Handler, fields: Fields) -> dict[str, int]:
    """Clocks from the address of an element to its operands at each unit whose result counts."""
    times = Schedule(config)
    programs: dict[Handler, Program] = {
        Handler.GRAD_ACCUMULATE: GRAD_ACCUMULATE,
        Handler.BACK_PROP: BACK_PROP,
        Handler.TENSOR_TENSOR: TENSOR_TENSOR,
        Handler.CAST_PREDICATED: TENSOR_TENSOR,
    }
    program = programs.get(handler, {})
    units = list(program)
    if handler is Handler.CAST_PREDICATED:
        units = [ARITH]
    elif handler is Handler.TENSOR_TENSOR:
        operator = fields["op"]
        assert isinstance(operator, int)
        units = [RESULT_OF_OPERATOR[AluOp(operator)]]
    arrival = LOAD_LATENCY + config.widen_latency
    return {unit: arrival + times.start(program, unit) for unit in units}
