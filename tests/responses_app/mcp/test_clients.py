"""MCP servers named as users of real clients name them."""

import openai
from agents import Agent, HostedMCPTool, OpenAIResponsesModel, RunConfig, Runner

from tests.responses_app.api.conftest import Script
from tests.support.mcp_servers import Lab
from tests.support.server import Account
from tests.support.upstream import Call, Step

STEPS = (Step(calls=[Call("mcp__lab__echo", {"text": "A word."})]), Step(text=["Done."]))


def test_openai(account: Account, script: Script, lab: Lab) -> None:
    client = openai.OpenAI(base_url=f"{account.base_url}/v1", api_key=account.key)
    response = client.responses.create(
        model="mirobody-flash",
        input=script(*STEPS),
        tools=[{"type": "mcp", "server_label": "lab", "server_url": lab.url, "headers": {"X-Key": "a-secret-key"}}],
    )
    assert response.output_text == "Done."
    (tool,) = response.tools
    assert tool.type == "mcp"
    assert (tool.server_label, tool.headers, tool.authorization) == ("lab", None, None)
    assert {headers["x-key"] for headers in lab.headers} == {"a-secret-key"}


def test_openai_agents(account: Account, script: Script, lab: Lab) -> None:
    client = openai.AsyncOpenAI(base_url=f"{account.base_url}/v1", api_key=account.key)
    hosted = HostedMCPTool(
        tool_config={"type": "mcp", "server_label": "lab", "server_url": lab.url, "require_approval": "never"}
    )
    model = OpenAIResponsesModel(model="mirobody-flash", openai_client=client)
    agent = Agent(name="Assistant", model=model, tools=[hosted])
    result = Runner.run_sync(agent, script(*STEPS), run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "Done."
    assert "POST" in lab.methods
