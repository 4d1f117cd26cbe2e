"""TextToImage and ImageStylization with diffusers: the real pipelines, very small and with random weights."""

from __future__ import annotations

import json
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from agentgauge.core.errors import ToolError, ToolFault, ToolUnavailable
from tests.packages import absent
from tool_impls.base import BASIC, READY, BenchTool
from tool_impls.creativity.generate import PACKAGES, ImageStylization, LocalPainter, TextToImage, workable
from tool_impls.settings import ToolSettings

pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # of diffusers beside numpy 2.4
installed = pytest.mark.skipif(
    any(find_spec(name) is None for name in PACKAGES), reason="agentgauge[generate] is not installed"
)

URL = {"url": "http://127.0.0.1:1/v1", "model": "painter"}
BOTH = [(TextToImage, "weights"), (ImageStylization, "edit_weights")]


def image(basic: bool = False, **values: Any) -> ToolSettings:
    return ToolSettings(basic=basic, tables={"image": values})


# --- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "model"),
    [
        (
            TextToImage,
            "set weights in [tools.image]: a local folder, or sdxl-base (about 7 GB), which"
            " `agentgauge fetch sdxl-base` brings",
        ),
        (
            ImageStylization,
            "set edit_weights in [tools.image]: a local folder, or instruct-pix2pix (about 5.5 GB), which"
            " `agentgauge fetch instruct-pix2pix` brings",
        ),
    ],
)
def test_nothing_configured_is_basic_or_told(tool: type[BenchTool], model: str) -> None:
    assert (tool.back_end(image(basic=True)), tool.backend(image(basic=True)), tool.on_device(image())) == (
        BASIC,
        "basic",
        False,
    )
    assert (
        tool.back_end(image()) == f"unavailable: {model}; or an OpenAI-compatible endpoint (url, model, key_env); "
        "or set basic = true in [tools]"
    )


@pytest.mark.parametrize(("tool", "option"), BOTH)
def test_endpoint_and_weights_exclude_each_other(tool: type[BenchTool], option: str, tmp_path: Path) -> None:
    assert (tool.back_end(image(True, **URL)), tool.backend(image(True, **URL))) == (READY, "endpoint painter")
    both = image(True, **URL, **{option: str(tmp_path)})
    assert (
        tool.back_end(both)
        == f"unavailable: [tools.image] names an endpoint (url) and a local model ({option}); take one of them out"
    )


@installed
@pytest.mark.parametrize(("tool", "option"), BOTH)
def test_each_tool_has_weights_of_its_own(tool: type[BenchTool], option: str, tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text('{"_class_name": "StableDiffusionPipeline"}')
    own, other = (
        image(True, **{option: str(tmp_path)}),
        image(True, **{next(name for _, name in BOTH if name != option): str(tmp_path)}),
    )
    assert (tool.back_end(own), tool.backend(own)) == (READY, f"diffusers {tmp_path.name}")
    assert (tool.weights(own), tool.on_device(own)) == ((tmp_path,), True)
    assert (tool.back_end(other), tool.weights(other), tool.on_device(other)) == (BASIC, (), False)


@installed
@pytest.mark.parametrize(("tool", "option"), BOTH)
@pytest.mark.parametrize(
    "index", [None, "{", "[]", "{}", '{"_class_name": 5}'], ids=["none", "broken", "list", "empty", "number"]
)
def test_folder_that_is_no_pipeline_is_refused(
    tool: type[BenchTool], option: str, index: str | None, tmp_path: Path
) -> None:
    if index is not None:
        (tmp_path / "model_index.json").write_text(index)
    state = tool.back_end(image(True, **{option: str(tmp_path)}))
    assert state.startswith(f"unavailable: {option} in [tools.image] must name") and state.endswith(
        "has no usable model_index.json"
    )


@installed
@pytest.mark.parametrize(("tool", "option"), BOTH)
def test_names_on_the_hub_need_leave_to_download(tool: type[BenchTool], option: str) -> None:
    state = tool.back_end(image(**{option: "some/model"}))
    assert state.endswith(
        "names nothing that exists: some/model; to fetch that name from the hub set allow_download = true"
    )
    fetchable = tool.back_end(image(**{option: "sdxl-base"}))
    assert fetchable.endswith(": sdxl-base; get it with: agentgauge fetch sdxl-base")
    by_name = tool.backend(image(**{option: "sdxl-base"}, allow_download=True))
    assert by_name == "diffusers stabilityai/stable-diffusion-xl-base-1.0"
    allowed = image(**{option: "some/model"}, allow_download=True)
    assert (tool.back_end(allowed), tool.backend(allowed), tool.weights(allowed)) == (READY, "diffusers some/model", ())


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent(monkeypatch, "diffusers")
    state = TextToImage.back_end(image(weights=str(tmp_path)))
    assert state.endswith("needs the Python package diffusers; install agentgauge[generate]")


@pytest.mark.parametrize(
    ("size", "worked"),
    [
        ((64, 64), (64, 64)),
        ((100, 70), (96, 72)),
        ((3000, 1000), (768, 256)),
        ((5, 2000), (64, 768)),
        ((1, 1), (64, 64)),
    ],
)
def test_pictures_are_worked_on_in_a_size_that_models_take(size: tuple[int, int], worked: tuple[int, int]) -> None:
    assert workable(Image.new("RGBA", size)).size == worked and workable(Image.new("L", size)).mode == "RGB"


# --- pipelines -----------------------------------------------------------------------------------------------------


def ready() -> Any:
    """diffusers, imported as the tools import it."""
    for package in ("torch", "transformers", "diffusers", "tokenizers"):
        pytest.importorskip(package)
    from tool_impls.devices import ready_torchvision

    ready_torchvision()
    import diffusers
    import torch

    torch.set_num_threads(1)  # so small models lose time with more
    torch.manual_seed(0)
    return diffusers


def words(folder: Path) -> Any:
    """A CLIP tokenizer whose tokens are letters."""
    from tokenizers import pre_tokenizers
    from transformers import CLIPTokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer.from_pretrained(folder, model_max_length=77)


def parts(diffusers: Any, channels: int, **unet: Any) -> dict[str, Any]:
    """UNet, VAE and scheduler for pictures of 64 pixels."""
    vae = {"block_out_channels": (8, 8), "norm_num_groups": 2, "latent_channels": 4}
    down, up = ("DownEncoderBlock2D",) * 2, ("UpDecoderBlock2D",) * 2
    return {
        "unet": diffusers.UNet2DConditionModel(
            sample_size=32, in_channels=channels, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=2,  # noqa: E501
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),  # noqa: E501
            attention_head_dim=2, **unet,
        ),
        "vae": diffusers.AutoencoderKL(down_block_types=down, up_block_types=up, sample_size=64, **vae),
        "scheduler": diffusers.EulerDiscreteScheduler(),
    }  # fmt: skip


