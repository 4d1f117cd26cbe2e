"""Small Whispers, by default of one layer, in the folders that the real ones come in. Their weights are set so that a
token's place decides it, whatever is heard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

HELLO = ("<|0.00|>", *"hello", "<|30.00|>")


def whisper(
    folder: Path,
    said: Sequence[str] = HELLO,
    *,
    first: str | None = None,
    size: tuple[int, int, int, int] = (128, 1, 2, 32),
) -> Path:
    """Writes a Whisper for transformers, which says these tokens in every window.

    ``size``: width, layers, heads, inner width.
    ``first``: the token after the start where languages are known, so a language or ``<|nospeech|>``; None: a Whisper
    for English alone.
    """
    for package in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(package)
    from tool_impls.devices import ready_torchvision

    ready_torchvision()
    import torch
    from transformers import (
        PreTrainedTokenizerFast,
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
    )
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(1)  # so small models lose time with more
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    ids = tokenizer.get_vocab()
    end = ids["<|endoftext|>"]
    width, layers, heads, inner = size
    config = WhisperConfig(
        vocab_size=len(ids), d_model=width, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=heads, decoder_attention_heads=heads,  # noqa: E501
        encoder_ffn_dim=inner, decoder_ffn_dim=inner, pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=ids["<|startoftranscript|>"],  # noqa: E501
        suppress_tokens=[], begin_suppress_tokens=[],
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config)
    decoder = model.model.decoder
    with torch.no_grad():
        for layer in decoder.layers:
            for part in (layer.self_attn.out_proj, layer.encoder_attn.out_proj, layer.fc2):
                part.weight.zero_()  # what goes before and what is heard say nothing
        tokens = torch.nn.functional.normalize(torch.randn(len(ids), config.d_model))
        decoder.embed_tokens.weight.copy_(tokens)
        decoder.embed_positions.weight.zero_()
        opening = [] if first is None else [first, "<|transcribe|>"]
        for place, token in enumerate([*opening, *said, "<|endoftext|>", "<|endoftext|>"]):  # it follows the start
            decoder.embed_positions.weight[place] = 20 * tokens[ids[token]]
    _generation(model, ids, languages=first is not None)
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<|endoftext|>").save_pretrained(folder)
    WhisperFeatureExtractor().save_pretrained(folder)
    return folder


def converted(made: Path, folder: Path) -> Path:
    """The same Whisper for faster-whisper."""
    for package in ("faster_whisper", "ctranslate2"):
        pytest.importorskip(package)
    from ctranslate2.converters import TransformersConverter

    copied = ["tokenizer.json", "preprocessor_config.json"]
    TransformersConverter(str(made), copy_files=copied).convert(str(folder))
    return folder


def _tokenizer() -> Any:
    """One token for each byte, then the special ones and the times in Whisper's order."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    orders = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    names = ["endoftext", "startoftranscript", *_languages(), *orders]
    tokenizer = Tokenizer(models.BPE(vocab=letters, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(f"<|{name}|>", special=True) for name in names])
    tokenizer.add_tokens([f"<|{number * 0.02:.2f}|>" for number in range(1501)])
    return tokenizer


def _languages() -> list[str]:
    from transformers.models.whisper.tokenization_whisper import LANGUAGES

    return list(LANGUAGES)


def _generation(model: Any, ids: dict[str, int], *, languages: bool) -> None:
    """Sets what a published generation_config.json says."""
    form = model.generation_config
    form._from_model_config = False  # else it is made anew when the model is loaded
    form.no_timestamps_token_id = ids["<|notimestamps|>"]
    form.is_multilingual = languages
    form.max_length = 448
    if languages:
        form.lang_to_id = {f"<|{name}|>": ids[f"<|{name}|>"] for name in _languages()}
        form.task_to_id = {name: ids[f"<|{name}|>"] for name in ("transcribe", "translate")}
