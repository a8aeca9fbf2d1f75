"""A conversation's files: what each tool does, the bounds, and which turns see what another one wrote."""

from typing import Any

import httpx
import pytest

from responses_app.harness.file_space import MAX_FILE_BYTES, MAX_FILES
from responses_app.models import HarnessFile
from tests.responses_app.api.conftest import Ask, Json, Script, create, output_for, retrieve
from tests.responses_app.harness.conftest import Document, Uses, result, statuses
from tests.support.upstream import Call, Step, Upstream

NOTES = "one\ntwo\nthree\n"
GONE = {"gone": True, "records": 1}


def write(path: str, content: str) -> Call:
    return Call("write_file", {"file_path": path, "content": content})


def read(path: str, **more: Any) -> Call:
    return Call("read_file", {"file_path": path, **more})


def edit(path: str, old: str, new: str, **more: Any) -> Call:
    return Call("edit_file", {"file_path": path, "old_string": old, "new_string": new, **more})


LS = Call("ls")


def paths(response: Json) -> list[str]:
    return [entry["path"] for entry in result(response)["files"]]


def test_what_is_written_is_read(ask: Ask, script: Script, upstream: Upstream) -> None:
    mark = script(Step(calls=[write("/notes.md", NOTES)]), Step(calls=[read("/notes.md")]), Step(text=["Done."]))
    response = ask(input=f"Note {mark}")
    assert result(response) == {"path": "/notes.md", "content": NOTES, "lines": 3, "next_offset": None}
    assert "three" in upstream.requests(mark)[2].tool_outputs[1]
    assert response["health_records"] == response["citations"] == []


def test_reading_by_lines(uses: Uses) -> None:
    response = uses(write("/n", NOTES), read("n", offset=1, limit=1), read("/n", offset=2), read("/n", offset=9))
    assert result(response, 1) == {"path": "/n", "content": "two\n", "lines": 3, "next_offset": 2}
    assert (result(response, 2)["content"], result(response, 2)["next_offset"]) == ("three\n", None)
    assert (result(response, 3)["content"], result(response, 3)["next_offset"]) == ("", None)


def test_a_long_file_is_read_in_pieces(uses: Uses) -> None:
    response = uses(write("/n", "x" * 99 + "\n" + "y" * 900_000 + "\nend"), read("/n"), read("/n", offset=1))
    assert (result(response, 1)["content"], result(response, 1)["next_offset"]) == ("x" * 99 + "\n", 1)
    assert len(result(response, 2)["content"]) < 50_000
    assert result(response, 2)["line_truncated"] is True
    assert result(response, 2)["next_offset"] == 2


def test_editing_replaces_an_exact_string_that_is_there_once(uses: Uses) -> None:
    response = uses(write("/n", NOTES), edit("/n", "two", "2 (.*)"), read("/n"))
    assert result(response, 1) == {"path": "/n", "replaced": 1}
    assert result(response)["content"] == "one\n2 (.*)\nthree\n"


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (edit("/n", "four", "4"), "not in the file"),
        (edit("/n", "e", "E"), "3 times"),
        (edit("/m", "one", "1"), "no such file"),
        (edit("/n", "", "1"), "empty"),
    ],
)
def test_an_edit_that_does_not_fit_changes_nothing(uses: Uses, call: Call, word: str) -> None:
    response = uses(write("/n", NOTES), call, read("/n"))
    assert statuses(response) == ["completed", "failed", "completed"]
    assert word in result(response, 1)["error"]
    assert result(response)["content"] == NOTES


def test_editing_everywhere(uses: Uses) -> None:
    response = uses(write("/n", NOTES), edit("/n", "e", "E", replace_all=True), read("/n"))
    assert result(response, 1)["replaced"] == 3
    assert result(response)["content"] == "onE\ntwo\nthrEE\n"


@pytest.mark.parametrize("path", ["/a/b.md", "a/b.md", "//a//b.md", "/./a/./b.md/"])
def test_a_path_has_one_spelling(uses: Uses, path: str) -> None:
    response = uses(write(path, "x"), Call("ls", {"path": "/a"}))
    assert paths(response) == ["/a/b.md"]