def encoder(kind: str, width: int = 16) -> Any:
    import transformers

    values = {
        "hidden_size": width,
        "intermediate_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "projection_dim": width,
    }
    config = transformers.CLIPTextConfig(vocab_size=514, bos_token_id=512, eos_token_id=513, pad_token_id=513, **values)
    return getattr(transformers, kind)(config).eval()


@pytest.fixture(scope="module")
def xl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stable Diffusion XL, in little."""
    diffusers = ready()
    folder = tmp_path_factory.mktemp("image")
    tokenizer = words(folder)
    made = diffusers.StableDiffusionXLPipeline(
        **parts(
            diffusers, 4, cross_attention_dim=32, addition_embed_type="text_time", addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + 16,
        ),
        text_encoder=encoder("CLIPTextModel"),
        text_encoder_2=encoder("CLIPTextModelWithProjection"),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        add_watermarker=False,
    )  # fmt: skip
    made.save_pretrained(folder / "xl")
    return folder / "xl"


@pytest.fixture(scope="module")
def pix2pix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """InstructPix2Pix, in little."""
    diffusers = ready()
    folder = tmp_path_factory.mktemp("edit")
    made = diffusers.StableDiffusionInstructPix2PixPipeline(
        **parts(diffusers, 8, cross_attention_dim=16),
        text_encoder=encoder("CLIPTextModel"),
        tokenizer=words(folder),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    made.save_pretrained(folder / "pix2pix")
    return folder / "pix2pix"


def scene() -> Image.Image:
    picture = Image.new("RGB", (100, 70), (250, 200, 40))
    ImageDraw.Draw(picture).ellipse((20, 10, 70, 60), fill=(30, 60, 200))
    return picture


def tool_of(kind: type[BenchTool], settings: ToolSettings) -> Any:
    assert kind.state(settings) == READY
    tool = kind(settings)
    tool.setup("cpu")
    return tool


def paint(folder: Path, keywords: str = "sun, sea", **values: Any) -> Image.Image:
    made = tool_of(TextToImage, image(**{"weights": str(folder), "steps": 2, **values})).apply(
        Path(), keywords=keywords
    )
    assert isinstance(made, Image.Image)
    return made


def test_picture_follows_from_words_and_seed(xl: Path) -> None:
    picture = paint(xl)
    assert (picture.mode, picture.size) == ("RGB", (64, 64)) and len(picture.getcolors(5000) or []) > 20
    assert paint(xl).tobytes() == picture.tobytes()
    others = [paint(xl, "a red house"), paint(xl, seed=1), paint(xl, steps=3), paint(xl, guidance=1.5)]
    assert len({picture.tobytes(), *(other.tobytes() for other in others)}) == 5


def test_picture_is_changed_by_an_instruction_and_keeps_its_size(pix2pix: Path) -> None:
    tool = tool_of(ImageStylization, image(edit_weights=str(pix2pix), steps=2))
    made = [
        tool.apply(Path(), image=scene(), instruction=text)
        for text in ("make it winter", "make it winter", "turn it to stone")
    ]
    assert all((picture.mode, picture.size) == ("RGB", (100, 70)) for picture in made)
    assert made[0].tobytes() == made[1].tobytes() != made[2].tobytes()
    assert tool.apply(Path(), image=scene().rotate(90), instruction="make it winter").tobytes() != made[0].tobytes()


def test_pipeline_for_words_can_change_pictures_too(xl: Path) -> None:
    tool = tool_of(ImageStylization, image(edit_weights=str(xl), steps=4))
    assert type(tool._painter._pipe).__name__ == "StableDiffusionXLImg2ImgPipeline"
    assert tool.apply(Path(), image=scene(), instruction="make it winter").size == (100, 70)


@pytest.mark.usefixtures("no_network")
def test_local_pipelines_contact_no_host(xl: Path, pix2pix: Path) -> None:
    assert paint(xl).size
    changed = tool_of(ImageStylization, image(edit_weights=str(pix2pix), steps=1)).apply(
        Path(), image=scene(), instruction="make it winter"
    )
    assert changed.size == (100, 70)


def test_steps_are_those_of_the_release_unless_set(xl: Path, pix2pix: Path) -> None:
    painter, editor = (
        tool_of(TextToImage, image(weights=str(xl))),
        tool_of(ImageStylization, image(edit_weights=str(pix2pix))),
    )
    assert (painter._painter._steps, editor._painter._steps) == (30, 20)


def test_pipeline_that_changes_pictures_makes_none_from_words(pix2pix: Path) -> None:
    with pytest.raises(
        ToolUnavailable, match=r"weights in \[tools.image\] cannot be loaded: .*name it as edit_weights"
    ):
        TextToImage(image(weights=str(pix2pix))).setup("cpu")


def test_weights_that_do_not_load_are_told(xl: Path, tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_bytes((xl / "model_index.json").read_bytes())
    with pytest.raises(ToolUnavailable, match=r"weights in \[tools.image\] cannot be loaded: "):
        TextToImage(image(weights=str(tmp_path))).setup("cpu")


def test_a_pipeline_that_does_not_fit_into_memory_is_told(xl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(self: Any, device: str) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has ...")

    monkeypatch.setattr(ready().DiffusionPipeline, "to", full)
    with pytest.raises(ToolUnavailable, match=r"^the model of \[tools.image\] ran out .*: it needed 20.00 MiB more"):
        TextToImage(image(weights=str(xl))).setup("cpu")


def test_folder_with_half_precision_alone_is_loaded(xl: Path, tmp_path: Path) -> None:
    diffusers = ready()
    diffusers.StableDiffusionXLPipeline.from_pretrained(xl, local_files_only=True).save_pretrained(
        tmp_path, variant="fp16"
    )
    assert paint(tmp_path).tobytes() == paint(xl).tobytes()


def test_calls_do_not_disturb_each_other(xl: Path) -> None:
    tool = tool_of(TextToImage, image(weights=str(xl), steps=2))
    names = ["sun", "sea", "hill", "tree"]
    alone = {name: tool.apply(Path(), keywords=name).tobytes() for name in names}
    together: dict[str, bytes] = {}
    threads = [
        threading.Thread(target=lambda name=name: together.update({name: tool.apply(Path(), keywords=name).tobytes()}))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert together == alone


def test_refusal_of_the_safety_checker_and_lack_of_memory_are_told(xl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    painter = LocalPainter(xl, "cpu", edits=False, steps=2, seed=0, guidance=None)

    class Refused:
        images = (Image.new("RGB", (64, 64)),)
        nsfw_content_detected = (True,)

    def pipe(prompt: str, **values: Any) -> Any:
        if prompt == "full":
            raise torch.OutOfMemoryError("too much")
        return Refused()

    monkeypatch.setattr(painter, "_pipe", pipe)
    with pytest.raises(ToolError, match="safety checker refused"):
        painter.paint("sun")
    with pytest.raises(ToolFault, match=r"^TextToImage ran out of memory on cpu over one call"):
        painter.paint("full")


@pytest.mark.parametrize(
    ("instruction", "wanted"),
    [
        ("in grey", (76, 76, 76, 255)),
        ("a negative", (0, 255, 255, 255)),
        ("blur it", (255, 0, 0)),
        ("a sketch", (255, 255, 255)),
    ],
)
def test_changed_colours_keep_what_is_transparent(instruction: str, wanted: tuple[int, ...]) -> None:
    picture = Image.new("RGBA", (60, 40), (0, 0, 0, 0))
    picture.paste("red", (20, 0, 60, 40))
    made = ImageStylization(ToolSettings(basic=True)).apply(Path(), image=picture, instruction=instruction)
    clear = (0,) if len(wanted) == 4 else (255, 255, 255)
    assert made.getpixel((50, 20)) == wanted and made.getpixel((2, 2))[-len(clear) :] == clear
