"""Runs one tool: checks the arguments against its schema, then calls it. Which tools there are is in registry.py."""

from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec, TryDifferently


def run_tool(spec: ToolSpec, context: ToolContext, arguments: Arguments) -> ToolResult:
    """The tool's result for these arguments.

    Raises TryDifferently when they do not fit its schema, and what the tool raises.
    """
    return spec.run(context, checked_arguments(spec.parameters, arguments))


def checked_arguments(parameters: dict[str, Any], arguments: Arguments) -> Arguments:
    """The arguments without those that are null, which count as absent.

    Raises TryDifferently when they do not fit the JSON Schema ``parameters``, in words that do not repeat them.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        error = next(Draft202012Validator(parameters).iter_errors(given), None)
    except ValueError:
        raise TryDifferently("The arguments are nested too deeply.") from None
    if error is not None:
        raise TryDifferently(_in_words(error, parameters))
    return given


def _in_words(error: ValidationError, parameters: dict[str, Any]) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f"`{part}`" for part in error.instance_path)
    if not where:
        known = ", ".join(parameters.get("properties", {})) or "none"
        required = ", ".join(parameters.get("required", [])) or "none"
        return f"Unknown or missing arguments. Known: {known}. Required: {required}."
    keyword = ""
    value: Any = parameters
    for step in error.schema_path:
        keyword, value = str(step), value[step]
    return f"{where} {_rule(keyword, value)}."


def _rule(keyword: str, value: Any) -> str:
    match keyword:
        case "type":
            return f"must be of type {value}"
        case "enum":
            return "must be one of: " + ", ".join(map(str, value))
        case "minimum":
            return f"must be at least {value}"
        case "maximum":
            return f"must be at most {value}"
        case "maxLength" | "maxItems":
            return f"is too long: at most {value}"
        case "minLength" | "minItems":
            return "must not be empty"
        case _:
            return "is not valid"
