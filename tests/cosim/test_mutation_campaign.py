"""Verdicts of a campaign, with a table in the place of the simulator."""

import threading
import time
from pathlib import Path

import pytest
from dve_cosim.errors import CosimError
from dve_cosim.mutation import campaign as module
from dve_cosim.mutation.campaign import Campaign, run_campaign
from dve_cosim.mutation.equivalence import PROVED
from dve_cosim.mutation.operators import Change
from dve_cosim.mutation.records import Record
from dve_cosim.mutation.report import Verdict
from dve_cosim.mutation.sites import Mutant, Site
from dve_cosim.mutation.trial import Kill
from dve_cosim.mutation.verilog import Statement

ROOT = Path(__file__).parents[2]


def mutant(name, module="m"):
    change = Change("stuck", "bit 0 is 1", bit=0, level=1)
    site = Site(module, Statement("assign", 0, 1), 1, name, f"{module}\n{name}\n1", (change,))
    return Mutant(site, change)


class Selected:
    runs = ()

    def __init__(self, root):
        assert root == ROOT

    def order(self, module):
        assert module in ("m", "dve_lane.units.mul0.product")
        return ["first", "second"]


@pytest.fixture
def try_all(monkeypatch):
    """``run(fates, records, ...)``: a campaign whose mutants meet these fates."""
    monkeypatch.setattr(module, "Selection", Selected)
    monkeypatch.setattr(module, "engine_verilog", lambda config: "text")
    monkeypatch.setattr(module, "instrumented", lambda text, mutants: text)
    monkeypatch.setattr(module, "build", lambda config, **_: None)
    monkeypatch.setattr(
        module, "unit_runs", lambda text, mutants, config: {"dve_lane.units.mul0": "alone"}
    )

    def run(fates, records=None, *, inside="m", itself=None, proved=(), **options):
        mutants = [mutant(name, inside) for name in fates]

        def fate(simulator, number, runs, alive):
            if number == 0:
                return itself
            outcome = fates[mutants[number - 1].site.shown]
            if callable(outcome):
                return outcome(alive)
            return outcome if outcome and outcome.check in runs else None

        monkeypatch.setattr(module, "try_mutant", fate)
        monkeypatch.setattr(
            module, "is_proved", lambda text, mutant, alive: mutant.site.shown in proved
        )
        known = {mutant(name).id: record for name, record in (records or {}).items()}
        return run_campaign(Campaign(mutants, known, ROOT, **options))

    return run


def test_verdicts(try_all):
    kill = Kill("second", "sbuf[0, 1]: got 0x00, expected 0x01")
    report = try_all(
        {"a": kill, "b": None, "c": None, "d": None, "e": kill},
        {
            "c": Record("equivalent", "", "never read"),
            "d": Record("explained", "", "takes 2^32 clocks"),
        },
        proved=("e",),
    )
    assert [(r.mutant.site.shown, r.verdict, r.check, r.reason) for r in report.results] == [
        ("a", Verdict.KILLED, "second", kill.message),
        ("b", Verdict.SURVIVED, "", ""),
        ("c", Verdict.EQUIVALENT, "", "never read"),
        ("d", Verdict.EXPLAINED, "", "takes 2^32 clocks"),
        ("e", Verdict.EQUIVALENT, "", PROVED),  # so that the second run is not worth its time
    ]
    assert [result.mutant.site.shown for result in report.open] == ["b"]
    assert report.score == 1 / 3  # a of a, b and d
    assert report.described()["kills"] == {"second": 1}
    assert report.described()["modules"] == {
        "m": {"killed": 1, "survived": 1, "explained": 1, "equivalent": 2}
    }


def test_a_unit_is_tried_alone_first(try_all):
    report = try_all(
        {"a": Kill("alone", "bit"), "b": None, "c": Kill("first", "bit")},
        inside="dve_lane.units.mul0.product",
        proved=("a", "b", "c"),
    )
    assert [(r.verdict, r.check) for r in report.results] == [
        (Verdict.KILLED, "alone"),
        (Verdict.EQUIVALENT, ""),
        (Verdict.EQUIVALENT, ""),
    ]


def test_a_record_that_a_kill_contradicts_is_open(try_all):
    report = try_all({"a": Kill("first", "m")}, {"a": Record("equivalent", "", "cannot be seen")})
    (result,) = report.open
    assert (result.verdict, result.is_contradicted) == (Verdict.KILLED, True)


def test_the_design_itself_must_pass(try_all):
    with pytest.raises(CosimError, match=r"the design itself fails cycles: 9, not 8"):
        try_all({"a": None}, itself=Kill("cycles", "9, not 8"))


def test_no_mutant_begins_after_the_time(try_all):
    def slow(alive):
        time.sleep(0.3)
        return Kill("first", "m")

    report = try_all(dict.fromkeys("abcdef", slow), jobs=1, seconds=0.2)
    assert len(report.results) == 1
    assert report.left_out == 5


def test_a_failing_trial_ends_the_others(try_all):
    stopped = threading.Event()

    def broken(alive):
        raise CosimError("no room left")

    def endless(alive):
        try:
            while True:
                alive()
                time.sleep(0.01)
        except KeyboardInterrupt:
            stopped.set()
            raise

    with pytest.raises(CosimError, match="no room left"):
        try_all({"a": endless, "b": broken})
    assert stopped.is_set()
