"""Cases that begin with the same request wait for the first reply to it."""

from __future__ import annotations

from pathlib import Path

from tests.costs.billing import Till, serve
from tests.plugin.project import Project, run_wild


def test_tasks_of_a_session_wait_for_its_first_reply(tmp_path: Path) -> None:
    till = Till(latency=0.1)
    with serve(till) as server:
        env = {"OPENAI_API_KEY": "sk-of-nobody-1234", "OPENAI_BASE_URL": server.url}
        run_wild("--model=gpt-4o", "--limit=12", "--run-dir=run", cwd=tmp_path, env=env)
    firsts = [str(seen.body["messages"][0]) for seen in server.requests]
    sessions = len(set(firsts))
    assert 1 < sessions < len(firsts) - till.counts["useless"]
    assert till.uncached == sessions


def test_attempts_wait_for_the_first_reply_about_their_sample(tmp_path: Path) -> None:
    project = Project.make(tmp_path, samples=5)
    till = Till(latency=0.1)
    with serve(till) as server:
        result = project.run("--model=m", f"--model-url={server.url}", "--attempts=4", "--run-dir=run")
    assert result.status == 0, result.output
    usage = result.summary("run")["usage"]
    assert usage["cached_tokens"] == till.counts["cached_tokens"]
    fresh = usage["prompt_tokens"] - usage["cached_tokens"]
    assert till.counts["useless"] == 0 and usage["requests"] == 20
    # one full prompt a sample; of the others what is not the first message
    assert fresh < 0.35 * usage["prompt_tokens"]
    assert "% of the prompt tokens came from the server's cache" in result.output
