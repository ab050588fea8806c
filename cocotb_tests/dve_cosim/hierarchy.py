"""Where an array lies in generated Verilog.

Amaranth renames an instance whose name is also a signal's (``sbuf`` becomes ``\\sbuf$124``), so
that a hierarchical reference cannot be written down: it is looked up in the text.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from dve_cosim.errors import CosimError

_NAME = r"\\\S+|[A-Za-z_]\w*"
_ITEM = re.compile(
    rf"^module\s+(?P<module>{_NAME})"
    rf"|^\s*(?P<kind>{_NAME})\s+(?:#\([^;]*?\)\s*)?(?P<instance>{_NAME})\s*\((?=\s*\.)"
    r"|^\s*reg\s*\[[^\]]*\]\s*(?P<array>\w+)\s*\[",
    re.MULTILINE,
)

Instances = Mapping[str, Sequence[tuple[str, str]]]


def array_path(verilog: str, *, module: str, instance: str, array: str) -> str:
    """Path below ``module``, through its instance, to the one array of that name.

    Parameters
    ----------
    verilog : str
        The text.
    module : str
        Where the path starts; it is not part of it.
    instance : str
        Name of the first step, without the suffix that a renaming adds.
    array : str
        Name of the array.

    Raises
    ------
    CosimError
        If there is not exactly one.
    """
    instances: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    holders = set()
    current = ""
    for item in _ITEM.finditer(verilog):
        if item["module"]:
            current = item["module"]
        elif item["instance"]:
            instances[current].append((item["kind"], item["instance"]))
        elif item["array"] == array:
            holders.add(current)
    paths = [
        path
        for kind, name in instances[module]
        if re.fullmatch(rf"\\?{re.escape(instance)}(\$\d+)?", name)
        for path in _paths(kind, _step(name), instances, holders)
    ]
    if len(paths) != 1:
        raise CosimError(
            f"the Verilog of {module} has {len(paths)} arrays {array} under {instance}, not one; "
            "the image loader needs to know the lane's memories"
        )
    return f"{paths[0]}.{array}"


def _paths(kind: str, so_far: str, instances: Instances, holders: set[str]) -> list[str]:
    found = [so_far] if kind in holders else []
    for child, name in instances[kind]:
        found += _paths(child, f"{so_far}.{_step(name)}", instances, holders)
    return found


def _step(name: str) -> str:
    return f"{name} " if name.startswith("\\") else name  # a blank ends an escaped name
