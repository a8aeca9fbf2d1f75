"""Links of the OpenAPI document: what goes on with what an operation gave. Source: OpenAPI 3.1, Link Object."""

from typing import Any

_RESPONSE = {"path.response_id": "$response.body#/id"}
_OF_RESPONSE = ("retrieveResponse", "deleteResponse", "cancelResponse", "listInputItems")
_LINKS: dict[str, dict[str, dict[str, str]]] = {
    "createResponse": dict.fromkeys(_OF_RESPONSE, _RESPONSE),
    "writeRecords": {name: {"path.session_id": "$request.body#/session_id"} for name in ("listSession", "endSession")},
    "listRecords": {
        "readObservation": {"path.resource": "$response.body#/data/0/fhir_resource_id"},
        "deleteRecords": {"query.id": "$response.body#/data/0/id"},
    },
    "listModels": {"retrieveModel": {"path.model": "$response.body#/data/0/id"}},
    "changeSubject": {name: {"path.user": "$request.path.user"} for name in ("readSubject", "eraseSubject")},
}


def linked(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The document with its links."""
    operations = (operation for path in result["paths"].values() for operation in path.values())
    for operation in operations:
        if links := _LINKS.get(operation["operationId"]):
            operation["responses"]["200"]["links"] = {
                name: {"operationId": name, "parameters": parameters} for name, parameters in links.items()
            }
    return result
