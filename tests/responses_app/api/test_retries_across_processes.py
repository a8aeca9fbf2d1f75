"""A retry finds the turn that it repeats when another web process took the first request."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.responses_app.api.conftest import Script, create_stream, redis_server, shared_redis_server, wait_until
from tests.support.process import server_process
from tests.support.redis_server import RedisServer
from tests.support.server import http_client
from tests.support.sse import open_stream
from tests.support.upstream import Step, Upstream

__all__ = ["redis_server", "shared_redis_server"]

LOST = "mirobody:twins:*:lost"


def test_stored_or_not(redis_server: RedisServer, script: Script, upstream: Upstream) -> None:
    shared = {"REDIS_URL": redis_server.url, "CELERY_BROKER_URL": "", "LLM_BASE_URL": upstream.url}
    with ExitStack() as stack:
        first = stack.enter_context(server_process(shared, seeded=False))
        second = stack.enter_context(server_process({**shared, "DATA_DIR": str(first.data)}, seeded=False))
        headers = {"Authorization": f"Bearer {first.key}"}
        one, other = (stack.enter_context(http_client(each.base_url, headers)) for each in (first, second))
        side = stack.enter_context(ThreadPoolExecutor(1))
        for store in (True, False):
            gate = threading.Event()
            mark = script(Step(text=["Well", gate, " done."]))
            body = {"input": f"Hi {mark}", "store": store}
            with open_stream(one, body) as live:
                live.until("response.output_text.delta")
            wait_until(lambda: list(redis_server.client.scan_iter(LOST)))
            stream = side.submit(create_stream, other, **body)
            wait_until(lambda: not list(redis_server.client.scan_iter(LOST)))
            gate.set()
            assert stream.result().text == "Well done."
            assert len(upstream.requests(mark)) == 1
