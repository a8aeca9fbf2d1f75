"""The one way out reaches public addresses alone, within bounds, whatever addresses, redirects and names say."""

import gzip
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django import Settings

from tests.tools_app.foreign_hosts import (
    PRIVATE,
    PUBLIC,
    Host,
    Names,
    by_path,
    drips,
    host,
    redirects,
    replies,
)
from tools_app import egress
from tools_app.egress import (
    AddressRefused,
    EgressError,
    Limits,
    Request,
    TimedOut,
    TooManyRedirects,
    Unreachable,
    asked,
    checked_url,
    is_public,
    origin_of,
)

MEGABYTE = 1024 * 1024
NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:5db8:d822::", "2001:0:4136:e378::", "2001:db8::1",
    "100::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "3fff::1", "5f00::1", "name",
]  # fmt: skip
PUBLIC_ADDRESSES = ["93.184.216.34", "1.1.1.1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2606:4700::1111"]
# With the port of a server on this machine in the place of PORT.
PRIVATE_SPELLINGS = [
    "http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://LOCALHOST.:PORT/", "http://127.1:PORT/",
    "http://127.0.1:PORT/", "http://2130706433:PORT/", "http://0x7f000001:PORT/", "http://0x7f.0.0.1:PORT/",
    "http://0177.0.0.1:PORT/", "http://017700000001:PORT/", "http://0:PORT/", "http://0.0.0.0:PORT/",
    "http://[::1]:PORT/", "http://[::]:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", "http://１２７.０.０.１:PORT/", "http://127。0。0。1:PORT/",
    "http://①②⑦.0.0.1:PORT/", "http://%31%32%37.0.0.1:PORT/", "http://[fe80::1%25lo]:PORT/", "http://[64:ff9b::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/", "http://169.254.169.254/latest/", "http://127.0.0.1:PORT\\@example.org/",
]  # fmt: skip


@pytest.fixture
def as_on_the_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    """One address of this machine counts as public."""
    monkeypatch.setattr(egress, "is_public", lambda address: address == PUBLIC)


@pytest.fixture
def outside(as_on_the_internet: None) -> Iterator[Host]:
    """A host at the public address."""
    with host(PUBLIC, replies("200 OK", b"hello")) as running:
        yield running


@pytest.fixture
def inside(outside: Host) -> Iterator[Host]:
    """What must not be reached: a host at a private address, on the same port."""
    with host(PRIVATE, replies("200 OK", b"secret"), port=outside.port) as running:
        yield running


NAMES = {"good_example": [[PUBLIC]], "other_example": [[PUBLIC]], "evil_example": [[PRIVATE]]}


def get(url: str, most: int = MEGABYTE, names: Names | None = None, **request: Any) -> tuple[int, bytes, bool]:
    limits = request.pop("limits", Limits())
    with asked(Request(url, **request), limits, names or Names(**NAMES)) as reply:
        return reply.status, *reply.read(most)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_what_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("spelling", PRIVATE_SPELLINGS)
def test_no_spelling_reaches_this_machine(spelling: str) -> None:
    with host(PRIVATE, replies("200 OK")) as here:
        with pytest.raises(EgressError), asked(Request(spelling.replace("PORT", str(here.port))), Limits(seconds=5)):
            pass
        assert here.asked == []


@pytest.mark.parametrize(
    "url",
    ["ftp://good.example/", "file:///etc/passwd", "gopher://good.example/", "good.example", "//good.example/", "",
     "http://", "http:///x", "http://user@good.example/", "http://user:pw@good.example/", "http://:@good.example/",
     "javascript:alert(1)", "http://[::1", "http://good.example:99999/", "http://good.example:x/"],
)  # fmt: skip
def test_only_plain_web_addresses_are_asked(url: str) -> None:
    with pytest.raises(AddressRefused), asked(Request(url), resolve=Names(**NAMES)):
        pass


