"""The weight of a compiled rule is an estimate from above, and what is freed goes back to the system."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MEASURE = """
import ctypes, gc, json, sys
import detent
from detent.serve.memory import CompiledRule, limit_heaps, return_freed_memory

class Info(ctypes.Structure):
    _fields_ = [(f"f{number}", ctypes.c_size_t) for number in range(10)]  # f4: mapped, f7: in use

limit_heaps()
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info

def used():
    gc.collect()
    info = libc.mallinfo2()
    return info.f4 + info.f7

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

model = detent.load_model()
detent.generate(model, "x", detent.json_schema({"type": "object"}), max_tokens=30)
strings = {"type": "object", "additionalProperties": {"allOf": [{"pattern": f"a.{{{n}}}b"} for n in range(3, 9)]}}
rules = {
    "regex": lambda: detent.regex(".*a.{16}"),
    "all_of": lambda: detent.json_schema({"allOf": [{"pattern": f"{a}.{{5}}"} for a in "abcdef"], "type": "string"}),
    "strings": lambda: detent.json_schema(strings),
    "contains": lambda: detent.json_schema({"type": "array", "contains": {"const": 1}, "minContains": 300}),
    "names": lambda: detent.json_schema({"properties": {f"n{k}": {"enum": [k, str(k)]} for k in range(3000)}}),
    "lookaheads": lambda: detent.regex("".join(f"(?=.*{a}.{{3}}{a})" for a in "abcdef") + ".*"),
    "grammar": lambda: detent.grammar("start: (WORD /,/)+\\nWORD: /[a-z]+/ & ~/" + "|".join(
        f"w{k * 7919}" for k in range(500)) + "/"),
    "small": lambda: [detent.json_schema({"enum": [k, f"{k}"]}) for k in range(100)],
}
begin = resident()
for name, make in rules.items():
    before = used()
    languages = make()
    rules = []
    for language in languages if isinstance(languages, list) else [languages]:
        guide = detent.compile(language, model.vocabulary)
        rules.append(CompiledRule.of(language, guide, ""))
        try:
            detent.generate(model, "Hi", guide.language, max_tokens=60, seed=1)
            matcher = guide.matcher()
            for _ in range(60):
                allowed = matcher.allowed()
                matcher.advance(int(allowed[len(allowed) // 2]))
        except detent.DetentError:
            pass
        matcher = None
    print(json.dumps([name, used() - before, sum(rule.memory_bytes for rule in rules)]), flush=True)
    rules = languages = language = guide = None
    gc.collect()
return_freed_memory()
print(json.dumps(["end", resident() - begin, 0]))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads the statistics of glibc")
def test_weights_are_from_above() -> None:
    found = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, timeout=120, check=False)
    if "mallinfo2" in found.stderr:
        pytest.skip("needs glibc 2.33")
    assert not found.stderr
    *rules, (_, growth, _) = map(json.loads, found.stdout.splitlines())
    assert max(real for _, real, _ in rules) > 5_000_000
    for name, real, estimate in rules:
        assert real < 1.25 * estimate, (name, real, estimate)
        assert estimate < 4 * real + 1_000_000 or name == "small", (name, real, estimate)
    assert growth < 40_000_000


def test_garbage_collection_visits_no_loaded_objects() -> None:
    script = """
import gc
import detent.serve
from detent.serve.memory import exempt_loaded_objects

before = len(gc.get_objects())
exempt_loaded_objects()
print(before > 10_000, len(gc.get_objects()) < 100)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split() == ["True", "True"]
