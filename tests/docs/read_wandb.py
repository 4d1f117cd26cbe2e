"""What an offline run of W&B has in its file, as JSON: project, name, config and summary. Run where wandb is installed.

The file is a log in LevelDB's form, whose records are wandb's own messages.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

HEADER, BLOCK = 7, 32768


def messages(data: bytes) -> Iterator[Any]:
    place, parts = HEADER, b""  # the file has a header of its own, as long as that of a part
    while place + HEADER <= len(data):
        if BLOCK - place % BLOCK < HEADER:
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + HEADER])
        parts += data[place + HEADER : place + HEADER + length]
        place += HEADER + length
        if kind in (1, 4):  # whole, last
            yield Record.FromString(parts)
            parts = b""


found: dict[str, Any] = {"config": {}, "summary": {}}
for message in messages(Path(sys.argv[1]).read_bytes()):
    if message.HasField("run"):
        found |= {"project": message.run.project, "name": message.run.display_name}
        found["config"] |= {each.key: json.loads(each.value_json) for each in message.run.config.update}
    for each in message.summary.update:
        found["summary"][each.key] = json.loads(each.value_json)
print(json.dumps(found))