def test_the_name_stays_in_the_request(outside: Host) -> None:
    assert get(f"http://good.example:{outside.port}/a?b=c#d") == (200, b"hello", False)
    (seen,) = outside.asked
    assert (seen.line, seen.headers["host"]) == ("GET /a?b=c HTTP/1.1", f"good.example:{outside.port}")


def test_a_name_service_that_changes_its_mind_leads_nowhere_else(outside: Host, inside: Host) -> None:
    names = Names(evil_example=[[PUBLIC], [PRIVATE]])
    outside.answer = by_path(start=redirects("/next"), next=replies("200 OK"))
    with pytest.raises(AddressRefused):
        get(f"http://evil.example:{outside.port}/start", names=names)
    assert (len(outside.asked), inside.asked, names.lookups) == (1, [], ["evil.example"] * 2)


def test_one_private_answer_among_others_refuses_all(outside: Host, inside: Host) -> None:
    for answers in ([PUBLIC, PRIVATE], [PRIVATE, PUBLIC]):
        with pytest.raises(AddressRefused):
            get(f"http://evil.example:{outside.port}/", names=Names(evil_example=[answers]))
    assert outside.asked == inside.asked == []


@pytest.mark.parametrize("target", ["http://evil.example:{}/", "//evil.example:{}/", "http://127.0.0.1:{}/"])
def test_a_redirect_to_a_private_address_is_refused(outside: Host, inside: Host, target: str) -> None:
    outside.answer = redirects(target.format(outside.port))
    names = Names(**NAMES, **{"127_0_0_1": [[PRIVATE]]})
    with pytest.raises(AddressRefused):
        get(f"http://good.example:{outside.port}/", names=names)
    assert inside.asked == []


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://good.example/", "http://u:p@good.example/"])
def test_a_redirect_to_what_is_no_web_address_is_refused(outside: Host, target: str) -> None:
    outside.answer = redirects(target)
    with pytest.raises(AddressRefused):
        get(f"http://good.example:{outside.port}/")


_PIECES = st.text("htps:/@[]%\\.0x17?#&é。 \ud800\x00\r\n\t", max_size=30)
ADDRESSES = st.one_of(st.text(max_size=40), _PIECES.map("http://{}".format), _PIECES.map("//{}".format))


@given(ADDRESSES)
def test_any_address_is_asked_or_refused(url: str) -> None:
    with suppress(EgressError), asked(Request(url), resolve=Names(nobody=[])) as reply:
        pytest.fail(f"{reply.url} answered")


@examples(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(max_size=30), st.text(" /?#%\r\n\t\x00\x7f\ud800é:@[]\\", max_size=12)))
def test_any_path_is_asked_for_or_refused(outside: Host, path: str) -> None:
    with suppress(EgressError):
        get(f"http://good.example:{outside.port}/{path}")
    assert all(len(seen.line.split()) == 3 for seen in outside.asked)


@examples(deadline=None)
@given(ADDRESSES.map(lambda text: text.encode("utf-8", "replace").translate(None, b"\r\n\x00")))
def test_any_redirect_is_followed_or_refused(target: bytes) -> None:
    with host(PRIVATE, lambda connection, seen: connection.sendall(head + target + b"\r\n\r\n")) as here:
        head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
        url = f"http://{PRIVATE}:{here.port}/"
        request = Request(url, trusted=origin_of(checked_url(url)))
        with suppress(EgressError), asked(request, Limits(redirects=1), Names(**{"127_0_0_1": [[PRIVATE]]})):
            pass


def test_redirects_are_counted(outside: Host) -> None:
    outside.answer = redirects("/again")
    with pytest.raises(TooManyRedirects):
        get(f"http://good.example:{outside.port}/", limits=Limits(redirects=3))
    assert len(outside.asked) == 4


SECRETS = {"Authorization": "Bearer s", "Cookie": "a=b", "X-Api-Key": "s", "Accept": "text/plain"}


