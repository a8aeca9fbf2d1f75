"""Static files with debug off: WhiteNoise, fitted to stand in front of asynchronous views."""

from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware


class AsyncWhiteNoiseMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # it has no types
    """WhiteNoise as asynchronous middleware; its own runs every request below it in a thread."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        super().__init__(get_response)
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        static_file = self.find_file(request.path_info) if self.autorefresh else self.files.get(request.path_info)
        if static_file is None:
            response: HttpResponseBase = await self.get_response(request)
            return response
        return await sync_to_async(self._read)(static_file, request)

    def _read(self, static_file: object, request: HttpRequest) -> HttpResponse:
        # Read whole: Django would drain a file's iterator in a thread, with a warning each time.
        streamed = self.serve(static_file, request)
        response = HttpResponse(b"".join(streamed), status=streamed.status_code, headers=dict(streamed.headers))
        streamed.close()
        return response
