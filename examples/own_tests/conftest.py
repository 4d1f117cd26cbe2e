"""A picture for the tests to ask about."""

import pytest
from PIL import Image, ImageDraw, ImageFont

LINES = ("CORNER CAFE", "Soup 8.50", "Bread 2.10", "Total 10.60")


@pytest.fixture
def receipt(tmp_path):
    picture = Image.new("RGB", (420, 60 * len(LINES) + 40), "white")
    for number, line in enumerate(LINES):
        ImageDraw.Draw(picture).text((30, 60 * number + 20), line, "black", ImageFont.load_default(36))
    picture.save(tmp_path / "receipt.png")
    return tmp_path / "receipt.png"