@pytest.mark.parametrize(
    "path",
    ["..", "/../etc/passwd", "/a/../../b", "/a\x00b", "/a\nb", "/", "", "/records/x", "/records", "/" + "x" * 300],
)
def test_a_path_that_leads_elsewhere_is_refused(uses: Uses, path: str) -> None:
    response = uses(write(path, "x"), LS)
    assert statuses(response) == ["failed", "completed"]
    assert paths(response) == []


def test_reading_never_leaves_the_conversation(uses: Uses) -> None:
    response = uses(read("/etc/passwd"), read("/../../etc/passwd"), Call("grep", {"pattern": "root", "path": "/etc"}))
    assert statuses(response) == ["failed", "failed", "completed"]
    assert result(response)["matches"] == []


def test_folders(uses: Uses) -> None:
    response = uses(
        write("/a/b/c", "1"), write("/a/d", "12"), LS, Call("ls", {"path": "/a"}), Call("ls", {"path": "/x"})
    )
    assert result(response, 2) == {"folders": ["/a/", "/records/"], "files": [], "truncated": False}
    assert result(response, 3) == {
        "folders": ["/a/b/"],
        "files": [{"path": "/a/d", "bytes": 2}],
        "truncated": False,
    }
    assert statuses(response)[4] == "failed"


@pytest.mark.parametrize(
    ("pattern", "folder", "found"),
    [
        ("*.md", "/", ["/a.md", "/b/c.md", "/b/d/e.md"]),
        ("/*.md", "/", ["/a.md"]),
        ("**/*.md", "/b", ["/b/c.md", "/b/d/e.md"]),
        ("b/**", "/", ["/b/c.md", "/b/d/e.md"]),
        ("?.txt", "/", ["/f.txt"]),
        ("b/*", "/", ["/b/c.md"]),
        ("[a](.+", "/", []),
        ("*" * 400 + "x", "/", []),
    ],
)
def test_glob(uses: Uses, pattern: str, folder: str, found: list[str]) -> None:
    written = [write(path, "x") for path in ("/a.md", "/b/c.md", "/b/d/e.md", "/f.txt")]
    response = uses(*written, Call("glob", {"pattern": pattern, "path": folder}))
    assert result(response) == {"paths": found, "truncated": False}


def test_grep(uses: Uses) -> None:
    files = [write("/a.md", "LDL (high)\nHDL"), write("/b/c.txt", "none\nLDL again")]
    searches = [
        {"pattern": "LDL"},
        {"pattern": "(high)"},
        {"pattern": "^.DL$", "regex": True},
        {"pattern": "LDL", "glob": "*.txt"},
        {"pattern": "LDL", "path": "/b"},
        {"pattern": "LDL", "path": "/a.md"},
    ]
    response = uses(*files, *(Call("grep", search) for search in searches))
    found = [[(match["path"], match["line"]) for match in result(response, 2 + n)["matches"]] for n in range(6)]
    first, second = ("/a.md", 1), ("/b/c.txt", 2)
    assert found == [[first, second], [first], [("/a.md", 2)], [second], [second], [first]]


def test_a_pattern_cannot_blow_up(uses: Uses, capfd: pytest.CaptureFixture[str]) -> None:
    patterns = [r"(a+)+$", r"(?:a?){1000}(?:a{1000}){1000}", r"(unclosed-secret", r"(\w+)\1"]
    greps = [Call("grep", {"pattern": pattern, "regex": True}) for pattern in patterns]
    response = uses(write("/a", "a" * 100_000 + "b"), *greps)
    assert statuses(response) == ["completed", "completed", "failed", "failed", "failed"]
    assert "unclosed-secret" not in "".join(capfd.readouterr())


def test_a_file_of_lines_alone_holds_nobody_up(api: httpx.Client, script: Script) -> None:
    lines = "\n" * (MAX_FILE_BYTES - 5) + "last\n"
    greps = [Call("grep", {"pattern": pattern, "regex": True}) for pattern in ("x", "^last$", "(a|aa)+$")]
    mark = script(Step(calls=[write("/a", lines)]), Step(calls=greps), Step(text=["Done."]))
    _, *found = create(api, input=f"Work {mark}")["tool_steps"]
    assert [step["result"] for step in found] == [{"matches": [], "truncated": True}] * 3


