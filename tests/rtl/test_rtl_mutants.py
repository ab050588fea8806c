"""The mutants still fit the RTL; that tests fail on them is what ``rtl_mutants.py`` shows."""

import shutil

import pytest
from rtl_mutants import HERE, MUTANTS, SOURCES


def test_every_mutant_changes_the_sources(tmp_path):
    for index, mutant in enumerate(MUTANTS):
        copy = tmp_path / str(index)
        path = copy / "dve_rtl" / mutant.file
        path.parent.mkdir(parents=True)
        shutil.copy(SOURCES / "dve_rtl" / mutant.file, path)
        before = path.read_text()
        mutant.apply(copy)
        assert path.read_text() != before
        compile(path.read_text(), mutant.file, "exec")


@pytest.mark.parametrize("file", sorted({mutant.tests[0] for mutant in MUTANTS}))
def test_the_tests_exist(file):
    assert (HERE / file).is_file()
