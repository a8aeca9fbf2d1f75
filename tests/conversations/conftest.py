"""What tests of stored conversations share with the tests of the Agent API: the scripted model behind the server."""

from tests.responses_app.api.conftest import script, scripted_model
from tests.support.clock import clock

__all__ = ["clock", "script", "scripted_model"]