def test_many_matches_are_cut(uses: Uses) -> None:
    response = uses(write("/a", "a\n" * 100_000), Call("grep", {"pattern": "a"}))
    assert len(result(response)["matches"]) == 100
    assert result(response)["truncated"] is True


def test_bounds(uses: Uses) -> None:
    full = "x" * MAX_FILE_BYTES
    response = uses(
        write("/big", full + "x"),
        write("/umlauts", "ä" * (MAX_FILE_BYTES // 2 + 1)),
        *(write(f"/{number}", full) for number in range(5)),
        write("/more", "x"),
        edit("/0", "x", "xx", replace_all=True),
        write("/0", ""),
        write("/more", "x"),
    )
    kept = ["completed"] * 5
    assert statuses(response) == ["failed", "failed", *kept, "failed", "failed", "completed", "completed"]


def test_thousands_of_files(script: Script, api: httpx.Client) -> None:
    calls = [write(f"/{number}", "x") for number in range(MAX_FILES + 900)]
    mark = script(Step(calls=calls), Step(calls=[LS]), Step(text=["Done."]))
    response = create(api, input=f"Work {mark}")
    assert statuses(response).count("failed") == 900
    assert len(paths(response)) == MAX_FILES


def test_odd_text(uses: Uses) -> None:
    odd = "\u2028 \U0001f600 \x1b \r\n é e\u0301"
    response = uses(write("/odd", odd), read("/odd"), write("/nul", "a\x00b"))
    assert result(response, 1)["content"] == odd
    assert statuses(response)[2] == "failed"


def test_later_turns_see_files_and_other_conversations_do_not(uses: Uses) -> None:
    first = uses(write("/n", "first"))
    second = uses(read("/n"), write("/m", "more"), previous_response_id=first["id"])
    third = uses(LS, previous_response_id=second["id"])
    assert result(second, 0)["content"] == "first"
    assert paths(third) == ["/m", "/n"]
    assert paths(uses(LS)) == []


def test_branches_do_not_see_each_other(uses: Uses) -> None:
    root = uses(write("/n", "root"))
    left = uses(edit("/n", "root", "left"), write("/left", "x"), previous_response_id=root["id"])
    right = uses(read("/n"), LS, previous_response_id=root["id"])
    assert result(right, 0)["content"] == "root"
    assert paths(right) == ["/n"]
    assert result(uses(read("/n"), previous_response_id=left["id"]))["content"] == "left"


def test_a_session_keeps_its_files(uses: Uses, api: httpx.Client) -> None:
    uses(write("/n", "first"), session_id="diary")
    second = uses(write("/n", "second"), session_id="diary")
    assert result(uses(read("/n"), session_id="diary"))["content"] == "second"
    newest = uses(write("/n", "third"), session_id="diary")
    api.delete(f"/v1/responses/{newest['id']}")
    assert result(uses(read("/n"), session_id="diary"))["content"] == "second"
    assert second["session_id"] == "diary"


def test_a_resume_goes_on_with_the_files_of_its_handoff(api: httpx.Client, script: Script) -> None:
    tool = {"type": "function", "name": "call_me"}
    mark = script(Step(calls=[write("/n", "kept"), Call("call_me")]), Step(calls=[read("/n")]), Step(text=["Done."]))
    paused = create(api, input=f"Work {mark}", tools=[tool])
    [call] = [item for item in paused["output"] if item["type"] == "function_call"]
    resumed = create(api, input=[output_for(call)], previous_response_id=paused["id"])
    assert result(resumed)["content"] == "kept"


def test_a_failed_turn_changes_no_files(api: httpx.Client, uses: Uses, script: Script) -> None:
    uses(write("/n", "first"), session_id="diary")
    mark = script(Step(calls=[write("/n", "never")]), Step(status=400))
    assert api.post("/v1/responses", json={"input": f"Work {mark}", "session_id": "diary"}).status_code == 502
    assert result(uses(read("/n"), session_id="diary"))["content"] == "first"


def test_a_turn_that_is_not_stored_reads_and_leaves_nothing(uses: Uses) -> None:
    first = uses(write("/n", "first"))
    before = HarnessFile.objects.count()
    passing = uses(read("/n"), write("/n", "passing"), read("/n"), previous_response_id=first["id"], store=False)
    assert [result(passing, 0)["content"], result(passing, 2)["content"]] == ["first", "passing"]
    assert HarnessFile.objects.count() == before
    assert result(uses(read("/n"), previous_response_id=first["id"]))["content"] == "first"


def test_files_go_with_the_last_live_response(api: httpx.Client, uses: Uses) -> None:
    first = uses(write("/n", "first"))
    second = uses(write("/m", "second"), previous_response_id=first["id"])
    rows = HarnessFile.objects.filter(response_id__in=[first["id"], second["id"]])
    api.delete(f"/v1/responses/{first['id']}")
    assert result(uses(read("/n"), previous_response_id=second["id"], store=False))["content"] == "first"
    api.delete(f"/v1/responses/{second['id']}")
    assert not rows.exists()


def test_the_documents_of_the_subject(uses: Uses, document: Document) -> None:
    record = document("alice", "Discharge letter", "Seen for chest pain.\nAll clear.")
    path = f"/records/{record}.txt"
    calls = [
        Call("ls", {"path": "/records"}),
        read(path),
        Call("grep", {"pattern": "chest"}),
        Call("grep", {"pattern": "clear", "path": path}),
        Call("glob", {"pattern": "/records/*"}),
    ]
    response = uses(*calls, user="alice")
    [entry] = result(response, 0)["files"]
    assert (entry["path"], entry["title"], entry["time"][:10]) == (path, "Discharge letter", "2026-03-01")
    assert result(response, 1)["content"] == "Seen for chest pain.\nAll clear."
    assert result(response, 2)["matches"] == [{"path": path, "line": 1, "text": "Seen for chest pain."}]
    assert result(response, 3)["matches"] == [{"path": path, "line": 2, "text": "All clear."}]
    assert result(response, 4)["paths"] == [path]


def test_documents_are_read_only(uses: Uses, document: Document) -> None:
    path = f"/records/{document(None, 'Letter', 'As it was.')}.txt"
    response = uses(write(path, "x"), edit(path, "was", "is"), write("/records/new.txt", "x"), read(path))
    assert statuses(response) == ["failed", "failed", "failed", "completed"]
    assert result(response)["content"] == "As it was."


def test_documents_of_others_do_not_exist(uses: Uses, document: Document) -> None:
    path = f"/records/{document('bob', 'Letter', 'Of somebody else.')}.txt"
    calls = [read(path), Call("ls", {"path": "/records"}), Call("grep", {"pattern": "somebody"})]
    missing = uses(read(f"/records/clin_{'0' * 32}.txt"), user="alice")
    for response in (uses(*calls, user="alice"), uses(*calls)):
        assert result(response, 0) == result(missing)
        assert result(response, 1)["files"] == result(response, 2)["matches"] == []


def test_what_quotes_a_document_goes_with_it(
    uses: Uses, document: Document, api: httpx.Client, script: Script, upstream: Upstream
) -> None:
    path = f"/records/{document(None, 'Letter', 'Chest pain.')}.txt"
    grep = Call("grep", {"pattern": "Chest"})
    glob = Call("glob", {"pattern": "*"})
    response = uses(read(path), grep, Call("ls", {"path": "/records"}), glob, write("/n", "own words"), LS)
    api.delete("/v1/data", params={"all": "true"})
    shown = retrieve(api, response["id"])
    assert [result(shown, index) for index in range(4)] == [GONE] * 4
    assert paths(shown) == ["/n"]
    mark = script(Step(text=["Fine."]))
    create(api, input=f"And? {mark}", previous_response_id=response["id"])
    assert "Chest pain" not in str(upstream.requests(mark)[0].messages)
