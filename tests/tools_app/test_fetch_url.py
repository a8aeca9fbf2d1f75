"""``fetch_url`` reads the text of public pages and survives what hostile ones send."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.tools_app.foreign_hosts import PRIVATE, Host, drips, host, redirects, replies
from tests.tools_app.test_egress import PRIVATE_SPELLINGS
from tools_app import egress
from tools_app.contract import ToolContext, ToolFailed, ToolRefusal, ToolResult, TryDifferently
from tools_app.registry import TOOLS
from tools_app.runner import run_tool
from tools_app.tools import fetch_url
from tools_app.tools.text_pages import PAGE_CHARACTERS

PAGE = "<html><head><title>A  page</title><style>p{}</style></head><body><h1>Café</h1><p>5 µmol/L</p><script>x</script>"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A page's host, which counts as public."""
    monkeypatch.setattr(egress, "is_public", lambda address: address == "127.0.0.2")
    with host("127.0.0.2", replies("200 OK", PAGE.encode(), Content_Type="text/html; charset=utf-8")) as running:
        yield running


def fetch(url: str, **arguments: Any) -> ToolResult:
    return run_tool(TOOLS["fetch_url"], ToolContext(1, None, datetime.now(UTC)), {"url": url} | arguments)


def fetched(site: Host, body: bytes, content_type: str = "text/html", **headers: str) -> dict[str, Any]:
    site.answer = replies("200 OK", body, Content_Type=content_type, **headers)
    return fetch(f"http://127.0.0.2:{site.port}/").data


def test_a_page_is_read_as_text(site: Host) -> None:
    url = f"http://127.0.0.2:{site.port}/a"
    data = fetch(url).data
    assert (data["url"], data["title"], data["text"]) == (url, "A page", "Café\n\n5 µmol/L")
    assert (data["next_offset"], data["cut"]) == (None, False)


@pytest.mark.parametrize("spelling", PRIVATE_SPELLINGS)
def test_no_spelling_reaches_this_machine(spelling: str) -> None:
    with host(PRIVATE, replies("200 OK", b"secret", Content_Type="text/plain")) as here:
        with pytest.raises(ToolRefusal):
            fetch(spelling.replace("PORT", str(here.port)))
        assert here.asked == []


def test_a_redirect_to_this_machine_is_refused(site: Host) -> None:
    with host(PRIVATE, replies("200 OK", b"secret", Content_Type="text/plain")) as here:
        site.answer = redirects(f"http://{PRIVATE}:{here.port}/")
        with pytest.raises(TryDifferently, match="non-public"):
            fetch(f"http://127.0.0.2:{site.port}/")
        assert here.asked == []


def test_a_huge_page_is_cut(site: Host) -> None:
    data = fetched(site, b"word " * 10_000_000, "text/plain")
    assert (data["cut"], data["characters"], len(data["text"])) == (True, fetch_url.MAX_BYTES, PAGE_CHARACTERS)


def test_what_is_told_of_a_page_is_bounded(site: Host) -> None:
    data = fetched(site, b"<title>" + b"title " * 300_000 + b"</title><p>text</p>")
    assert (data["title"][:6], data["text"]) == ("title ", "text")
    assert len(json.dumps(data)) < 2 * PAGE_CHARACTERS


def test_a_redirect_to_a_giant_address_is_refused(site: Host) -> None:
    site.answer = redirects(f"http://127.0.0.2:{site.port}/{'a' * 50_000}")
    with pytest.raises(TryDifferently, match="too long"):
        fetch(f"http://127.0.0.2:{site.port}/")
    assert len(site.asked) == 1


def test_a_gzip_bomb_is_cut(site: Host) -> None:
    data = fetched(site, gzip.compress(b"word " * 10_000_000), "text/plain", Content_Encoding="gzip")
    assert (data["cut"], data["characters"]) == (True, fetch_url.MAX_BYTES)


