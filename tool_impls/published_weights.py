"""The published weights that the tools, and GTA's similarity, can use as they are documented.

Each set is pinned to a commit of the hub or to a release. ``checksums`` has the SHA-256 of large files on which
several public records agree; those of the others are the origin's own, read at the fetch. Sizes are those of the large
files.
"""

from __future__ import annotations

from pathlib import Path

from agentgauge.core.files import expanded
from agentgauge.data.fetch.sources import Hub, Release
from agentgauge.data.find import data_folder
from agentgauge.data.weights import Weights

_DETECTION = ("TextToBbox", "CountGivenObject", "VideoObjectDetection")
_VISION = ("ImageDescription", "RegionAttributeDescription", "VideoDescription", "CountGivenObject", "MathOCR")
_MODEL = ("config.json", "*.safetensors")
_XL = (
    "model_index.json",
    "scheduler/*",
    "tokenizer/*",
    "tokenizer_2/*",
    "*/config.json",
    "text_encoder/model.fp16.safetensors",
    "text_encoder_2/model.fp16.safetensors",
    "unet/diffusion_pytorch_model.fp16.safetensors",
    "vae/diffusion_pytorch_model.fp16.safetensors",
)
_XL_NEEDED = ("model_index.json", *(name for name in _XL if name.endswith(".safetensors")))


def _hub(repo: str, revision: str, *patterns: str) -> Hub:
    return Hub(repo, patterns, revision, "model")


def _transformers(name: str) -> str:
    return f'[tools.detection] backend = "transformers", weights = "{name}"'


