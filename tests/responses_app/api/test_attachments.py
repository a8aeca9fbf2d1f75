"""Images and files in an input: how they are given, which models take them, what is kept of them."""

import base64
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from responses_app.protocol.catalogue import catalogue
from tests.responses_app.api.both_ways import accepted, refused
from tests.responses_app.api.conftest import Script, create, message
from tests.support.envelope import assert_error
from tests.support.upstream import Step, Upstream

Json = dict[str, Any]

PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "JVBERi0="
IMAGE: Json = {"type": "input_image", "image_url": PNG}
FILE: Json = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "phone_lookup", "arguments": "{}"}


def asking(text: str, *parts: Json) -> list[Json]:
    return [{"role": "user", "content": [{"type": "input_text", "text": text}, *parts]}]


def given(upstream: Upstream, mark: str) -> list[Json]:
    """The parts other than text that the model was given last."""
    messages = upstream.requests(mark)[-1].messages
    parts = [part for each in messages if isinstance(each["content"], list) for part in each["content"]]
    return [part for part in parts if part["type"] != "text"]


@pytest.fixture
def mark(script: Script) -> str:
    return script(Step(text=["Fine."]), repeat_last=True)


class TestHowTheyAreGiven:
    @pytest.mark.parametrize(
        "url",
        [
            PNG,
            "DATA:image/PNG;BASE64,iVBORw0KGgo=",
            "data:image/svg+xml;charset=utf-8;base64,PHN2Zy8+",
            "https://example.com/a.png?x=1#y",
            "http://example.com/a.png",
        ],
    )
    @pytest.mark.parametrize("mode", ["agent", "model"])
    def test_images(self, api: httpx.Client, upstream: Upstream, mark: str, url: str, mode: str) -> None:
        accepted(api, {"mode": mode, "input": asking(mark, IMAGE | {"image_url": url, "detail": "high"})})
        assert given(upstream, mark) == [{"type": "image_url", "image_url": {"url": url, "detail": "high"}}]

    @pytest.mark.parametrize(
        ("part", "filename", "data"),
        [
            (FILE, "a.pdf", FILE["file_data"]),
            (FILE | {"file_data": PDF}, "a.pdf", FILE["file_data"]),
            (FILE | {"file_data": PDF, "filename": None}, "file", f"data:application/octet-stream;base64,{PDF}"),
        ],
        ids=["data URL", "base64", "no name"],
    )
    def test_files(
        self, api: httpx.Client, upstream: Upstream, mark: str, part: Json, filename: str, data: str
    ) -> None:
        accepted(api, {"input": asking(mark, part)})
        assert given(upstream, mark) == [{"type": "file", "file": {"filename": filename, "file_data": data}}]

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "cat.png",
            "ftp://example.com/a.png",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
            "https://[bad/a.png",
            "https://example.com/a b.png",
            "data:,hello",
            "data:image/png,hello",
            "data:image/png;base64,",
            "data:image/png;base64,iVBORw0KGgo",
            "data:image/png;base64,iVBO\nRw0KGgo=",
            "data:image/png;base64,ü",
            "data:;base64,iVBORw0KGgo=",
            "data:text/html;base64,iVBORw0KGgo=",
        ],
    )
    def test_not_as_an_image(self, api: httpx.Client, url: str) -> None:
        body = {"input": asking("What is it?", IMAGE | {"image_url": url})}
        refused(api, body, "invalid_value", "input[0].content[1].image_url")

    @pytest.mark.parametrize(
        "data", ["", "%PDF-1.7", "JVBERi0", "data:application/pdf,x", "data:application/pdf;base64,!"]
    )
    def test_not_as_a_file(self, api: httpx.Client, data: str) -> None:
        body = {"input": asking("What is it?", FILE | {"file_data": data})}
        refused(api, body, "invalid_value", "input[0].content[1].file_data")

    def test_not_too_large(self, api: httpx.Client) -> None:
        url = "data:image/png;base64," + "A" * 20_971_520
        answer = api.post("/v1/responses", json={"input": asking("What is it?", IMAGE | {"image_url": url})})
        assert_error(answer, 400, "value_too_long", "input[0].content[1].image_url")

    def test_a_few_megabytes(self, api: httpx.Client, upstream: Upstream, mark: str) -> None:
        data = base64.b64encode(b"x" * 3_000_000).decode()
        response = create(api, input=asking(mark, FILE | {"file_data": data}))
        assert given(upstream, mark)[0]["file"]["file_data"].endswith(data)
        assert response["usage"]["input_tokens"] < 100


class TestAModelThatTakesNone:
    @pytest.fixture(params=["analyst", "catalogue"])
    def text_only(self, request: pytest.FixtureRequest, settings: Settings) -> None:
        if request.param == "analyst":
            settings.LLM_BASE_URL = ""
        else:
            settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"input_modalities": ["text"]}})

    @pytest.mark.parametrize("part", [IMAGE, FILE], ids=["image", "file"])
    @pytest.mark.usefixtures("text_only")
    def test_refuses_it_before_anything_is_kept(self, api: httpx.Client, part: Json) -> None:
        code = "unsupported_parameter"
        for mode in ("agent", "model"):
            said = refused(
                api, {"mode": mode, "user": "nobody", "input": asking("Hi", part)}, code, "input[0].content[1]"
            )
            assert part["type"] in said
        output = {"type": "function_call_output", "call_id": "c1", "output": [part]}
        refused(api, {"user": "nobody", "input": [message("Go"), CALL, output]}, code, "input[2].output[0]")
        for path in ("compact", "input_tokens"):
            body = {"model": "mirobody-flash", "user": "nobody", "input": asking("Hi", part)}
            assert_error(api.post(f"/v1/responses/{path}", json=body), 400, code, "input[0].content[1]")
        assert api.get("/v1/subjects/nobody").status_code == 404

    @pytest.mark.usefixtures("text_only")
    def test_is_named_by_the_message_of_a_completion(self, api: httpx.Client) -> None:
        content = [{"type": "image_url", "image_url": {"url": PNG}}]
        answer = api.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": content}]})
        assert_error(answer, 400, "unsupported_parameter", "messages[0].content[0]")

    def test_goes_on_from_one_that_does(
        self, api: httpx.Client, upstream: Upstream, mark: str, settings: Settings
    ) -> None:
        settings.MODEL_CATALOGUE = catalogue({"mirobody-flash": {"input_modalities": ["text", "file"]}})
        first = create(api, model="mirobody-expert", input=asking(f"What is it? {mark}", IMAGE, FILE))
        assert [part["type"] for part in given(upstream, mark)] == ["image_url", "file"]
        create(api, model="mirobody-flash", previous_response_id=first["id"], input=f"And? {mark}")
        assert [part["type"] for part in given(upstream, mark)] == ["file"]
        assert "which you cannot read" in str(upstream.requests(mark)[-1].messages)


def test_they_are_listed_and_erased_like_any_input(api: httpx.Client, mark: str) -> None:
    first = create(api, user="pat", input=asking(mark, IMAGE, FILE))
    listed = api.get(f"/v1/responses/{first['id']}/input_items").json()["data"]
    assert listed[0]["content"][1:] == [IMAGE | {"detail": "auto"}, FILE]
    reference = {"type": "item_reference", "id": listed[0]["id"]}
    create(api, user="pat", input=[reference, message(mark)])
    assert api.delete("/v1/subjects/pat").status_code == 200
    assert_error(api.get(f"/v1/responses/{first['id']}/input_items"), 404, "not_found")
