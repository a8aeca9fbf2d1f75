"""A validated request for a turn, as a value: who asks, what, and what a retry of it is known by. Starts nothing."""

from dataclasses import dataclass

from mirobody_site.tenancy.idempotency import IdempotencyKey
from mirobody_site.tenancy.models import ApiKey
from responses_app.protocol.request import ResponseRequest


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. ``equal_to`` is what equal requests of one key have in common, ``again`` whether the client says that
    it asks again; with an ``idempotency_key`` neither counts. ``compacts``: its conversation is to be summarized."""

    key: ApiKey
    user: str | None
    request: ResponseRequest
    side_channel: bool
    equal_to: str
    again: bool
    idempotency_key: IdempotencyKey | None
    compacts: bool = False

    @property
    def twin(self) -> str:
        """What its retries are known by."""
        return self.idempotency_key.key_hash if self.idempotency_key else self.equal_to
