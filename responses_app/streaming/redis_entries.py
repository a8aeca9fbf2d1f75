"""How a log lies in Redis: keys, entries, messages, and the scripts that change it. Not here: who calls them.

``mirobody:log:{response_id}`` is a stream, and a pub/sub channel on which each of its entries is published as well.
An entry is one stretch of frames: ``p`` is ``"{first} {end} {kind}\\n"`` and the frames, joined, numbered from
``first`` to below ``end``. Its id is ``{end}-0``, so that a number is a position in the stream and a stretch cannot
be there twice. The highest possible id ends the stream: its kind is ``.``, and ``a`` holds the answer,
``"{status}\\n"`` and the body, which is also published on the channel ``mirobody:log:{response_id}:end``. The first
entry is empty and carries the time to live, so that no stream is ever without one.
``mirobody:log:{response_id}:stop`` is there when the turn is asked to end.

What happens to a log happens in a script, whole or not at all: nothing is published of a log that is gone.
"""

from typing import NamedTuple

from responses_app.streaming.event_log import Answer

END = b"18446744073709551615-18446744073709551615"
GONE = b"-"
"""Published on both channels when the log was discarded."""

GOES_ON, ENDS = b"+", b"."


class Entry(NamedTuple):
    """One stretch of frames, and whether it is the last."""

    first: int
    end: int
    last: bool
    frames: bytes


def log_key(response_id: str) -> bytes:
    """The stream, and the channel of its entries."""
    return f"mirobody:log:{response_id}".encode()


def end_channel(response_id: str) -> bytes:
    """The channel of the answer alone, for those who do not read the frames."""
    return log_key(response_id) + b":end"


def stop_key(response_id: str) -> bytes:
    """Is there when the turn is asked to end."""
    return log_key(response_id) + b":stop"


def entry_id(end: int) -> bytes:
    """The id of the entry whose frames end before number ``end``."""
    return b"%d-0" % end


def pack_entry(first: int, end: int, last: bool, frames: bytes) -> bytes:
    """What ``unpack_entry`` reads."""
    return b"%d %d %b\n%b" % (first, end, ENDS if last else GOES_ON, frames)


def unpack_entry(packed: bytes) -> Entry:
    """The entry in a stream's ``p`` or in a message."""
    head, _, frames = packed.partition(b"\n")
    first, end, kind = head.split(b" ")
    return Entry(int(first), int(end), kind == ENDS, frames)


def pack_answer(answer: Answer) -> bytes:
    """What ``unpack_answer`` reads."""
    return b"%d %b\n%b" % (answer.status, answer.retry_after.encode(), answer.body)


def unpack_answer(packed: bytes) -> Answer:
    """The answer in a stream's ``a`` or in a message."""
    head, _, body = packed.partition(b"\n")
    status, _, retry_after = head.partition(b" ")
    return Answer(int(status), body, retry_after.decode())


OPEN = """
-- KEYS log; ARGV lifetime, entry or '', its id
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('XADD', KEYS[1], '0-1', 'p', '')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
if ARGV[2] ~= '' then
    redis.call('XADD', KEYS[1], ARGV[3], 'p', ARGV[2])
    redis.call('PUBLISH', KEYS[1], ARGV[2])
end
return 1
"""

ADDED, MISSING, ENDED = 1, 0, -1
ADD_ARGUMENTS = 5
ADD = """
-- KEYS logs; ARGV for each: id, entry, id to trim below or '', answer or '', how long to keep it then
local end_id = '18446744073709551615-18446744073709551615'
local results = {}
for i, key in ipairs(KEYS) do
    local at = (i - 1) * 5
    local id, entry, trim, answer, keep = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
    local added
    if answer == '' then
        added = redis.pcall('XADD', key, 'NOMKSTREAM', id, 'p', entry)
    else
        added = redis.pcall('XADD', key, 'NOMKSTREAM', id, 'p', entry, 'a', answer)
    end
    if not added then
        results[i] = 0
    elseif type(added) == 'table' then
        -- Refused since a later entry is there: the same, added before its answer was lost, or the end.
        if not string.find(added.err, 'equal or smaller', 1, true) then return added end
        results[i] = #redis.call('XRANGE', key, end_id, end_id) > 0 and -1 or 1
    else
        if trim ~= '' then redis.call('XTRIM', key, 'MINID', trim) end
        redis.call('PUBLISH', key, entry)
        if answer ~= '' then
            redis.call('PUBLISH', key .. ':end', answer)
            redis.call('PEXPIRE', key, keep)
            redis.call('DEL', key .. ':stop')
        end
        results[i] = 1
    end
end
return results
"""

RESTORE = """
-- KEYS log; ARGV lifetime, message or '', then ids and entries
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('XADD', KEYS[1], '0-1', 'p', '')
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
for i = 3, #ARGV, 2 do
    -- What is there already was restored before the answer was lost.
    local added = redis.pcall('XADD', KEYS[1], ARGV[i], 'p', ARGV[i + 1])
    if type(added) == 'table' and not string.find(added.err, 'equal or smaller', 1, true) then return added end
end
if ARGV[2] ~= '' then redis.call('PUBLISH', KEYS[1], ARGV[2]) end
return 1
"""

LOOK = """
-- KEYS logs; for each: milliseconds to live, -2 when it is gone, and whether a stop is asked for
local found = {}
for i, key in ipairs(KEYS) do
    found[2 * i - 1] = redis.call('PTTL', key)
    found[2 * i] = redis.call('EXISTS', key .. ':stop')
end
return found
"""

EXTEND = """
-- KEYS logs; ARGV lifetime
local end_id = '18446744073709551615-18446744073709551615'
for _, key in ipairs(KEYS) do
    if #redis.call('XRANGE', key, end_id, end_id) == 0 then
        redis.call('PEXPIRE', key, ARGV[1])
        redis.call('PEXPIRE', key .. ':stop', ARGV[1])
    end
end
return 1
"""

DISCARD = """
-- KEYS log
redis.call('PUBLISH', KEYS[1], '-')
redis.call('PUBLISH', KEYS[1] .. ':end', '-')
return redis.call('DEL', KEYS[1], KEYS[1] .. ':stop')
"""

DISCARD_ENDED = """
-- KEYS log
local end_id = '18446744073709551615-18446744073709551615'
if #redis.call('XRANGE', KEYS[1], end_id, end_id) == 0 then return 0 end
return redis.call('DEL', KEYS[1], KEYS[1] .. ':stop')
"""

REQUEST_STOP = """
-- KEYS log
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('SET', KEYS[1] .. ':stop', '1', 'PX', left) end
return left
"""
