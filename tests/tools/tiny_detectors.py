"""Tiny detectors of random weights, in the folders and files that the real ones come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LABELS = {0: "cat", 1: "dog", 2: "car"}


def transformers() -> Any:
    from tool_impls.devices import ready_torchvision

    ready_torchvision()
    import torch
    import transformers as package
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)  # so small models lose time with more
    return package


def grounding_dino(folder: Path, *, full: bool = False) -> Path:
    """Reads the words red, car, dog and cat. ``full``: in the size of grounding-dino-tiny."""
    import torch

    package = transformers()
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "red", "car", "dog", "cat"]
    little = {
        "backbone_config": package.SwinConfig(
            image_size=64,
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=4,
            out_indices=[2, 3, 4],
        ),
        "text_config": package.BertConfig(
            vocab_size=40,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=64,
        ),
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "num_queries": 10,
        "max_text_len": 32,
    }
    config = package.GroundingDinoConfig(**{} if full else little)
    package.GroundingDinoForObjectDetection(config).save_pretrained(folder)
    reader = package.BertTokenizerFast(vocab={word: number for number, word in enumerate(words)})
    edges = {"shortest_edge": 800, "longest_edge": 1333} if full else {"shortest_edge": 64, "longest_edge": 96}
    eye = package.GroundingDinoImageProcessor(size=edges)
    package.GroundingDinoProcessor(eye, reader).save_pretrained(folder)
    return folder


def owl(folder: Path) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    package = transformers()
    torch.manual_seed(0)
    common = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = package.Owlv2Config(
        text_config={
            **common,
            "vocab_size": 20,
            "max_position_embeddings": 16,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        vision_config={**common, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    package.Owlv2ForObjectDetection(config).save_pretrained(folder)
    words = Tokenizer(
        models.WordLevel({"!": 0, "<s>": 1, "</s>": 2, "red": 3, "car": 4, "dog": 5, "<unk>": 6}, unk_token="<unk>")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    reader = package.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="!", model_max_length=16
    )
    package.Owlv2Processor(package.Owlv2ImageProcessor(size={"height": 32, "width": 32}), reader).save_pretrained(
        folder
    )
    return folder


def rt_detr(folder: Path, *, full: bool = False) -> Path:
    """Knows LABELS. ``full``: in the size of rtdetr_r50vd."""
    import torch

    package = transformers()
    torch.manual_seed(0)
    little = {
        "backbone_config": package.RTDetrResNetConfig(
            embedding_size=8,
            hidden_sizes=[8, 8, 16, 16],
            depths=[1, 1, 1, 1],
            layer_type="basic",
            out_features=["stage2", "stage3", "stage4"],
        ),
        "encoder_in_channels": [8, 16, 16],
        "encoder_hidden_dim": 16,
        "d_model": 16,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "decoder_in_channels": [16, 16, 16],
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "decoder_layers": 1,
        "num_queries": 10,
    }
    labels = {"id2label": LABELS, "label2id": {name: number for number, name in LABELS.items()}}
    package.RTDetrForObjectDetection(package.RTDetrConfig(**labels, **{} if full else little)).save_pretrained(folder)
    side = 640 if full else 64
    package.RTDetrImageProcessor(size={"height": side, "width": side}).save_pretrained(folder)
    return folder
