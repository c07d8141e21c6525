"""The description of the API (OpenAPI 3.1), made of the table of routes."""

from collections.abc import Sequence
from typing import Any

from dibs.queues.remote.wire import KINDS as ERRORS
from dibs.serve.answers import ANSWERS, SCHEMAS
from dibs.serve.asked import KINDS, Field
from dibs.serve.routes import EVERYWHERE, PREFIX, ROUTES, SEARCH, TASK, Route

_PLACES = (
    ("/healthz", "the daemon runs", "application/json", True),
    ("/readyz", "every queue behind it answers", "application/json", True),
    ("/metrics", "what was counted, for Prometheus", "text/plain", False),
)


def describe(version: str) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {
        PREFIX: {
            "get": {"operationId": "queues", "summary": "the queues that are served", "responses": _answers("queues")}
        }
    }
    for path, what, kind, open_to_all in _PLACES:
        operation: dict[str, Any] = {"operationId": path[1:], "summary": what, "responses": _answers(path[1:], kind)}
        paths[path] = {"get": {**operation, "security": []} if open_to_all else operation}
    paths[EVERYWHERE] = {
        "get": {
            "operationId": "search-everywhere",
            "summary": "tasks of all queues by their words and fields",
            "parameters": [_parameter(field) for field in SEARCH],
            "responses": _answers("search-everywhere"),
        }
    }
    for route in ROUTES:
        path = f"{PREFIX}/{{queue}}{route.path}"
        paths.setdefault(path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dibs", "version": version, "description": "Queues served by a dibs daemon."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                **SCHEMAS,
                "NewTask": _object(TASK),
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {
                        "error": {
                            "type": "object",
                            "required": ["kind", "message"],
                            "properties": {"kind": {"enum": sorted(ERRORS)}, "message": {"type": "string"}},
                        }
                    },
                },
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    named = ["queue", *(["ref"] if "{ref}" in route.path else [])]
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.what,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in named),
            *map(_parameter, route.query),
        ],
        "responses": _answers(route.name, "text/plain" if route.raw else "application/json"),
    }  # fmt: skip
    if route.method == "POST":
        required = any(field.required for field in route.body)
        schema = _object(route.body)
        if route.name == "push":
            schema["properties"]["tasks"] = {"type": "array", "items": {"$ref": "#/components/schemas/NewTask"}}
        operation["requestBody"] = {"required": required, "content": {"application/json": {"schema": schema}}}
    return operation


def _parameter(field: Field) -> dict[str, Any]:
    said = {"name": field.name, "in": "query", "required": field.required, "description": field.what}
    return {**said, "schema": KINDS[field.kind][0]}


def _object(fields: Sequence[Field]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field.name: {**KINDS[field.kind][0], "description": field.what} for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def _answers(name: str, kind: str = "application/json") -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    codes = sorted({status for _, status in ERRORS.values()})
    return {
        "200": {
            "description": "done",
            "content": {kind: {"schema": ANSWERS.get(name, {"type": "string"})}},
        },
        **{str(status): {"description": "refused", "content": error} for status in codes},
    }
