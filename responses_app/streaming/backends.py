"""Which event log, request slots and twins this process uses. Not here: how each works."""

from functools import cache

from django.conf import settings

from responses_app.streaming.event_log import EventLog
from responses_app.streaming.handover import InProcessRequestSlots, RedisRequestSlots, RequestSlots
from responses_app.streaming.in_process import InProcessEventLog
from responses_app.streaming.redis_log import RedisEventLog
from responses_app.streaming.twins import InProcessTwins, RedisTwins, Twins


@cache
def event_log() -> EventLog:
    """The process's one event log: in Redis when ``REDIS_URL`` is set, else in memory."""
    return RedisEventLog(settings.REDIS_URL) if settings.REDIS_URL else InProcessEventLog()


@cache
def request_slots() -> RequestSlots:
    """The process's one set of request slots: in Redis when ``REDIS_URL`` is set, else in memory."""
    return RedisRequestSlots(settings.REDIS_URL) if settings.REDIS_URL else InProcessRequestSlots()


@cache
def request_twins() -> Twins:
    """The process's one set of twins: in Redis when ``REDIS_URL`` is set, else in memory."""
    return RedisTwins(settings.REDIS_URL) if settings.REDIS_URL else InProcessTwins()
