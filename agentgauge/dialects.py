"""The public names for authors of dialects. No module of the project imports from here."""

from agentgauge.agent.dialects.format import (
    Format,
    ParsedCall,
    ParsedReply,
    RenderedRequest,
    Turn,
    as_json,
    functions,
    prompted,
    value_of,
)
from agentgauge.agent.dialects.lenient import read_leniently

__all__ = [
    "Format",
    "ParsedCall",
    "ParsedReply",
    "RenderedRequest",
    "Turn",
    "as_json",
    "functions",
    "prompted",
    "read_leniently",
    "value_of",
]
