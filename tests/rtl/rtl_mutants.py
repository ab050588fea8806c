"""Wrong versions of the RTL, and the tests that must notice each.

    python tests/rtl/rtl_mutants.py [WORD ...]    # all, or those with a WORD in their file or text

Each mutant changes one expression in a copy of the sources. The tests named beside it run on that
copy; it survives if they pass. The exit status is 1 if one survives. All take about half an hour.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "rtl"


@dataclass(frozen=True)
class Mutant:
    """``right`` becomes ``wrong`` in ``file``; ``tests`` are what pytest is given."""

    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    def apply(self, sources: Path) -> None:
        """Change the copy of the sources in ``sources``."""
        path = sources / "dve_rtl" / self.file
        text = path.read_text()
        assert text.count(self.right) == 1, f"{self.file}: {self.right!r} must occur once"
        path.write_text(text.replace(self.right, self.wrong))


def _of(file: str, tests: tuple[str, ...], *changes: tuple[str, str]) -> list[Mutant]:
    return [Mutant(file, right, wrong, tests) for right, wrong in changes]


_SEQUENCER = ("test_rtl_sequencer.py",)
_STATE = ("test_rtl_lane_state.py",)
_HOST = ("test_rtl_host.py",)
_COMPLETION = ("test_rtl_completion.py",)
_ENGINE = ("test_rtl_engine.py", "-k", "deep")
_VALIDATOR = ("frontend/test_rtl_validate.py", "frontend/test_rtl_legality.py")

MUTANTS = [
    *_of(
        "sequencer.py",
        _SEQUENCER,
        ("config.mul_latency + 2", "config.mul_latency + 1"),
        ("since_first.eq(1)", "since_first.eq(0)"),
        ("(group == last_group(self.config, op.channels))", "1"),
        ("m.d.sync += waiting.eq(0)", "m.d.sync += waiting.eq(1)"),
    ),
    *_of(
        "lane_control.py",
        _ENGINE,
        ('2 if name == "recip" else 1', "1"),
        ("widen.eq(load.dtype)", "widen.eq(read.dtype)"),
        (" & ~self.host.state_read", ""),
        ("entry.eq(entry + 1)", "entry.eq(entry ^ 1)"),
        ("control.write_bank.eq(_is(arriving.kind, IMMEDIATES))", "control.write_bank.eq(0)"),
    ),
    *_of("lane.py", _ENGINE, (" & ~self.store_enable", " & 0")),
    *_of(
        "engine.py",
        _ENGINE,
        ("sequencer.stored.eq(store.write.valid)", "sequencer.stored.eq(control.result)"),
    ),
    *_of(
        "lane_program.py",
        ("test_rtl_lane_program.py",),
        ("(1 if unit in ACCUMULATORS else 0)", "0"),
    ),
    *_of(
        "lane_state.py",
        _STATE,
        ("biased < 135", "biased < 136"),
        ("~n[31] & ", ""),
        ("read(general, group)", "read(general, self.recip_group)"),
    ),
    *_of(
        "memory/store.py",
        ("memory/test_rtl_store.py",),
        ("remainder = (channels - 1) &", "remainder = channels &"),
        ("m.d.sync += group.eq(0)", "m.d.sync += group.eq(group)"),
    ),
    *_of(
        "memory/walker.py",
        ("memory/test_rtl_walker.py",),
        ("[index[inner].eq(0) for inner in range(d)]", "index[0].eq(0)"),
    ),
    *_of(
        "memory/load.py",
        ("memory/test_rtl_ram_and_load.py",),
        ("self.control.byte << 3", "self.control.byte[1:] << 4"),
    ),
    *_of(
        "host.py",
        _HOST,
        ("can_read = ~fetching & (", "can_read = ("),
        ("self.count.valid.eq(enabled.bit_select(lane, 1))", "self.count.valid.eq(1)"),
    ),
    *_of(
        "completion.py",
        _COMPLETION,
        ("since_previous.eq(1)", "since_previous.eq(0)"),
        ("with m.If(since_previous != OLDEST):", "with m.If(1):"),
    ),
    *_of(
        "frontend/gather.py",
        ("frontend/test_rtl_gather.py",),
        ("beats.ready.eq(~is_last | free)", "beats.ready.eq(1)"),
    ),
    *_of(
        "frontend/decode.py",
        ("frontend/test_rtl_decode.py",),
        ("(prefix.header.opcode == Opcode.BATCH_NORM_GRAD_ACCUMULATE)", "1"),
    ),
    *_of(
        "frontend/decode.py",
        ("frontend/test_rtl_fields.py",),
        ("Cat(*reserved).any()", "Cat(*reserved)[1:].any()"),
    ),
    *_of(
        "frontend/fields.py",
        ("frontend/test_rtl_fields.py",),
        ("i.first_entry + entry_count > PARAM", "i.first_entry + entry_count >= PARAM"),
    ),
    *_of(
        "frontend/validate.py",
        _VALIDATOR,
        ("serial & (candidate.handler == Handler.BACK_PROP)", "serial"),
    ),
    *_of(
        "frontend/extents.py",
        _VALIDATOR,
        ("product_steps_over > high", "product_steps_over >= high"),
    ),
    *_of(
        "frontend/address.py",
        _VALIDATOR,
        ("offset >= active_bytes", "offset > active_bytes"),
        ("[128, 32, 64, 32]", "[128, 32, 64, 64]"),
    ),
    *_of("frontend/footprint.py", _VALIDATOR, ("(self.first < 0) | ", "")),
    *_of(
        "convert/narrow.py",
        ("convert/test_rtl_narrow.py",),
        ("exponent < 102", "exponent < 103"),
    ),
    *_of(
        "convert/widen.py",
        ("convert/test_rtl_widen.py", "-k", "int"),
        ("s.magnitude[:7].any()", "s.magnitude[:6].any()"),
    ),
    *_of(
        "fp32/multiplier.py",
        ("fp32/test_rtl_multiplier.py",),
        (" | product.o[:kept].any()", ""),
        ("shortfall[:5] | shortfall[5:].any().replicate(5)", "shortfall[:5]"),
    ),
    *_of(
        "fp32/adder.py",
        ("fp32/test_rtl_adder.py",),
        ("s.sign & ~s.exact_zero", "s.sign"),
        ("distance[5:].any()", "distance[6:].any()"),
    ),
    *_of(
        "fp32/accumulator.py",
        ("fp32/test_rtl_accumulator.py",),
        ("low: low_taken, high: high_taken", "low: C(0), high: C(0)"),
        ("Mux(index[2], Tag", "Mux(index[1], Tag"),
        ("with m.If(gap == 1):", "with m.If(gap == 2):"),
    ),
    *_of(
        "fp32/reciprocal.py",
        ("fp32/test_rtl_reciprocal.py",),
        ("quotient + (remainder >= significand)", "quotient"),
        ("~x.fraction[-2:].any()", "~x.fraction[-1:].any()"),
    ),
]


def is_killed(mutant: Mutant) -> bool:
    """Whether a test fails on the mutant.

    Raises
    ------
    RuntimeError
        If pytest ends with something else than passed or failed tests.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / SOURCES.name
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
        mutant.apply(copy)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        ended = subprocess.run(
            [*command, *mutant.tests],
            cwd=HERE,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
        )
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.returncode == 1


def main(words: list[str]) -> int:
    survivors = 0
    for mutant in MUTANTS:
        text = f"{mutant.file}: {mutant.right} -> {mutant.wrong}"
        if words and not any(word in text for word in words):
            continue
        killed = is_killed(mutant)
        survivors += not killed
        print("killed  " if killed else "SURVIVED", text, flush=True)
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
