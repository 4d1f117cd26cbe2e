"""OpenTelemetry spans by the conventions for generative AI: a case, below it its requests and its calls of tools."""

from opentelemetry.trace import SpanKind, StatusCode, get_tracer, set_span_in_context

tracer = get_tracer("agentgauge")
spans = {}  # of the cases that run, by id


def pytest_agentgauge_case_started(case):
    names = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": case.model.name}
    names |= {"test.suite.name": case.sample.task, "test.case.name": case.sample.id}
    spans[case.id] = tracer.start_span(f"invoke_agent {case.model.name}", attributes=names)


def pytest_agentgauge_reply(case, reply, event):
    tokens = {"input_tokens": reply.usage.prompt_tokens, "output_tokens": reply.usage.completion_tokens}
    exchange(spans[case.id], event, {f"gen_ai.usage.{name}": count for name, count in tokens.items()})


def pytest_agentgauge_tool_result(case, event):
    exchange(spans[case.id], event, {"error.type": "_OTHER"} if event.error else {})


pytest_agentgauge_failed = pytest_agentgauge_tool_result  # of a request or a call


def pytest_agentgauge_case_finished(record):
    if span := spans.pop((record.task, record.sample, record.attempt), None):
        span.set_attribute("test.case.result.status", "pass" if record.status == "passed" else "fail")
        span.set_status(StatusCode.ERROR if record.error else StatusCode.UNSET, record.error)
        span.end()


def exchange(parent, event, more):
    operation, key = ("chat", "request.model") if event.kind == "model" else ("execute_tool", "tool.name")
    kind, start = SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL, int(event.start * 1e9)
    names = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "openai", f"gen_ai.{key}": event.name, **more}
    span = tracer.start_span(f"{operation} {event.name}", set_span_in_context(parent), kind, names, start_time=start)
    span.set_status(StatusCode.ERROR if event.error else StatusCode.UNSET, event.error)
    span.end(start + int(event.seconds * 1e9))
