"""Area, clock and critical path out of nextpnr's report and log, on those of an adder."""

import json
from pathlib import Path

import pytest
from dve_synth.report import Area, Hop, area, critical_path, fmax, place, signal

FOLDER = Path(__file__).parent
REPORT = json.loads((FOLDER / "report.json").read_text())
LOG = (FOLDER / "nextpnr.log").read_text()

NETLIST = {
    "modules": {
        "TRELLIS_FF": {"attributes": {"blackbox": 1}, "netnames": {}},
        "harness": {
            "attributes": {"top": 1},
            "netnames": {
                "unit.zeros_5": {"attributes": {"src": "dve_rtl/fp32/adder.py:123"}},
                "unit.significand_6": {
                    "attributes": {"src": "unit.v:202.14-202.27|dve_rtl/fp32/adder.py:140"}
                },
            },
        },
    }
}


def test_area():
    assert area(REPORT, LOG) == Area(lut4=707, carry=148, ff=385, dsp=0, bram=0)


def test_a_log_without_counts_is_no_log():
    with pytest.raises(AssertionError, match="no Total LUT4s"):
        area(REPORT, "Info: nothing")


def test_clock():
    assert fmax(REPORT) == pytest.approx(141.60, abs=0.01)


def test_critical_path_in_the_names_of_the_source():
    path = critical_path(REPORT, NETLIST)
    assert [(hop.name, hop.where) for hop in path.hops] == [
        ("zeros_5[0]", "dve_rtl/fp32/adder.py:123"),
        # The comparison with the exponent: four carry cells, named once.
        ("", "dve_rtl/fp32/adder.py:130"),
        ("significand_6", "dve_rtl/fp32/adder.py:140"),
    ]
    assert path.hops[0].ns == pytest.approx(0.395)
    assert path.hops[-1].ns == pytest.approx(1000 / fmax(REPORT), abs=0.01)
    assert path.logic_ns + path.routing_ns == pytest.approx(path.hops[-1].ns)


def test_a_register_whose_place_is_unknown_still_has_its_name():
    path = critical_path(REPORT, {"modules": {"m": {"attributes": {"top": 1}, "netnames": {}}}})
    assert path.hops[0] == Hop(path.hops[0].ns, "zeros_5[0]", "dve_rtl/fp32/staging.py:76")
    assert path.hops[-1] == Hop(path.hops[-1].ns, "significand_6", "")


@pytest.mark.parametrize(
    ("net", "name"),
    [
        ("unit.sum_4[27]", "sum_4[27]"),
        ("unit.product.high_2[3]", "product.high_2[3]"),
        ("chain[12]", "chain[12]"),
        ("unit.adder.b$48[3]", "adder.b[3]"),
        ("unit.state.parameter_ram.0.0_DOB6[2]", "state.parameter_ram"),
        ("unit.LUT4_count", "LUT4_count"),  # a signal, not a neighbour of a cell
        ("unit.sum_4_LUT4_Z_1_C[2]", ""),
        ("unit.sum_4_TRELLIS_FF_Q_3_DI", ""),
        ("unit.sum_4_CCU2C_COUT$CCU2_FCI_INT", ""),
        ("$nextpnr_CCU2C_13$CIN", ""),
        ("$abc$1234$n56", ""),
    ],
)
def test_names(net, name):
    assert signal(net) == name


def test_places():
    library = "/share/lattice/arith_map_ccu2c.v:74.7-80.4"
    assert place([library, "dve_rtl/fp32/adder.py:130"]) == "dve_rtl/fp32/adder.py:130"
    assert place([library, "unit.v:3.1-4.2", ""]) == ""
