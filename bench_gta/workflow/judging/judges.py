"""A judge for use outside a run: for prediction files and packs of other agents."""

from __future__ import annotations

from collections.abc import Sequence

from agentgauge.core.chat import ChatReply, ChatRequest, Message, Sampling
from agentgauge.core.config import Config
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.types import Usage
from agentgauge.model.client import OpenAIModel
from agentgauge.model.presets import resolve
from bench_gta.workflow.judging import prompts
from bench_gta.workflow.judging.cache import USER, open_judgements
from bench_gta.workflow.judging.judge import RULES, UPSTREAM_TEMPERATURE, Judge, ModelJudge, RulesJudge

USUAL = Sampling(temperature=UPSTREAM_TEMPERATURE)


def identity_of(fingerprint: str) -> list[str | float | None]:
    """The identity of a judge model, besides its prompt, for the cache: runs and packs share it."""
    return [fingerprint, USUAL.temperature]


class ManagedJudge:
    """A judge with a client of its own. ``close`` it in the event loop that used it."""

    def __init__(self, judge: Judge, model: OpenAIModel | None, votes: int = 1) -> None:
        self.judge = judge
        self._votes = votes
        self._model = model
        self._usage = Usage()

    def spent(self) -> Usage:
        """The judge's usage so far."""
        return self._usage

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()

    async def introduce(self) -> str:
        """What the endpoint calls its model, from one short request. Raises ModelFault."""
        return (await self.ask([{"role": "user", "content": "Reply with the word OK."}], 0)).model

    async def ask(self, messages: Sequence[Message], draw: int) -> ChatReply:
        """Raises ModelFault."""
        assert self._model is not None
        repeated = self._votes > 1 or draw > 0
        request = ChatRequest(messages=tuple(messages), usual=USUAL, seed=draw, repeated=repeated)
        try:
            reply = await self._model.complete(request)
        except ModelFault as fault:
            self._usage += fault.usage
            raise
        self._usage += reply.usage
        return reply


def make_judge(name: str, *, votes: int = 1, cache: str = USER, released: bool = True, config: Config) -> ManagedJudge:
    """``name``: ``rules`` or a model. ``cache``: see ``open_judgements``. ``released``: see ModelJudge. Raises
    UsageProblem for a model that is not known, or whose key is missing."""
    if name == RULES:
        return ManagedJudge(RulesJudge(), None)
    spec = resolve(name, url=None, config=config)
    if spec.embedded:
        instead = f"name {RULES!r} or a model of an endpoint"
        raise UsageProblem(f"the judge {name!r} is an embedded model, which only a run can serve; {instead}")
    model = OpenAIModel(spec)
    made = ManagedJudge(RulesJudge(), model, votes)
    made.judge = ModelJudge(
        model.name,
        made.ask,
        template=prompts.load_template(config.prompts),
        identity=identity_of(model.fingerprint),
        introduce=made.introduce,
        votes=votes,
        released=released,
        judgements=open_judgements(cache),
    )
    return made