def test_an_endless_page_is_given_up(site: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answer = drips(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n")
    monkeypatch.setattr(fetch_url, "LIMITS", egress.Limits(seconds=0.5))
    with pytest.raises(ToolFailed):
        fetch(f"http://127.0.0.2:{site.port}/")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"%PDF-1.7 \x00\x01", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "image/png"),
        (b"\x00\x01\x02" * 1000, "application/octet-stream"),
        (b"\x7fELF\x00\x00\x00", "text/plain"),
        (b"PK\x03\x04\x00\x00", "text/html"),
    ],
)
def test_what_is_no_text_is_refused(site: Host, body: bytes, content_type: str) -> None:
    with pytest.raises(TryDifferently):
        fetched(site, body, content_type)


@pytest.mark.parametrize(
    ("encoding", "content_type", "declared"),
    [
        ("utf-8", "text/html; charset=utf-8", ""),
        ("iso-8859-1", "text/html; charset=ISO-8859-1", ""),
        ("gb18030", 'text/html; charset="GB18030"', ""),
        ("shift_jis", "text/html", '<meta charset="shift_jis">'),
        ("gbk", "text/html", '<meta http-equiv="Content-Type" content="text/html; charset=gbk">'),
        ("utf-16", "text/html", ""),
        ("utf-8-sig", "text/html; charset=latin-1", ""),
        ("utf-8", "text/html", ""),
    ],
)
def test_charsets_are_understood(site: Host, encoding: str, content_type: str, declared: str) -> None:
    word = "Café" if encoding == "iso-8859-1" else "日本"
    data = fetched(
        site, f"<html><head>{declared}</head><body><p>{word}</p></body></html>".encode(encoding), content_type
    )
    assert data["text"] == word


@pytest.mark.parametrize(
    "charset", ["nonsense", "zip", "base64", "rot13", "punycode", "idna", "utf-7", "unicode_escape", "hex"]
)
def test_an_odd_charset_breaks_nothing(site: Host, charset: str) -> None:
    data = fetched(site, b"<p>plain</p>" + b"<p>-a</p>" * 100_000, f"text/html; charset={charset}")
    assert data["text"].startswith("plain")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<", b"<!--", b"\x80\x81\xff", b"<div>" * 200_000, b"<p>" * 200_000, b"<table><tr><td>" * 50_000,
        b'<?xml version="1.0" encoding="utf-8"?><html><body>x</body></html>', b"&#0;&#x110000;&#xD800;",
        b"<a " * 200_000,
        b"<!DOCTYPE html [<!ENTITY a 'b'>]><p>&a;</p>",
    ],
)  # fmt: skip
def test_any_html_is_survived(site: Host, body: bytes) -> None:
    data = fetched(site, body)
    data["text"].encode()


@pytest.mark.parametrize("content_type", ["application/json", "text/csv", "application/fhir+json", "application/xml"])
def test_other_text_is_read_as_it_is(site: Host, content_type: str) -> None:
    assert fetched(site, b'{"a": "<b>"}', content_type)["text"] == '{"a": "<b>"}'


@pytest.mark.parametrize(
    ("status", "refusal"), [("404 Not Found", TryDifferently), ("403 Forbidden", ToolFailed), ("500 Oops", ToolFailed)]
)
def test_a_page_that_is_not_given_out_is_told(site: Host, status: str, refusal: type[ToolRefusal]) -> None:
    site.answer = replies(status, b"no")
    with pytest.raises(refusal):
        fetch(f"http://127.0.0.2:{site.port}/")


def test_a_long_page_comes_in_pages(site: Host) -> None:
    site.answer = replies("200 OK", b"0123456789" * 2000, Content_Type="text/plain")
    url = f"http://127.0.0.2:{site.port}/"
    first = fetch(url).data
    second = fetch(url, offset=first["next_offset"]).data
    third = fetch(url, offset=second["next_offset"]).data
    assert first["text"] + second["text"] + third["text"] == "0123456789" * 2000
    assert third["next_offset"] is None