def test_credentials_stay_with_their_host(outside: Host) -> None:
    outside.answer = by_path(
        start=redirects("/same"), same=redirects(f"http://other.example:{outside.port}/end"), end=replies("200 OK")
    )
    get(f"http://good.example:{outside.port}/start", headers=SECRETS)
    first, second, third = (seen.headers for seen in outside.asked)
    for name, value in SECRETS.items():
        assert first[name.lower()] == second[name.lower()] == value
    assert third.keys() & {name.lower() for name in SECRETS} == {"accept"}


def test_how_a_message_is_framed_is_not_the_callers_to_say(outside: Host) -> None:
    own = {"Host": "evil.example", "Content-Length": "5", "Transfer-Encoding": "chunked", "Accept-Encoding": "br"}
    get(f"http://good.example:{outside.port}/", headers=own | {"X-Other": "kept"})
    (seen,) = outside.asked
    assert seen.headers["host"] == f"good.example:{outside.port}"
    assert not seen.headers.keys() & {"content-length", "transfer-encoding"}
    assert (seen.headers["accept-encoding"], seen.headers["x-other"]) == ("gzip, deflate", "kept")


@pytest.mark.parametrize("header", [{"X-A": "b\r\nX-C: d"}, {"X-A\r\nX-C": "d"}, {"X A": "b"}, {"X-A": "b\x00"}])
def test_a_header_cannot_smuggle_another(outside: Host, header: dict[str, str]) -> None:
    with suppress(EgressError):
        get(f"http://good.example:{outside.port}/", headers=header)
    assert all("x-c" not in seen.headers for seen in outside.asked)


def test_what_was_sent_goes_to_no_other_host(outside: Host) -> None:
    elsewhere = f"http://other.example:{outside.port}/end"
    outside.answer = by_path(start=redirects(elsewhere, "307 Temporary Redirect"), end=replies("200 OK"))
    with pytest.raises(AddressRefused):
        get(f"http://good.example:{outside.port}/start", method="POST", body=b"health")
    outside.answer = by_path(start=redirects("/end", "308 Permanent Redirect"), end=replies("200 OK"))
    get(f"http://good.example:{outside.port}/start", method="POST", body=b"health")
    outside.answer = by_path(start=redirects(elsewhere, "303 See Other"), end=replies("200 OK"))
    get(f"http://good.example:{outside.port}/start", method="POST", body=b"health")
    assert [(seen.line.split()[0], seen.body) for seen in outside.asked[1:]] == [
        ("POST", b"health"),
        ("POST", b"health"),
        ("POST", b"health"),
        ("GET", b""),
    ]


def test_the_operators_own_address_may_be_anywhere_and_leads_nowhere_else(outside: Host, inside: Host) -> None:
    url = f"http://evil.example:{inside.port}/"
    trusted = origin_of(checked_url(url))
    assert get(url, trusted=trusted) == (200, b"secret", False)
    with host(PRIVATE, replies("200 OK")) as neighbour:
        inside.answer = redirects(f"http://evil.example:{neighbour.port}/")
        with pytest.raises(AddressRefused):
            get(url, trusted=trusted)
        assert neighbour.asked == []


def test_private_addresses_can_be_allowed(settings: Settings, inside: Host) -> None:
    settings.EGRESS_ALLOW_PRIVATE = True
    assert get(f"http://evil.example:{inside.port}/") == (200, b"secret", False)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch, outside: Host, inside: Host) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{PRIVATE}:{inside.port}")
    assert get(f"http://good.example:{outside.port}/")[1] == b"hello"
    assert inside.asked == []


def test_a_large_body_is_read_up_to_its_limit(outside: Host) -> None:
    outside.answer = replies("200 OK", b"x" * 50 * MEGABYTE)
    status, body, more = get(f"http://good.example:{outside.port}/")
    assert (status, len(body), more) == (200, MEGABYTE, True)


