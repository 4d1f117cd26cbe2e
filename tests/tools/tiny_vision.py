"""Vision-language models of random weights, in the folder that the real ones come in: a Qwen3-VL, of any size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.tools.tiny_detectors import transformers

TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<see><image></see>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %} A: {% endif %}"
)

EYES = {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16, "num_position_embeddings": 16}
WORDS = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16, "initializer_range": 0.5}  # noqa: E501  # fmt: skip


def byte_tokens(special: list[Any]) -> Any:
    """A tokenizer whose tokens are bytes, and the special ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=letters, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    return tokenizer


def seer(
    folder: Path,
    eyes: Mapping[str, Any] = EYES,
    words: Mapping[str, Any] = WORDS,
    pixels: tuple[int, int] = (1024, 4096),
) -> Path:
    """``eyes``, ``words``: sizes of the two networks. ``pixels``: fewest and most of a picture that the model sees."""
    import torch

    package = transformers()
    tokenizer = byte_tokens(["<pad>", "<end>", "<see>", "</see>", "<image>", "<video>"])
    ids = tokenizer.get_vocab()
    named = {
        "image_token": "<image>",
        "video_token": "<video>",
        "vision_bos_token": "<see>",
        "vision_eos_token": "</see>",
    }
    reader = package.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>", unk_token="<pad>", extra_special_tokens=named
    )
    size = {"shortest_edge": pixels[0], "longest_edge": pixels[1]}
    processor = package.Qwen3VLProcessor(
        image_processor=package.Qwen2VLImageProcessor(patch_size=16, merge_size=2, size=size),
        tokenizer=reader,
        video_processor=package.Qwen3VLVideoProcessor(),
        chat_template=TEMPLATE,
    )
    torch.manual_seed(0)
    third = words["head_dim"] // 8
    config = package.Qwen3VLConfig(
        vision_config={
            "deepstack_visual_indexes": [0],
            "spatial_merge_size": 2,
            "patch_size": 16,
            "out_hidden_size": words["hidden_size"],
            **eyes,
        },
        text_config={
            "vocab_size": len(ids),
            "pad_token_id": ids["<pad>"],
            "eos_token_id": ids["<end>"],
            "rope_scaling": {
                "rope_type": "default",
                "mrope_interleaved": True,
                "mrope_section": [words["head_dim"] // 2 - 2 * third, third, third],
            },
            **words,
        },
        image_token_id=ids["<image>"],
        video_token_id=ids["<video>"],
        vision_start_token_id=ids["<see>"],
        vision_end_token_id=ids["</see>"],
    )
    package.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
