"""A key in the environment appears nowhere."""

from __future__ import annotations

import json

from tests.model.fault_server import answer, echo_authorization, tool_call
from tests.plugin.conftest import say
from tests.plugin.project import run_gta

KEY = "sk-test-a1b2c3d4e5f6g7h8"


def leaks(folder) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_key_is_sent_to_the_endpoint_and_written_nowhere(project, endpoint):
    endpoint.choose = lambda request: echo_authorization() if "word4" in request.body["messages"][-1]["content"] else say(request)
    (project.path / "agentgauge.toml").write_text(f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\nkey_env = "MY_KEY"\n')
    result = project.run(
        "--model", "m", "--record", "tape.jsonl", "--alluredir", "allure", "--run-dir", "run", "-v", "-rA", "--showlocals",
        env={"MY_KEY": KEY},
    )  # fmt: skip
    assert {request.headers["authorization"] for request in endpoint.requests} == {f"Bearer {KEY}"}
    assert result.status == 1  # word4 is broken: the endpoint refused the key and quoted it
    assert KEY not in result.output
    assert leaks(project.path) == []


def test_code_that_a_model_wrote_sees_no_key(tmp_path, endpoint):
    """The model asks the real Solver for the environment of the code."""
    code = "import os\ndef solution():\n    return dict(os.environ)"
    call = tool_call("Solver", json.dumps({"command": f"```python\n{code}\n```"}))
    endpoint.choose = None
    endpoint.script = [answer(None, tool_calls=[call]), answer("done")]
    result = run_gta(
        "-k", "Solver", "-m", "gta_atomic_e2e", "--in-flight", "1", "--model", "m", "--model-url", endpoint.url, "--run-dir", "run",
        cwd=tmp_path, env={"AGENTGAUGE_API_KEY": KEY, "SERPER_API_KEY": KEY},
    )  # fmt: skip
    told = [message["content"] for request in endpoint.requests for message in request.body["messages"] if message["role"] == "tool"]
    assert any("PATH" in text for text in told), (told, result)
    assert KEY not in json.dumps(told)
    assert leaks(tmp_path) == []