WEIGHTS = (
    Weights(
        name="yolo11n",
        published="yolo11n.pt",
        size=5_613_764,
        licence="AGPL-3.0, as ultralytics, which runs it",
        used_by=_DETECTION,
        setting='[tools.detection] weights = "yolo11n"',
        source=Release("ultralytics/assets", "v8.3.0", r"yolo11n\.pt", ("yolo11n.pt",)),
        needed=("yolo11n.pt",),
        checksums={"yolo11n.pt": "0ebbc80d4a7680d14987a577cd21342b65ecfd94632bd9a8da63ae6417644ee1"},
        file="yolo11n.pt",
    ),
    Weights(
        name="grounding-dino-tiny",
        published="IDEA-Research/grounding-dino-tiny",
        size=689_359_096,
        licence="Apache-2.0",
        used_by=_DETECTION,
        setting=_transformers("grounding-dino-tiny"),
        source=_hub(
            "IDEA-Research/grounding-dino-tiny",
            "a2bb814dd30d776dcf7e30523b00659f4f141c71",
            "*.json",
            "vocab.txt",
            "model.safetensors",
        ),
        needed=_MODEL,
        checksums={"model.safetensors": "1a2412ef99bd74bcd3c2a246fa1e48581f8889a1300c9051974741314fc042f3"},
    ),
    Weights(
        name="owlv2-base",
        published="google/owlv2-base-patch16-ensemble",
        size=619_918_824,
        licence="Apache-2.0",
        used_by=_DETECTION,
        setting=_transformers("owlv2-base"),
        source=_hub(
            "google/owlv2-base-patch16-ensemble",
            "cfd3195ba4ea9592eec887ded089f4c08eff231d",
            "*.json",
            "merges.txt",
            "model.safetensors",
        ),
        needed=_MODEL,
        checksums={"model.safetensors": "e1e130b9e404cf91a75ad45644c1da9d7fa5284085eecc864266a6923efb99e7"},
    ),
    Weights(
        name="rtdetr-r50vd",
        published="PekingU/rtdetr_r50vd",
        size=172_175_856,
        licence="Apache-2.0",
        used_by=_DETECTION,
        setting=_transformers("rtdetr-r50vd"),
        source=_hub("PekingU/rtdetr_r50vd", "df939e661d8c52e80608d1ec566561aabd25a4e7", "*.json", "model.safetensors"),
        needed=_MODEL,
    ),
    Weights(
        name="qwen3-vl-4b-instruct",
        published="Qwen/Qwen3-VL-4B-Instruct",
        size=8_875_719_344,
        licence="Apache-2.0",
        used_by=_VISION,
        setting='[tools.vision] weights = "qwen3-vl-4b-instruct"',
        source=_hub(
            "Qwen/Qwen3-VL-4B-Instruct",
            "ebb281ec70b05090aa6165b016eac8ec08e71b17",
            "*.json",
            "*.jinja",
            "merges.txt",
            "model-*.safetensors",
        ),
        needed=("config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
        checksums={
            "model-00001-of-00002.safetensors": "30a01a0556622645a3cce87b655bbbbbc1f170c196099f1b666c93202c3339a9",
            "model-00002-of-00002.safetensors": "046296a2a387efb43b0c997d5833c789604d168834f6e0d3064bf7bb13d002a6",
        },
    ),
    Weights(
        name="faster-whisper-base",
        published="Systran/faster-whisper-base",
        size=147_882_941,
        licence="MIT",
        used_by=("SpeechToText",),
        setting='[tools.speech] weights = "faster-whisper-base"',
        source=_hub(
            "Systran/faster-whisper-base",
            "ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66",
            "*.json",
            "model.bin",
            "vocabulary.*",
        ),
        needed=("config.json", "model.bin", "tokenizer.json"),
        checksums={"model.bin": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"},
    ),
    Weights(
        name="whisper-base",
        published="openai/whisper-base",
        size=290_403_936,
        licence="Apache-2.0 on the hub; MIT in OpenAI's own repository",
        used_by=("SpeechToText",),
        setting='[tools.speech] backend = "transformers", weights = "whisper-base"',
        source=_hub(
            "openai/whisper-base",
            "e37978b90ca9030d5170a5c07aadb050351a65bb",
            "*.json",
            "merges.txt",
            "model.safetensors",
        ),
        needed=_MODEL,
        checksums={"model.safetensors": "07cadb9f25677c8d50df603e66a98fbd842cce45047139baeb16e6219a1e807b"},
    ),
    Weights(
        name="sdxl-base",
        published="stabilityai/stable-diffusion-xl-base-1.0",
        size=6_938_011_430,
        licence="CreativeML Open RAIL++-M, which restricts some uses",
        used_by=("TextToImage",),
        setting='[tools.image] weights = "sdxl-base"',
        source=_hub("stabilityai/stable-diffusion-xl-base-1.0", "462165984030d82259a11f4367a4eed129e94a7b", *_XL),
        needed=_XL_NEEDED,
        checksums={
            "text_encoder/model.fp16.safetensors": "660c6f5b1abae9dc498ac2d21e1347d2abdb0cf6c0c0c8576cd796491d9a6cdd",
            "text_encoder_2/model.fp16.safetensors": "ec310df2af79c318e24d20511b601a591ca8cd4f1fce1d8dff822a356bcdb1f4",
            "unet/diffusion_pytorch_model.fp16.safetensors": (
                "83e012a805b84c7ca28e5646747c90a243c65c8ba4f070e2d7ddc9d74661e139"
            ),
            "vae/diffusion_pytorch_model.fp16.safetensors": (
                "bcb60880a46b63dea58e9bc591abe15f8350bde47b405f9c38f4be70c6161e68"
            ),
        },
    ),
    Weights(
        name="sdxl-turbo",
        published="stabilityai/sdxl-turbo",
        size=6_938_011_430,
        licence="Stability AI Community License, which restricts commercial use",
        used_by=("TextToImage",),
        setting='[tools.image] weights = "sdxl-turbo", steps = 4, guidance = 0.0',
        source=_hub("stabilityai/sdxl-turbo", "71153311d3dbb46851df1931d3ca6e939de83304", *_XL),
        needed=_XL_NEEDED,
        checksums={
            "unet/diffusion_pytorch_model.fp16.safetensors": (
                "48fa46161a745f48d4054df3fe13804ee255486bca893403b60373c188fd1bdb"
            ),
        },
    ),
    Weights(
        name="instruct-pix2pix",
        published="timbrooks/instruct-pix2pix",
        size=5_500_000_000,
        licence="MIT on the hub; it is made from Stable Diffusion, which is under CreativeML Open RAIL-M",
        used_by=("ImageStylization",),
        setting='[tools.image] edit_weights = "instruct-pix2pix"',
        source=_hub(
            "timbrooks/instruct-pix2pix",
            "31519b5cb02a7fd89b906d88731cd4d6a7bbf88d",
            "model_index.json",
            "scheduler/*",
            "tokenizer/*",
            "feature_extractor/*",
            "*/config.json",
            "*/model.safetensors",
            "*/diffusion_pytorch_model.safetensors",
        ),
        needed=(
            "model_index.json",
            "safety_checker/*.safetensors",
            "text_encoder/*.safetensors",
            "unet/*.safetensors",
            "vae/*.safetensors",
        ),
    ),
    Weights(
        name="all-mpnet-base-v2",
        published="sentence-transformers/all-mpnet-base-v2",
        size=437_971_872,
        licence="Apache-2.0",
        used_by=("the similarity mpnet of GTA-Atomic",),
        setting="AGENTGAUGE_MPNET=all-mpnet-base-v2",
        source=_hub(
            "sentence-transformers/all-mpnet-base-v2",
            "e8c3b32edf5434bc2275fc9bab85f82640a19130",
            "*.json",
            "vocab.txt",
            "model.safetensors",
        ),
        needed=("modules.json", *_MODEL),
        checksums={"model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"},
    ),
)


def known(name: str) -> Weights | None:
    """The set with this name, here or at its origin."""
    return next((one for one in WEIGHTS if name in (one.name, one.published)), None)


def fetched(name: str, settings_folder: Path) -> Path | None:
    """What to load of the set with this name, where ``agentgauge fetch`` has brought it: to ``$AGENTGAUGE_DATA``, or to
    ``agentgauge-data`` in the folder of the settings or in the current one."""
    if one := known(name):
        bases = (expanded(data_folder(folder)).absolute() for folder in (settings_folder, Path()))
        return next((place for base in bases if (place := one.place(base)).exists()), None)
    return None
