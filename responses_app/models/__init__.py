"""The rows of the Agent API: columns, constraints, indexes. Reads are in selectors.py, writes in services/."""

from responses_app.models.conversation import Conversation
from responses_app.models.harness_file import HarnessFile
from responses_app.models.pending_call import PendingCall
from responses_app.models.record_source import RecordSource
from responses_app.models.response import Response
from responses_app.models.session import Session

__all__ = ["Conversation", "HarnessFile", "PendingCall", "RecordSource", "Response", "Session"]
