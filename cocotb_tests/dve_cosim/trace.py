"""The main job as a trace that Perfetto and chrome://tracing show; one clock is one microsecond."""

import json
from importlib import metadata
from typing import Any

from dve_golden.isa.text import format_instruction

from dve_cosim.main_result import MainResult
from dve_cosim.schedule import INSTRUCTIONS, TRACKS, schedule


def as_trace(result: MainResult) -> bytes:
    """Trace events in JSON: a thread for the instructions, the element slots and every unit."""
    events: list[dict[str, Any]] = [
        _name("process_name", 0, f"OpenDVE, {result.config.lanes} lanes"),
        *(_name("thread_name", thread, track) for thread, track in enumerate(TRACKS)),
        *(
            {"ph": "M", "pid": 0, "tid": thread, "name": "thread_sort_index"}
            | {"args": {"sort_index": thread}}
            for thread in range(len(TRACKS))
        ),
    ]
    done = [(each.record, each.cycles) for each in result.instructions]
    for busy in schedule(result.config, done):
        event: dict[str, Any] = {
            "ph": "X",
            "pid": 0,
            "tid": TRACKS.index(busy.track),
            "name": busy.name,
            "ts": busy.start,
            "dur": busy.clocks,
            "args": {"instruction": busy.sequence},
        }
        if busy.track == INSTRUCTIONS:
            record, _ = done[busy.sequence]
            event["args"]["text"] = format_instruction(record, result.config.generation)
        events.append(event)
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"clock": "1 us is one clock cycle", "version": metadata.version("opendve")},
    }
    return json.dumps(document).encode() + b"\n"


def _name(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 0, "tid": thread, "name": kind, "args": {"name": name}}
