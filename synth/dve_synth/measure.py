"""One unit on the device, over several seeds."""

import json
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from typing import Any

from dve_cosim.progress import Progress, silent
from dve_rtl.config import EngineConfig

from dve_synth import report
from dve_synth.flow import (
    DEVICE,
    LOG,
    NETLIST,
    REPORT,
    fingerprint,
    netlist,
    placement,
)
from dve_synth.units import UNITS, design

JOBS = 2
"""Seeds that run at a time; each takes half a gigabyte."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Area and speed of a unit in its harness.

    Parameters
    ----------
    unit : str
        A key of `dve_synth.units.UNITS`.
    latency : int or None
        Of a unit that has one to choose.
    speed : int
        Speed grade.
    fingerprint : str
        Of the sources, see `dve_synth.flow.fingerprint`.
    harness : Area
        What of the area is the harness.
    area : Area
    mhz : dict of int to float
        Highest clock for each seed.
    path : Path
        The slowest one of the seed with the median clock; of an even number the slower middle.
    """

    unit: str
    latency: int | None
    speed: int
    fingerprint: str
    harness: report.Area
    area: report.Area
    mhz: dict[int, float]
    path: report.Path

    @property
    def median_mhz(self) -> float:
        return statistics.median(self.mhz.values())

    @property
    def clocks(self) -> str:
        """Latency as the table says it."""
        return UNITS[self.unit].clocks(self.latency or 0)

    def described(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {
            "unit": self.unit,
            "device": DEVICE,
            "speed": self.speed,
            "latency": self.latency,
            "clocks": self.clocks,
            "fingerprint": self.fingerprint,
            **asdict(self.area),
            "harness": {"lut4": self.harness.lut4, "ff": self.harness.ff},
            "mhz": round(self.median_mhz, 1),
            "mhz_by_seed": {str(seed): round(mhz, 1) for seed, mhz in self.mhz.items()},
            "critical_path": {
                "logic_ns": round(self.path.logic_ns, 2),
                "routing_ns": round(self.path.routing_ns, 2),
                "hops": [
                    {"ns": round(hop.ns, 2), "name": hop.name, "where": hop.where}
                    for hop in self.path.hops
                ],
            },
        }


class _Stopped(Exception):
    """Another thread wants this one to end."""


def measure(
    name: str,
    config: EngineConfig,
    *,
    latency: int | None = None,
    speed: int,
    seeds: Sequence[int],
    progress: Progress = silent,
) -> Measurement:
    """Map a unit to the device, then place and route it once for each seed.

    Parameters
    ----------
    name : str
        A key of `dve_synth.units.UNITS`.
    config : EngineConfig
        Whose unit it is.
    latency : int or None
        Another latency than that of the configuration.
    speed : int
        Speed grade.
    seeds : sequence of int
    progress : callable
        Told of a step named like the unit.

    Raises
    ------
    ValueError
        If the unit cannot have this latency.
    CosimError
        If a tool is missing or fails, or if the unit does not fit the device.
    """
    total = 1 + len(seeds)
    progress(name, 0, total)
    if latency is None:
        latency = UNITS[name].latency_of(config)
    made = design(name, config, latency)
    mapped = netlist(name, made.verilog, lambda: progress(name, 0, total))
    placed = _place(name, mapped, seeds, speed, lambda done: progress(name, 1 + done, total))
    reports = {seed: json.loads((placed[seed] / REPORT).read_text()) for seed in seeds}
    mhz = {seed: report.fmax(reports[seed]) for seed in seeds}
    middle = sorted(seeds, key=mhz.__getitem__)[(len(seeds) - 1) // 2]
    return Measurement(
        unit=name,
        latency=latency,
        speed=speed,
        fingerprint=fingerprint(made.verilog),
        harness=report.Area(made.harness_lut4, 0, made.harness_ff, 0, 0),
        area=report.area(reports[middle], (placed[middle] / LOG).read_text()),
        mhz=mhz,
        path=report.critical_path(reports[middle], json.loads((mapped / NETLIST).read_text())),
    )


def _place(
    name: str, mapped: Path, seeds: Sequence[int], speed: int, tell: Callable[[int], None]
) -> dict[int, Path]:
    """A placement for each seed; ``tell`` gets the number that are done, several times a second."""
    stop = Event()

    def poll() -> None:
        if stop.is_set():
            raise _Stopped

    pool = ThreadPoolExecutor(JOBS)
    try:
        futures = {
            seed: pool.submit(placement, name, mapped, seed=seed, speed=speed, poll=poll)
            for seed in seeds
        }
        running = set(futures.values())
        while running:
            done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()  # an error ends the others
            tell(len(seeds) - len(running))
        return {seed: future.result() for seed, future in futures.items()}
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
