"""The doors of /v1/models: what callers may choose from, told without a key as OpenAI's clients read it."""

from django.conf import settings
from django.http import HttpResponseBase, JsonResponse
from rest_framework.request import Request

from mirobody_site.tenancy.errors import NotFoundError
from mirobody_site.tenancy.http import AsyncApiView
from responses_app.api import described
from responses_app.protocol.model_listing import model_object


class ModelsView(AsyncApiView):
    """``/v1/models``."""

    authentication_classes = []

    @described.list_models
    async def get(self, request: Request) -> HttpResponseBase:
        """The tiers, the default one first."""
        tiers = settings.MODEL_CATALOGUE
        return JsonResponse({"object": "list", "data": [model_object(name, tier) for name, tier in tiers.items()]})


class ModelView(AsyncApiView):
    """``/v1/models/{model}``."""

    authentication_classes = []

    @described.retrieve_model
    async def get(self, request: Request, model: str) -> HttpResponseBase:
        """One tier."""
        tier = settings.MODEL_CATALOGUE.get(model)
        if tier is None:
            raise NotFoundError("There is no such model.")
        return JsonResponse(model_object(model, tier))
