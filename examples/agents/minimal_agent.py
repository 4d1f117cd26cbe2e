"""An agent in 30 lines of the standard library: it lets the model call tools until the model answers."""

import json
import os
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

KEY = os.environ["AGENTGAUGE_MODEL_KEY"]
MODEL, TOOLS = os.environ["AGENTGAUGE_MODEL_URL"], os.environ["AGENTGAUGE_TOOLS_URL"]


def send(url, body=None):
    request = Request(url, data=body, headers={"Authorization": f"Bearer {KEY}"})
    try:
        with urlopen(request) as answer:
            return json.load(answer)
    except HTTPError as error:
        if error.code != 422:  # a tool has refused its arguments; the model gets the error
            raise
        return {"text": json.load(error)["error"]["message"]}


task = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text())
messages = task["messages"]
tools = send(TOOLS)["tools"] + task["functions"]
while True:
    body = {"model": os.environ["AGENTGAUGE_MODEL"], "messages": messages} | ({"tools": tools} if tools else {})
    said = send(f"{MODEL}/chat/completions", json.dumps(body).encode())["choices"][0]["message"]
    if task["functions"] or not said.get("tool_calls"):  # functions are never run: their calls are the answer
        break
    messages.append(said)
    for call in said["tool_calls"]:
        result = send(f"{TOOLS}/{call['function']['name']}", call["function"]["arguments"].encode())
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result["text"]})
Path(os.environ["AGENTGAUGE_ANSWER"]).write_text(json.dumps(said))
