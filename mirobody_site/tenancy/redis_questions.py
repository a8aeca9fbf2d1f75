"""Commands to Redis from an event loop, over one connection: what is asked at the same time goes together."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import redis

from mirobody_site.tenancy import redis_clients
from mirobody_site.tenancy.errors import ServerError
from mirobody_site.tenancy.redis_clients import FAULTS, async_client

_QUESTIONS_AT_ONCE = 50

Command = tuple[Any, ...]
_Asked = Sequence[tuple[Sequence[Command], "asyncio.Future[list[Any]]"]]


class RedisQuestions:
    """What one event loop asks the Redis at ``url``. Connects when there is something to ask."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._client = async_client(url)
        self._connection: Any = None
        self._waiting: list[tuple[Sequence[Command], asyncio.Future[list[Any]]]] = []
        self._asker: asyncio.Task[None] | None = None

    async def ask(self, *commands: Command) -> list[Any]:
        """The raw replies to ``commands``. Raises ``ServerError``."""
        answers: asyncio.Future[list[Any]] = self._loop.create_future()
        self._waiting.append((commands, answers))
        if self._asker is None:
            self._asker = self._loop.create_task(self._ask_all())
        return await answers

    async def close(self) -> None:
        """Ends the connection until there is something to ask again."""
        connection, self._connection = self._connection, None
        if connection:
            await connection.disconnect(nowait=True)

    async def _ask_all(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting[:_QUESTIONS_AT_ONCE], self._waiting[_QUESTIONS_AT_ONCE:]
                await self._ask_together([(commands, answers) for commands, answers in asked if not answers.done()])
        finally:
            self._asker = None

    async def _ask_together(self, asked: _Asked) -> None:
        try:
            async with asyncio.timeout(redis_clients.TIMEOUT_SECONDS):
                replies = await self._round_trip([command for commands, _ in asked for command in commands])
        except FAULTS as error:
            await self.close()
            for _, answers in asked:
                _refuse(answers, error)
            return
        for commands, answers in asked:
            mine, replies = replies[: len(commands)], replies[len(commands) :]
            fault = next((reply for reply in mine if isinstance(reply, Exception)), None)
            if fault:
                _refuse(answers, fault)
            elif not answers.done():
                answers.set_result(mine)

    async def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        """The replies as Redis gives them. Half as dear as the client's own pipeline, which every caller pays."""
        connection = self._connection
        # Between two round trips there is nothing to read but the connection's end.
        if connection and await connection.can_read():
            await self.close()
            connection = None
        if connection is None:
            connection = self._connection = cast(Any, self._client.connection_pool).make_connection()
            await connection.connect()
        await connection.send_packed_command(connection.pack_commands(commands))
        replies: list[Any] = []
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except redis.ResponseError as refused:
                replies.append(refused)
        return replies


class LoopQuestions:
    """``RedisQuestions`` for each event loop; a loop's connection is no use to another."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._by_loop: dict[asyncio.AbstractEventLoop, RedisQuestions] = {}

    def current(self) -> RedisQuestions:
        """The running loop's."""
        loop = asyncio.get_running_loop()
        questions = self._by_loop.get(loop)
        if questions is None:
            for other in [other for other in self._by_loop if other.is_closed()]:
                del self._by_loop[other]
            questions = self._by_loop[loop] = RedisQuestions(self._url)
        return questions


def _refuse(answers: "asyncio.Future[list[Any]]", fault: Exception) -> None:
    if not answers.done():
        error = ServerError()
        error.__cause__ = fault
        answers.set_exception(error)
