"""Where the provider is and the way there: its base URL taken apart, the proxy. Not here: sockets."""

from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. ``authorization`` is its ``Proxy-Authorization`` header's value, or ``""``."""

    host: str
    port: int
    authorization: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The chat-completions endpoint. ``authority`` is host and port as they stand in a ``Host`` header, ``path`` holds
    the query too."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str
    proxy: Proxy | None

    @property
    def target(self) -> str:
        """What the request line names: to a proxy that passes plain requests on, the whole URL."""
        return f"http://{self.authority}{self.path}" if self.proxy and not self.secure else self.path


def endpoint_of(base_url: str) -> Endpoint:
    """The endpoint under an OpenAI-compatible ``base_url``. The proxy is that of ``HTTPS_PROXY``, ``HTTP_PROXY`` or
    ``ALL_PROXY``, unless ``NO_PROXY`` names the host. Raises ``ValueError`` for anything but http and https URLs, and
    for a proxy that is reached in another way than by plain HTTP."""
    url = urlsplit(base_url)
    host = url.hostname
    if not host or url.scheme not in _PORTS:
        raise ValueError("LLM_BASE_URL must be an http or https URL")
    path = f"{url.path.rstrip('/')}/chat/completions" + (f"?{url.query}" if url.query else "")
    authority = url.netloc.rpartition("@")[2]
    return Endpoint(
        url.scheme == "https", host, url.port or _PORTS[url.scheme], authority, path, _proxy(url.scheme, authority)
    )


def _proxy(scheme: str, authority: str) -> Proxy | None:
    proxies = getproxies()
    given = proxies.get(scheme) or proxies.get("all")
    if not given or proxy_bypass(authority):
        return None
    url = urlsplit(given if "://" in given else f"http://{given}")
    if url.scheme != "http" or not url.hostname:
        raise ValueError("the proxy of the environment must be an http:// URL")
    return Proxy(url.hostname, url.port or _PORTS["http"], _basic(url))


def _basic(url: SplitResult) -> str:
    if url.username is None:
        return ""
    credentials = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return f"Basic {b64encode(credentials.encode()).decode()}"
