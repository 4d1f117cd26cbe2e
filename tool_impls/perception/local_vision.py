"""Questions about pictures, answered by a vision-language model of transformers on this machine (GTA tools spec 6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.pictures import fitted
from agentgauge.core.text import parse_json
from tool_impls import devices
from tool_impls.base import READY, first_line, missing_package, unavailable
from tool_impls.batching import Batched

if TYPE_CHECKING:
    from PIL.Image import Image

PACKAGES = ("torch", "transformers", "PIL")
LONGEST = 2048  # pixels of a side; larger pictures are scaled down
SHORTEST = 32  # pixels of a side; smaller pictures get a white border

SEEING = {"vision_config", "vision_tower", "image_token_id", "image_token_index"}
"""Keys of config.json, one of which every model has that sees pictures."""

Question = tuple["Image", str]


def folder_state(source: Path | str, table: str) -> str:
    """READY, or the problem with the packages or the folder. Reads two small files at most."""
    if missing := missing_package(PACKAGES):
        return unavailable(f"weights in [tools.{table}] need the Python package {missing}; install agentgauge[vision]")
    if isinstance(source, str):
        return READY
    try:
        config = parse_json((source / "config.json").read_text("utf-8"))
        kind = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError):
        must = "must name a folder of a transformers model"
        return unavailable(f"weights in [tools.{table}] {must}; {source.name} has no usable config.json")
    if not isinstance(kind, str) or not config.keys() & SEEING:
        return unavailable(f"weights in [tools.{table}] must name a model that sees pictures; {source.name} is {kind}")
    return READY


class LocalVision:
    """A model with its processor. ``source``: a local folder, or a name on the hub, which is only then contacted."""

    def __init__(self, source: Path | str, device: str, batch: int, max_tokens: int) -> None:
        """Loads the model, in half precision on a GPU. Raises ToolUnavailable if that fails."""
        from tool_impls.perception.detection.torchvision_ops import ready_torchvision

        ready_torchvision()  # before transformers imports it
        from transformers import AutoModelForImageTextToText, AutoProcessor
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        # where it is left out, transformers asks at the terminal whether code of the folder may run
        where: dict[str, Any] = {"local_files_only": isinstance(source, Path), "trust_remote_code": False}
        self._device, self._kind = device, devices.half(device)
        try:
            self._processor: Any = AutoProcessor.from_pretrained(source, **where)
            with devices.loading("[tools.vision]", device):
                model: Any = AutoModelForImageTextToText.from_pretrained(source, dtype=self._kind, **where)
                self._model = model.to(device).eval()
        except ToolUnavailable:
            raise
        except Exception as error:  # a folder may be broken in as many ways as there are models
            raise ToolUnavailable(f"the weights of [tools.vision] cannot be loaded: {first_line(error)}") from None
        if not getattr(self._processor, "chat_template", None):
            advice = "use a model that is tuned for instructions"
            raise ToolUnavailable(f"the weights of [tools.vision] must come with a chat template; {advice}")
        self._processor.tokenizer.padding_side = "left"  # what is written must follow the question without a gap
        if self._processor.tokenizer.pad_token is None:
            self._processor.tokenizer.pad_token = self._processor.tokenizer.eos_token
        self._max_tokens = max_tokens
        self._batched: Batched[Question, str] = Batched(self._answers, batch)

    def ask(self, image: Image, question: str) -> str:
        """The answer, stripped; always the most probable words. Questions of several threads are answered together."""
        return self._batched((fitted(image, LONGEST, SHORTEST), question))

    def _answers(self, questions: Sequence[Question]) -> list[str]:
        """Raises ToolFault where one question alone does not fit into the GPU's memory."""
        return devices.in_parts(self._generate, questions, tool="the model of [tools.vision]", device=self._device)

    def _generate(self, questions: Sequence[Question]) -> list[str]:
        import torch

        chats = [
            [{"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": question}]}]
            for image, question in questions
        ]
        form = {"add_generation_prompt": True, "return_dict": True, "return_tensors": "pt"}
        found: Any = self._processor.apply_chat_template(
            chats, tokenize=True, processor_kwargs={"padding": True}, **form
        )
        inputs = found.to(self._device, self._kind)
        greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        pad = self._processor.tokenizer.pad_token_id
        with torch.inference_mode():
            found = self._model.generate(**inputs, max_new_tokens=self._max_tokens, pad_token_id=pad, **greedy)
        texts = self._processor.batch_decode(found[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return [str(text).strip() for text in texts]
