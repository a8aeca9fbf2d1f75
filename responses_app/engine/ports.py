"""What the turn needs from outside: a model and a runner of server tools. They are made in llm/ and services/."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mirobody_site.tenancy.errors import ApiError, UpstreamError
from responses_app.engine.conversation import Call, Entry
from tools_app.contract import RecordsUsed


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model is told of it. ``server`` tells the server's own tools from the caller's."""

    name: str
    description: str
    parameters: dict[str, Any]
    server: bool


@dataclass(frozen=True, slots=True)
class NamedTool:
    """The choice of one tool."""

    name: str


ToolChoice = Literal["auto", "required"] | NamedTool


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a caller asks of an inference besides its words; ``None`` leaves it to the provider.

    ``max_output_tokens`` counts reasoning too; ``top_logprobs`` is how many others come with each token's logprob.
    ``retry_when_limited``: a rate limit is waited out rather than told.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    effort: str | None = None
    top_logprobs: int | None = None
    parallel_calls: bool = True
    retry_when_limited: bool = True


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """JSON that the answer has to be: what fits ``schema``, or without one any object."""

    schema: Mapping[str, Any] | None = None
    name: str = ""
    description: str = ""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One inference. ``model`` is the tier (``mirobody-flash`` or ``mirobody-expert``).

    ``system`` is the system text; ``entries`` the conversation, the current turn included. ``timeout`` is what is left
    of the turn, in seconds. ``today`` is the Subject's date, ISO 8601. ``stop_requested`` tells, from any thread, that
    nobody waits for the answer any more. ``format`` is asked for in the provider's own way; without ``thinking`` the
    model is kept from it where the provider has a switch. ``summarizes``: the entries are not to be gone on with, but
    to be summarized as ``system`` says.
    """

    model: str
    system: str
    entries: Sequence[Entry]
    tools: Sequence[ToolDefinition]
    tool_choice: ToolChoice
    timeout: float
    today: str
    stop_requested: Callable[[], bool] = lambda: False
    sampling: Sampling = Sampling()
    format: OutputFormat | None = None
    thinking: bool = True
    summarizes: bool = False


Refusable = Literal["tool_choice", "format", "max_tokens", "context"]
"""What of a request can be asked for in another way when a provider refuses it; ``max_tokens`` by the back end itself,
``context`` (all it has to read) by less of it.
"""


LogProb = dict[str, Any]
"""``{"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}``."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer; never empty. ``logprobs`` of its tokens where they were asked for."""

    text: str
    logprobs: Sequence[LogProb] = ()


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of reasoning; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class CallMade:
    """A whole tool call, in the order the model made it. ``arguments`` is what the model wrote, valid JSON or not."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The provider's own count for this inference, in tokens. Never sent by a back end that has none."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The inference is over. ``length``: at a token limit; ``content_filter``: the provider withheld the rest."""

    reason: Literal["stop", "tool_calls", "length", "content_filter"]


ModelEvent = TextDelta | ReasoningDelta | CallMade | UsageReported | Stopped


class ModelFault(UpstreamError):
    """A fault of a model, in words that hold nothing of the provider's.

    ``for_caller`` is what the caller of a bare inference is told instead: there the provider's refusal of the request
    is the caller's to mend. ``about`` names what of the request the provider refused, as far as it said.
    """

    def __init__(
        self, message: str, *, for_caller: ApiError | None = None, about: Collection[Refusable] = frozenset()
    ) -> None:
        super().__init__(message)
        self.for_caller = for_caller
        self.about = about


class ModelBackend(Protocol):
    """A language model, or what stands in for one."""

    def stream(self, call: ModelCall) -> Generator[list[ModelEvent], None, None]:
        """Yields events in batches that arrived together, at once as they come; exactly one ``Stopped`` comes last.

        Closing the iterator stops the inference and frees its connection. So does ``call.stop_requested`` while the
        model is silent, within about half a second. Raises ``ModelFault`` for that and for a provider's fault.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a server tool gave: ``data`` is a JSON value. ``evidence`` names the response field it feeds,
    ``records`` the health records it came from, ``steps`` the calls of other tools it made on its way.
    ``own_words``: what a model wrote is in it, so that it supports no figure of an answer.
    """

    data: Any
    failed: bool = False
    empty: bool = False
    records: tuple[RecordsUsed, ...] = ()
    evidence: Literal["health_records", "citations"] | None = None
    steps: "tuple[ToolStep, ...]" = ()
    own_words: bool = False


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One call of a server tool and what came of it."""

    call: Call
    arguments: Mapping[str, Any]
    outcome: ToolOutcome

    def with_inner(self) -> "list[ToolStep]":
        """This step, then those it made on its way, theirs included."""
        return [self, *(each for step in self.outcome.steps for each in step.with_inner())]


class ToolRunner(Protocol):
    """Runs the server's tools for one turn. Never raises: a failing tool is an outcome."""

    def definitions(self) -> Sequence[ToolDefinition]:
        """The server tools this turn may use."""
        ...

    def run_all(
        self, calls: Sequence[tuple[str, Mapping[str, Any]]], timeout: float
    ) -> Iterator[tuple[int, ToolOutcome]]:
        """Runs ``(name, arguments)`` pairs side by side; yields each one's index and outcome as it lands.

        Every call gets an outcome within ``timeout`` seconds: one that takes longer has failed.
        """
        ...
