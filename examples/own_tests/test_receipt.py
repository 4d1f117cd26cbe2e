"""Tests of a model that uses tools, real ones and a function of the project's own."""


def add_tip(total: float) -> float:
    """Add a tip of ten percent to a total."""
    return round(1.1 * total, 2)


def test_the_tool_reads_the_receipt(tools, receipt):
    assert "10.60" in tools.OCR(image=receipt)


def test_the_model_reads_the_receipt(model, tools, receipt):
    reply = model.ask("Which text is in this picture?", tools=[tools.OCR], files=[receipt])
    assert [call.name for call in reply.calls] == ["OCR"]
    assert "10.60" in reply.calls[0].result


def test_the_model_adds_a_tip(model):
    reply = model.ask("Add a tip to a total of 10.60.", tools=[add_tip])
    assert [(call.arguments, call.result) for call in reply.calls] == [({"total": 10.6}, "11.66")]
