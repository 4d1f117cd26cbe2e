"""What the benchmark cases of this folder are solved with: the run's model, told something first, and tools of ours."""

import pytest

from agentgauge.tools import ToolError


@pytest.fixture(scope="session")
def model(model):
    """The model of ``--model``, told this before every conversation."""
    return model.with_system("Where a tool does not work, give the answer that you think most likely.")


@pytest.fixture(scope="session")
def tools():
    """In place of the run's real tools."""
    return OutOfOrder()


class OutOfOrder:
    name = "out of order"  # as records note it

    async def catalog(self):
        """The descriptions of the tools. Those of the data set stay where this has none."""
        return {}

    async def call(self, name, arguments, *, folder, readable):
        """What a tool returns. The model reads the text of a ToolError, and goes on."""
        raise ToolError(f"{name} is out of order")