def test_a_bomb_is_unpacked_up_to_the_limit(outside: Host) -> None:
    bomb = gzip.compress(bytes(50 * MEGABYTE))
    for packed, encoding in ((bomb, "gzip"), (gzip.compress(bomb), "gzip")):
        outside.answer = replies("200 OK", packed, Content_Encoding=encoding)
        _, body, _ = get(f"http://good.example:{outside.port}/", most=1000)
        assert len(body) == 1000


def test_a_packed_body_is_unpacked(outside: Host) -> None:
    outside.answer = replies("200 OK", gzip.compress(b"hello"), Content_Encoding="gzip")
    assert get(f"http://good.example:{outside.port}/") == (200, b"hello", False)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip, gzip", "nonsense"])
def test_a_body_that_cannot_be_unpacked_is_refused(outside: Host, encoding: str) -> None:
    outside.answer = replies("200 OK", b"\x00\x01", Content_Encoding=encoding)
    with pytest.raises(Unreachable):
        get(f"http://good.example:{outside.port}/")


@pytest.mark.parametrize(
    "answer",
    [
        drips(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nX-Long: "),
        drips(b"HTTP/1.1 200 OK\r\n", b"X-One: more\r\n"),
        drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"")[:10], b"\x00\x00\x00\xff\xff"),
        drips(b"", b""),
    ],
    ids=["body", "chunks", "header", "headers", "continue", "empty gzip blocks", "silence"],
)
def test_an_answer_without_an_end_is_ended(outside: Host, answer: Any) -> None:
    outside.answer = answer
    with pytest.raises(EgressError) as refusal:
        get(f"http://good.example:{outside.port}/", limits=Limits(seconds=0.6))
    assert isinstance(refusal.value, TimedOut | Unreachable)


def test_a_name_service_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(egress.socket, "getaddrinfo", lambda *_, **__: [][: released.wait(30)])
    with pytest.raises(TimedOut), asked(Request("http://good.example/"), Limits(seconds=0.2)):
        pass
    released.set()


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"])
def test_a_broken_answer_is_told(outside: Host, answer: bytes) -> None:
    outside.answer = lambda connection, seen: connection.sendall(answer)
    with pytest.raises(Unreachable):
        get(f"http://good.example:{outside.port}/")


def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch, outside: Host) -> None:
    monkeypatch.setattr(egress, "is_public", lambda address: address != PRIVATE)
    assert get(f"http://two.example:{outside.port}/", names=Names(two_example=[["127.0.0.3", PUBLIC]]))[1] == b"hello"


def test_a_host_that_is_not_there_is_told(outside: Host) -> None:
    with pytest.raises(Unreachable):
        get("http://unknown.example/")
    with host(PUBLIC, replies("200 OK")) as gone:
        pass
    with pytest.raises(Unreachable):
        get(f"http://good.example:{gone.port}/")


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's TLS with a certificate for good.example, which is trusted."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "good.example")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("good.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "host.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    monkeypatch.setattr(egress, "tls_context", lambda: ssl.create_default_context(cafile=str(pem)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def test_a_certificate_is_checked_against_the_name(certified: ssl.SSLContext, as_on_the_internet: None) -> None:
    asked_for: list[str | None] = []
    certified.sni_callback = lambda connection, name, context: asked_for.append(name)
    with host(PUBLIC, replies("200 OK", b"hello"), tls=certified) as secure:
        assert get(f"https://good.example:{secure.port}/") == (200, b"hello", False)
        with pytest.raises(Unreachable):
            get(f"https://other.example:{secure.port}/")
        secure.answer = drips(b"HTTP/1.1 200 OK\r\nX-Long: ")
        with pytest.raises(TimedOut):
            get(f"https://good.example:{secure.port}/", limits=Limits(seconds=0.6))
    assert asked_for == ["good.example", "other.example", "good.example"]
