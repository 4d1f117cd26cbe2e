"""A task of Leaf & Kettle for the tool that makes animations."""

from __future__ import annotations

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, file, group, leaf


def _clip(plan: Plan) -> None:
    plan.user(
        "Our new tea starts on Friday. Please make a little animation for the screen behind the counter, three seconds"
        " at 12 frames a second and 480 by 360 pixels, titled Fresh mint from Friday. Then write 2.80 EUR in dark green"
        " at its top, and give me the result as fresh_mint.mp4."
    )
    plain = plan.call(
        "Three seconds at 12 frames are 36 frames.",
        "TextToVideoTool",
        description="Fresh mint from Friday",
        num_frames=36,
        resolution="480,360",
        fps=12,
        filename="fresh_mint_plain.mp4",
    )
    plan.call(
        "And the price.",
        "AddTextVideoTool",
        video=plain,
        text="2.80 EUR",
        position="28,60",
        font_scale=1.4,
        color="60,90,20",
        thickness=3,
        filename="fresh_mint.mp4",
    )
    plan.answer(
        "The animation is fresh_mint.mp4: three seconds, with the title below and 2.80 EUR in dark green at the top."
    )


CLIP = Task(
    "Creative Design",
    (),
    _clip,
    (
        group(
            leaf(
                "A video fresh_mint.mp4 of 480 by 360 pixels was delivered.",
                file("fresh_mint.mp4", width=480, height=360),
            ),
            leaf(
                "The video fresh_mint.mp4 is three seconds long and has 36 frames.",
                file("fresh_mint.mp4", seconds={"min": 2.8, "max": 3.2}, frames=36),
            ),
            weight=0.5,
        ),
        leaf(
            "The title Fresh mint from Friday can be read in the video.",
            file("fresh_mint.mp4", shows=["Fresh mint from Friday"]),
            0.25,
        ),
        leaf(
            "The price, 2.80 EUR, can be read in the video.",
            file("fresh_mint.mp4", shows=[["2.80 EUR", "2.80EUR"]]),
            0.25,
        ),
    ),
)
