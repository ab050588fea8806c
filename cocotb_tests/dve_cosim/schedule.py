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
    SPREAD,
    STATISTICS,
    TENSOR_TENSOR,
    UNITS,
    WEIGH,
    Program,
    Schedule,
)
from dve_rtl.payloads import Handler
from dve_rtl.sequencer import PASSES

from dve_cosim.clocks import (
    COMPLETION_CLOCKS,
    aggregate_tail,
    aggregate_turn,
    back_prop_tail,
    grad_accumulate_tail,
    param_load_tail,
    raw_tail,
    stats2_tail,
    stats_tail,
    tensor_tensor_tail,
)

INSTRUCTIONS, SLOTS = "instructions", "element slots"
TRACKS = (INSTRUCTIONS, SLOTS, *UNITS, ARITH)
"""Who can be busy: the queue, the sequencer, and the units of a lane."""

_TAILS = {
    Handler.STATS: stats_tail,
    Handler.STATS2: stats2_tail,
    Handler.AGGREGATE: aggregate_tail,
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
        programs = _programs(handler, fields)
        # Of an Aggregate the last sweep comes first here: only its end is known.
        for program in reversed(programs):
            for group in range(groups):
                first = last - (groups - 1 - group) * (slots + gap) - (slots - 1)
                yield Busy(SLOTS, f"group {group}", first, slots, sequence)
                for unit, start in _starts(config, program).items():
                    yield Busy(unit, MNEMONICS[opcode], first + start, slots, sequence)
            last -= groups * slots + (groups - 1) * gap - 1 + aggregate_turn(config)


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
    channels = fields.get("num_active_channels", 1)
    counts = fields.get("src0.num_elem", fields.get("src.num_elem"))
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


def _programs(handler: Handler, fields: Fields) -> tuple[Program, ...]:
    """What the elements of each sweep go through, as far as its results count."""
    if handler is Handler.CAST_PREDICATED:
        return ({ARITH: TENSOR_TENSOR[ARITH]},)
    if handler is Handler.TENSOR_TENSOR:
        operator = fields["op"]
        assert isinstance(operator, int)
        unit = RESULT_OF_OPERATOR[AluOp(operator)]
        return ({unit: TENSOR_TENSOR[unit]},)
    programs: dict[Handler, tuple[Program, ...]] = {
        Handler.GRAD_ACCUMULATE: (GRAD_ACCUMULATE,),
        Handler.BACK_PROP: (BACK_PROP,),
        Handler.STATS: (STATISTICS,),
        Handler.STATS2: (STATISTICS,),
        Handler.AGGREGATE: (WEIGH, SPREAD),
    }
    return programs.get(handler, ({},))


def _starts(config: EngineConfig, program: Program) -> dict[str, int]:
    """Clocks from the address of an element to its operands at each unit of a program."""
    arrival = LOAD_LATENCY + config.widen_latency
    times = Schedule(config)
    return {unit: arrival + times.start(program, unit) for unit in program}
