"""The simulation top: the engine, and a memory image that bypasses its host port.

Moving 10 MiB through the host port costs a clock cycle and a Python wake-up for each row of
words. Hierarchical references move it between two clock cycles instead, at the speed of the
simulator's file functions. The host port has a bench of its own.
"""

from dve_rtl.config import EngineConfig

from dve_cosim.engine import LANE, TOP, StreamPort, streams, waiting_packing
from dve_cosim.hierarchy import array_path

SIM_TOP = "dve_sim"
"""Name of the simulation top."""

IMAGES = ("sbuf", "psum")
"""Memories of a lane; instance names and stems of the image files."""

_DUMPED_WORDS = 16
"""Words written by one ``$fwrite``: its cost is per call (0.9 s for 8 MiB word by word)."""


def sim_top(config: EngineConfig, engine: str) -> str:
    """Verilog-2005 of the simulation top for ``engine``, the exported text.

    It has the engine's ports and two more. A rising ``image_load`` reads ``sbuf.in`` and
    ``psum.in`` in the working directory, each if it is there; a rising ``image_dump`` writes
    ``sbuf.out`` and ``psum.out``. An image holds lane after lane, the rows of a lane in order,
    64-bit words; big-endian in ``.in``, as ``$fread`` reads, little-endian in ``.out``.
    Raise them with the clock stopped or the engine idle: the access has no clock edge of its own.
    """
    ports = list(streams(config))
    arrays = {
        name: array_path(engine, module=LANE, instance=name, array="words") for name in IMAGES
    }
    sizes = dict(zip(IMAGES, (config.sbuf_bytes // 8, config.psum_bytes // 8), strict=True))
    lines = [
        f"module {SIM_TOP} (",
        "  input wire clk,",
        "  input wire rst,",
        "  input wire image_load,",
        "  input wire image_dump,",
        *(line for port in ports for line in _declaration(port)),
        f"  output wire [{waiting_packing().width - 1}:0] waiting,",
        "  output wire idle",
        ");",
        f"  {TOP} engine (",
        "    .clk(clk),",
        "    .rst(rst),",
        *(
            f"    .{port.name}__{part}({port.name}__{part}),"
            for port in ports
            for part in ("payload", "valid", "ready")
        ),
        "    .waiting(waiting),",
        "    .idle(idle)",
        "  );",
        "  integer file, count, at;",
        "  always @(posedge image_load) begin",
        *(line for name in IMAGES for line in _load(name, arrays[name], config.lanes)),
        "  end",
        "  always @(posedge image_dump) begin",
        *(
            line
            for name, row_words in sizes.items()
            for line in _dump(name, arrays[name], config.lanes, config.groups * row_words)
        ),
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _declaration(port: StreamPort) -> list[str]:
    forward, backward = ("input", "output") if port.into else ("output", "input")
    return [
        f"  {forward} wire [{port.width - 1}:0] {port.name}__payload,",
        f"  {forward} wire {port.name}__valid,",
        f"  {backward} wire {port.name}__ready,",
    ]


def _words(array: str, lane: int) -> str:
    return f"engine.lane_{lane}.{array}"


def _load(name: str, array: str, lanes: int) -> list[str]:
    return [
        f'    file = $fopen("{name}.in", "rb");',
        "    if (file != 0) begin",
        *(f"      count = $fread({_words(array, lane)}, file);" for lane in range(lanes)),
        "      $fclose(file);",
        "    end",
    ]


def _dump(name: str, array: str, lanes: int, depth: int) -> list[str]:
    step = min(_DUMPED_WORDS, depth)  # depth is a power of two
    lines = [f'    file = $fopen("{name}.out", "wb");']
    for lane in range(lanes):
        words = ", ".join(f"{_words(array, lane)}[at + {k}]" for k in reversed(range(step)))
        lines += [
            f"    for (at = 0; at < {depth}; at = at + {step})",
            f'      $fwrite(file, "%u", {{{words}}});',
        ]
    return [*lines, "    $fclose(file);"]
