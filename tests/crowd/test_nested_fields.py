"""Records whose label, task or worker is a field within a field."""

import json
import warnings

import pytest

from rectifact import evaluate
from rectifact.core.errors import InputError
from rectifact.crowd import read_answers

RECORDS = [
    {
        "item": {"ref": {"id": f"t{i}"}},
        "meta": {"judge": judge},
        "output": {"verdict": "pass" if (i + j) % 3 else "fail", "reason": "so"},
        "version": "ab"[i % 2],
    }
    for i in range(30)
    for j, judge in enumerate(["gpt", "claude", "llama"])
]
NAMES = {"task": "item.ref.id", "worker": "meta.judge", "label": "output.verdict"}


def test_fields_within_fields_are_named_with_dots(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)))
    for data in (path, RECORDS):
        found = read_answers(data, **NAMES)
        assert found.tasks.tolist() == [f"t{i}" for i in range(30)]
        assert found.workers.tolist() == ["gpt", "claude", "llama"]
        assert found.classes.tolist() == ["fail", "pass"]
    with warnings.catch_warnings(action="ignore"):
        whole = evaluate(path, by="version", gold={f"t{i}": "pass" for i in range(12)}, positive="pass", **NAMES)
    assert whole.groups[1].tolist() == ["a", "b"]


def test_a_field_whose_name_has_a_dot_comes_first():
    rows = [record | {"output.verdict": "maybe" if i % 2 else "never"} for i, record in enumerate(RECORDS)]
    assert set(read_answers(rows, **NAMES).classes) == {"maybe", "never"}


@pytest.mark.parametrize("name", ["output.verdit", "output.verdict.x", "outputs.verdict", "output."])
def test_paths_that_lead_nowhere_are_refused(name):
    with pytest.raises(InputError, match=f"There is no column '{name}' for the label among"):
        read_answers(RECORDS, **(NAMES | {"label": name}))


def test_a_record_without_the_field_is_named():
    with pytest.raises(InputError, match=r"Record 4 has no 'output\.verdict', only"):
        read_answers([*RECORDS[:3], RECORDS[3] | {"output": {}}], **NAMES)
