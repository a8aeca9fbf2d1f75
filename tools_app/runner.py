"""Runs one tool: checks the arguments against its schema, then calls it. Which tools there are is in registry.py."""

from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError

from tools_app.contract import Arguments, ToolContext, ToolResult, ToolSpec, TryDifferently


def run_tool(spec: ToolSpec, context: ToolContext, arguments: Arguments) -> ToolResult:
    """The tool's result for these arguments; one that is null counts as absent.

    Raises TryDifferently when they do not fit its schema, in words that do not repeat them, and what the tool raises.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        error = next(Draft202012Validator(spec.parameters).iter_errors(given), None)
    except ValueError:
        raise TryDifferently("The arguments are nested too deeply.") from None
    if error is not None:
        raise TryDifferently(_in_words(error, spec))
    return spec.run(context, given)


def _in_words(error: ValidationError, spec: ToolSpec) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f"`{part}`" for part in error.instance_path)
    if not where:
        known = ", ".join(spec.parameters.get("properties", {})) or "none"
        required = ", ".join(spec.parameters.get("required", [])) or "none"
        return f"Unknown or missing arguments. Known: {known}. Required: {required}."
    keyword = ""
    value: Any = spec.parameters
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
