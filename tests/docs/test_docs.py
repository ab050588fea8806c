"""The documents say what the code says: tables, citations, links, choices."""

import ast
import re

import doc_tables
import pytest
from dve_golden.isa.enums import Reason
from dve_golden.isa.structs import STRUCT_OF_OPCODE

ROOT, PAGES, BLOCK = doc_tables.ROOT, doc_tables.PAGES, doc_tables.BLOCK
REWRITE = "run: .venv/bin/python tests/docs/doc_tables.py"

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def without_code(text):
    """A page without fenced and inline code."""
    return re.sub(
        r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    )


def anchors(path):
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("page", "name", "found"),
    [
        pytest.param(page, block[1], block[3], id=f"{page.name}-{block[1]}")
        for page in PAGES
        for block in BLOCK.finditer(page.read_text())
    ],
)
def test_tables_are_what_the_code_says(page, name, found):
    assert found == doc_tables.TABLES[name](), f"{page.name}: table {name} is stale; {REWRITE}"


def test_every_table_stands_somewhere():
    marked = [block[1] for page in PAGES for block in BLOCK.finditer(page.read_text())]
    markers = sum(page.read_text().count("\n<!-- table ") for page in PAGES)
    assert sorted(marked) == sorted(doc_tables.TABLES)
    assert markers == len(marked), "a table lacks its end"


def test_roles_name_fields():
    structs = {struct.name: struct for struct in STRUCT_OF_OPCODE.values()}
    assert doc_tables.ROLES.keys() == structs.keys()
    for name, roles in doc_tables.ROLES.items():
        fields = {member.name for member in structs[name].members}
        explained = roles.keys() | doc_tables.COMMON_ROLES.keys()
        assert roles.keys() <= fields
        assert {field for field in fields - explained if not field.startswith("reserved")} == set()


def test_reasons_are_all_explained():
    assert list(doc_tables.REASONS) == list(Reason)


def test_cycle_formula_gives_what_the_engine_reported():
    """Behind a long instruction exactly; behind a short one, up to a validation more."""
    accumulate, *coefficients, load, apply = doc_tables.DEFAULT_LAYER_CYCLES
    formula = doc_tables.cycles(doc_tables.SIM, groups=2, elements=2048)
    assert (accumulate, apply) == (formula["grad_accumulate2"], formula["back_prop"])
    operator = doc_tables.overhead(doc_tables.SIM, doc_tables.tensor_tensor_tail(doc_tables.SIM))
    expected = [2 * n + operator for n in (2, 1, 1, 2, 1)]
    assert coefficients[:2] == expected[:2]
    for got, least in zip((*coefficients, load), (*expected, formula["param_load2"]), strict=True):
        assert least <= got <= least + doc_tables.VALIDATE_CLOCKS


def test_cycle_bound():
    for elements in (1, 8, 512, 4096):
        for groups in (1, 4, 16):
            counts = doc_tables.cycles(doc_tables.SIM, groups=groups, elements=elements)
            bound = groups * (elements + 8) + 64
            assert max(counts["grad_accumulate2"], counts["back_prop"]) <= bound


# --- links ----------------------------------------------------------------------------------


@pages
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name) if name else page
        assert path.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(path), f"{page.name}: no heading for {target}"


@pages
def test_paths_exist(page):
    """Whatever is written like a path from the root of the repository."""
    folders = "rtl|golden|cocotb_tests|scripts|studies|tests|docs|benchmarks"
    for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in PAGES:
        assert page == ROOT / "docs" / "README.md" or f"{page.name})" in index, page.name


# --- citations ------------------------------------------------------------------------------

NUMBER = r"\d+(?:\.\d+)?"
CITATION = re.compile(
    rf"(batchnorm|isa_common)\.md`*\s+(?:sections?\s+)?({NUMBER}(?:\s*(?:,|and|to)\s*{NUMBER})*)"
)


def sections(citation):
    """The sections that a citation lists; a range stands for all of them."""
    parts = re.findall(rf"to|{NUMBER}", citation)
    for at, part in enumerate(parts):
        if part == "to":
            *chapter, first = parts[at - 1].split(".")
            last = parts[at + 1].split(".")[-1]
            yield from (".".join([*chapter, str(n)]) for n in range(int(first), int(last) + 1))
        else:
            yield part


def test_sections_of_a_citation():
    assert list(sections("8")) == ["8"]
    assert list(sections("3.1 to 3.3, 5.8 and 13")) == [
        *("3.1", "3.1", "3.2", "3.3", "3.3", "5.8", "13")
    ]


def cited():
    """Document and section of every citation in the sources, with the file that has it."""
    for folder in ("rtl", "golden", "cocotb_tests", "scripts", "studies", "tests", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md"):
                text = re.sub(r"\s*\n\s*(?:#\s*)?", " ", path.read_text())
                for document, numbers in CITATION.findall(text):
                    for section in sections(numbers):
                        yield document, section, path.relative_to(ROOT)


def test_every_cited_section_is_in_the_table():
    page = (ROOT / "docs" / "instruction-set.md").read_text()
    listed = set(re.findall(rf"^\| (batchnorm|isa_common)\.md ({NUMBER}) \|", page, re.MULTILINE))
    found = list(cited())
    assert len(found) > 100
    for document, section, path in found:
        known = {(document, section), (document, section.split(".")[0])}
        assert known & listed, f"{path} cites {document}.md {section}"


# --- architecture and choices ---------------------------------------------------------------


def test_every_struct_of_a_boundary_is_described():
    page = (ROOT / "docs" / "architecture.md").read_text()
    tree = ast.parse((ROOT / "rtl" / "dve_rtl" / "payloads.py").read_text())
    classes = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0]) == "data.Struct"
    ]
    assert len(classes) >= 8
    for name in classes:
        assert f"| `{name}` |" in page


def test_every_package_file_of_the_engine_is_on_the_map():
    """A stage that is added to the RTL finds its place in the picture of stages."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    shared = {
        *("__init__.py", "config.py", "export.py", "lane.py", "frontend.py", "faults.py"),
        *("layouts.py", "element.py", "format.py", "rounding.py", "staging.py", "validate.py"),
    }
    for path in sorted((ROOT / "rtl" / "dve_rtl").rglob("*.py")):
        assert path.name in shared or f"{path.name})" in page, path


def test_choices_are_numbered_and_complete():
    text = (ROOT / "docs" / "choices.md").read_text()
    entries = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert [int(entry.split(".")[0]) for entry in entries] == list(range(1, len(entries) + 1))
    for entry in entries:
        labels = re.findall(r"^\* \*\*(\w+):\*\*", entry, re.MULTILINE)
        assert labels == ["Decision", "Reason", "Source", "Code"], entry.splitlines()[0]
