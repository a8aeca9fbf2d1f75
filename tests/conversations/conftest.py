"""What tests of stored conversations share: the scripted model behind the server, marked text and where it stands."""

from tests.conversations.stores import markers, stores
from tests.responses_app.api.conftest import script, scripted_model
from tests.support.clock import clock
from tests.support.redis_server import redis_server, shared_redis_server

__all__ = ["clock", "markers", "redis_server", "script", "scripted_model", "shared_redis_server", "stores"]
