"""Models of the tools' classes with weights of our own, saved in the folders that the published ones come in.

Their answers mean nothing, but all else is real: loading, placing, batches, memory, and the arithmetic that must give
on a GPU what it gives on the processor.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.tools.tiny_detectors import grounding_dino, rt_detr, transformers
from tests.tools.tiny_vision import byte_tokens, seer

LARGE_EYES = {"depth": 12, "hidden_size": 768, "num_heads": 12, "intermediate_size": 3072, "deepstack_visual_indexes": [3, 6, 9], "num_position_embeddings": 2304}  # noqa: E501  # fmt: skip
LARGE_WORDS = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64}  # noqa: E501  # fmt: skip

SAID = "the river rose at noon"


def open_detector(folder: Path, full: bool) -> Path:
    """A Grounding DINO, which looks for any words: 172 million weights in full size."""
    return grounding_dino(folder, full=full)


def fixed_detector(folder: Path, full: bool) -> Path:
    """An RT-DETR, which knows three classes: 43 million weights in full size."""
    return rt_detr(folder, full=full)


def vision(folder: Path, full: bool) -> Path:
    """A Qwen3-VL: some 300 million weights in full size."""
    return seer(folder, LARGE_EYES, LARGE_WORDS, (65_536, 262_144)) if full else seer(folder)


def speech(folder: Path, full: bool) -> Path:
    """A Whisper for English, in full size that of ``base`` with 74 million weights. It says SAID of every half minute.

    A token's place decides it, by far: so rounding does not. What is heard changes what the encoder gives.
    """
    import torch
    from tokenizers import AddedToken

    package = transformers()
    orders = ["en", "translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    named = [f"<|{name}|>" for name in ("endoftext", "startoftranscript", *orders)]
    words = byte_tokens([AddedToken(name, special=True) for name in named])
    words.add_tokens([f"<|{number * 0.02:.2f}|>" for number in range(1501)])
    ids = words.get_vocab()
    end, start = ids["<|endoftext|>"], ids["<|startoftranscript|>"]
    width, layers, heads = (512, 6, 8) if full else (128, 1, 2)
    torch.manual_seed(0)
    config = package.WhisperConfig(
        vocab_size=len(ids), d_model=width, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=start,
        suppress_tokens=[], begin_suppress_tokens=[],
    )  # fmt: skip
    model = package.WhisperForConditionalGeneration(config)
    decoder = model.model.decoder
    with torch.no_grad():
        tokens = torch.nn.functional.normalize(torch.randn(len(ids), width))
        decoder.embed_tokens.weight.copy_(tokens)
        decoder.embed_positions.weight.zero_()
        said = [ids["<|0.00|>"], *words.encode(SAID).ids, ids["<|30.00|>"]]
        for place, token in enumerate([*said, *[end] * (config.max_target_positions - len(said))]):
            decoder.embed_positions.weight[place] = 20 * tokens[token]  # the first one follows the start
    form = model.generation_config
    form._from_model_config = False  # else it is made anew when the model is loaded
    form.no_timestamps_token_id = ids["<|notimestamps|>"]
    form.is_multilingual = False
    form.max_length = config.max_target_positions
    model.save_pretrained(folder)
    package.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<|endoftext|>").save_pretrained(folder)
    package.WhisperFeatureExtractor().save_pretrained(folder)
    return folder


def embeddings(folder: Path, full: bool) -> Path:
    """Sentence vectors of an MPNet, in full size that of all-mpnet-base-v2 with 109 million weights."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers import models as stages

    package = transformers()
    torch.manual_seed(0)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789."
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, *(f"##{letter}" for letter in letters)]
    little: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    network = package.MPNetModel(package.MPNetConfig(vocab_size=30_527, **{} if full else little))
    parts = folder / "network"
    network.save_pretrained(parts)
    package.MPNetTokenizer(vocab={word: number for number, word in enumerate(words)}).save_pretrained(parts)
    first = stages.Transformer(str(parts), max_seq_length=384)
    pooling = stages.Pooling(network.config.hidden_size)
    SentenceTransformer(modules=[first, pooling, stages.Normalize()], device="cpu").save(str(folder / "whole"))
    return folder / "whole"


def painter(folder: Path, full: bool) -> Path:
    """A Stable Diffusion; in full size a sixth of the published one."""
    import torch

    package = transformers()
    import diffusers

    diffusers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    folder.mkdir(parents=True)
    widths, heads, width = ((128, 256, 512), 8, 768) if full else ((8, 16), 2, 16)
    blocks = len(widths) - 1
    network = diffusers.UNet2DConditionModel(
        sample_size=64 if full else 32, in_channels=4, out_channels=4, layers_per_block=2 if full else 1,
        block_out_channels=widths, norm_num_groups=widths[0] // 4, attention_head_dim=heads, cross_attention_dim=width,
        down_block_types=("DownBlock2D", *["CrossAttnDownBlock2D"] * blocks),
        up_block_types=(*["CrossAttnUpBlock2D"] * blocks, "UpBlock2D"),
    )  # fmt: skip
    pixels = (64, 128) if full else (8, 8)
    coder = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=pixels, norm_num_groups=pixels[0] // 4, latent_channels=4, sample_size=64,
    )  # fmt: skip
    letters = [chr(code) for code in range(33, 127)]
    names = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    start, end = len(names) - 2, len(names) - 1
    reader = package.CLIPTextConfig(
        vocab_size=len(names), hidden_size=width, intermediate_size=4 * width, num_hidden_layers=12 if full else 2,
        num_attention_heads=heads, projection_dim=width, bos_token_id=start, eos_token_id=end, pad_token_id=end,
    )  # fmt: skip
    diffusers.StableDiffusionPipeline(
        unet=network,
        vae=coder,
        scheduler=diffusers.EulerDiscreteScheduler(),
        text_encoder=package.CLIPTextModel(reader).eval(),
        tokenizer=package.CLIPTokenizer.from_pretrained(folder, model_max_length=77),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
    return folder
