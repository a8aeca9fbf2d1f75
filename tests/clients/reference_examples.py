"""The programs of the product's reference documents as they stand there, run with another base URL and key."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.process import ServerProcess

DOCUMENTED_BASE = "https://api.mirobody.ai/v1"
DOCUMENTED_KEY = "mb_live_..."
PROGRAM_SECONDS = 60

AGENT_WITH_TOOL = '''\
from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI

set_default_openai_client(AsyncOpenAI(
    base_url="https://api.mirobody.ai/v1", api_key="mb_live_..."))
set_tracing_disabled(True)

@function_tool
def book_appointment(date: str) -> str:
    """Book a clinic appointment for the end user (ISO date)."""
    return f"Booked: {date} 09:30, Dr. Chen"

agent = Agent(
    name="Health assistant",
    model="mirobody-flash",
    instructions="Check real health data before acting.",
    tools=[book_appointment],
    model_settings=ModelSettings(extra_body={"user": "alice"}),  # tenant isolation — REQUIRED
)
result = Runner.run_sync(agent, "Check my recent glucose and book a follow-up if it's trending up.")
print(result.final_output)
'''

AGENT_WITHOUT_TOOL = """\
from agents import Agent, ModelSettings, Runner, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI

set_default_openai_client(AsyncOpenAI(
    base_url="https://api.mirobody.ai/v1", api_key="mb_live_..."))
set_tracing_disabled(True)

agent = Agent(name="Health assistant", model="mirobody-flash",
              model_settings=ModelSettings(extra_body={"user": "alice"}))
print(Runner.run_sync(agent, "How is my fasting glucose trending?").final_output)
"""

OPENAI_CREATE = """\
from openai import OpenAI

client = OpenAI(api_key="mb_live_...", base_url="https://api.mirobody.ai/v1")

resp = client.responses.create(
    model="mirobody-flash",
    input="How is my fasting glucose trending?",
    user="alice",
)
print(resp.output_text)
"""


def run_example(program: str, server: ServerProcess) -> str:
    """What the program prints when it runs in a process of its own against ``server``."""
    assert DOCUMENTED_BASE in program
    assert DOCUMENTED_KEY in program
    changed = program.replace(DOCUMENTED_BASE, server.api_base).replace(DOCUMENTED_KEY, server.key)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example.py"
        path.write_text(changed)
        run = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False
        )
    assert run.returncode == 0, run.stderr
    return run.stdout
