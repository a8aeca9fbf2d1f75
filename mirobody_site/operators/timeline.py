"""A conversation's turns as its page shows them: read in a fixed number of queries, whatever the page holds.

What one turn shows is turn_view.py; who may see it is the page's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from mirobody_site.operators.record_views import RecordsBehind, records_behind
from mirobody_site.operators.turn_view import TurnView, turn_view
from responses_app.models import Conversation, PendingCall, Response
from responses_app.services.leave_behind import bodies_without_gone

TURNS_A_PAGE = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands: its number in the order of times, from 1, and what it continues and is continued by."""

    number: int
    response_id: str
    previous_id: str | None
    created_at: datetime
    continuations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """One way through the tree: its last turn, and how many turns lead there."""

    last: Place
    length: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A turn that another one refers to, and where it is shown."""

    number: int
    response_id: str
    page: int


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn of the page with its neighbours in the tree."""

    place: Place
    view: TurnView
    continues: Neighbour | None
    continued_by: list[Neighbour]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One page of a conversation. ``branches`` is empty when there is only one way; ``branch`` is the chosen one."""

    turns: list[ShownTurn]
    total: int
    page: int
    pages: int
    branches: list[Branch]
    branch: str | None
    before: int | None
    after: int | None


def timeline_of(conversation: Conversation, page: int, turn: str | None, branch: str | None) -> Timeline:
    """The page with number ``page``, or the one that holds ``turn``. ``branch``: only what leads to this response."""
    tree = _Tree(conversation)
    shown = tree.branch_to(branch) if branch in tree.places else tree.in_order
    pages = max(1, -(-len(shown) // TURNS_A_PAGE))
    found = next((index for index, place in enumerate(shown) if place.response_id == turn), None)
    page = found // TURNS_A_PAGE + 1 if found is not None else min(max(1, page), pages)
    places = shown[(page - 1) * TURNS_A_PAGE : page * TURNS_A_PAGE]
    page_of = {place.response_id: index // TURNS_A_PAGE + 1 for index, place in enumerate(shown)}
    return Timeline(
        turns=_shown(places, tree, page_of),
        total=len(shown),
        page=page,
        pages=pages,
        branches=tree.branches() if len(tree.leaves) > 1 else [],
        branch=branch if branch in tree.places else None,
        before=_neighbouring(conversation, "-pk", pk__lt=conversation.pk),
        after=_neighbouring(conversation, "pk", pk__gt=conversation.pk),
    )


def _neighbouring(conversation: Conversation, order: str, **beyond: int) -> int | None:
    others = Conversation.objects.filter(subject_id=conversation.subject_id, **beyond)
    return others.order_by(order).values_list("pk", flat=True).first()


class _Tree:
    """All turns of a conversation, without what they say."""

    def __init__(self, conversation: Conversation) -> None:
        rows = Response.objects.filter(conversation=conversation).order_by("created_at", "pk")
        known = list(rows.values_list("pk", "previous_id", "created_at"))
        children: dict[str, list[str]] = defaultdict(list)
        for pk, previous_id, _ in known:
            if previous_id:
                children[previous_id].append(pk)
        self.in_order = [
            Place(number, pk, previous_id, created_at, tuple(children[pk]))
            for number, (pk, previous_id, created_at) in enumerate(known, 1)
        ]
        self.places = {place.response_id: place for place in self.in_order}
        self.leaves = [place for place in self.in_order if not place.continuations]

    def branch_to(self, response_id: str | None) -> list[Place]:
        """The turns from the conversation's start to this one."""
        chain: list[Place] = []
        step = self.places.get(response_id or "")
        while step is not None:
            chain.append(step)
            step = self.places.get(step.previous_id or "")
        return chain[::-1]

    def branches(self) -> list[Branch]:
        """The ways through the tree, the newest first."""
        depths: dict[str, int] = {}
        for place in self.in_order:
            depths[place.response_id] = depths.get(place.previous_id or "", 0) + 1
        return [Branch(leaf, depths[leaf.response_id]) for leaf in reversed(self.leaves)]


def _shown(places: Sequence[Place], tree: _Tree, page_of: Mapping[str, int]) -> list[ShownTurn]:
    ids = [place.response_id for place in places]
    now = timezone.now()
    rows = Response.objects.select_related("account", "api_key").in_bulk(ids)
    bodies = bodies_without_gone(list(rows.values()), now)
    calls: dict[str, list[PendingCall]] = defaultdict(list)
    for call in PendingCall.objects.filter(response_id__in=ids).order_by("pk"):
        calls[call.response_id].append(call)
    behind = records_behind(ids, now)

    def neighbour(response_id: str | None) -> Neighbour | None:
        place = tree.places.get(response_id or "")
        page = page_of.get(response_id or "")
        return Neighbour(place.number, place.response_id, page) if place and page else None

    return [
        ShownTurn(
            place=place,
            view=turn_view(
                rows[place.response_id],
                bodies[place.response_id],
                calls[place.response_id],
                _answered_at(calls[place.response_id], tree),
                behind.get(place.response_id, _NOTHING),
                now,
            ),
            continues=neighbour(place.previous_id),
            continued_by=[found for each in place.continuations if (found := neighbour(each))],
        )
        for place in places
        # One may have gone since the tree was read.
        if place.response_id in rows
    ]


_NOTHING: Mapping[str, list[RecordsBehind]] = {}


def _answered_at(calls: Sequence[PendingCall], tree: _Tree) -> dict[str, datetime]:
    """When the responses that answer these calls were made, as far as they are stored."""
    answering = {call.claimed_by for call in calls}
    return {name: tree.places[name].created_at for name in answering if name in tree.places}
