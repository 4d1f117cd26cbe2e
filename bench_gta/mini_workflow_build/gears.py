"""A larger task of Spoke & Anchor: a worksheet, its solutions and a diagram, with fifteen checkpoints."""

from __future__ import annotations

from bench_gta.mini_workflow_build.plan import Plan
from bench_gta.mini_workflow_build.task import Task, answer, every, file, group, leaf

DIAGRAM = """```python
def solution():
    cadence = list(range(50, 111, 10))
    figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for ratio, colour in ((2.0, "#b5532a"), (2.5, "#2f6f73"), (3.0, "#3d3a5c")):
        axis.plot(cadence, [ratio * 2.1 * turns * 60 / 1000 for turns in cadence], color=colour, label=f"ratio {ratio}")
    axis.set_xlabel("Cadence (turns per minute)")
    axis.set_ylabel("Speed (km/h)")
    axis.set_title("Speed by cadence for three gear ratios")
    axis.legend()
    axis.grid(alpha=0.3)
    return figure
```"""

SPROCKET = """```python
def solution():
    teeth = symbols("teeth")
    return solve(Eq(40 / teeth, 2.5), teeth)
```"""

CADENCE = """```python
def solution():
    turns = symbols("turns")
    return solve(Eq(2.5 * 2.1 * turns * 60 / 1000, 25.2), turns)
```"""

PROBLEMS = """# Gear ratios: worksheet

Name: ______________________    Date: ______________

A **gear ratio** is the number of teeth on the chainring divided by the number of teeth on the sprocket. One turn of the pedals \
turns the wheel that many times. Our wheel rolls 2.1 metres in one turn.

## Problems

1. A chainring has 48 teeth, the sprocket has 16. What is the gear ratio?
2. With that gear you pedal 80 turns per minute. How fast do you ride, in km/h?
3. A chainring has 40 teeth. Which sprocket gives a ratio of 2.5?
4. With a ratio of 2.5 you ride 25.2 km/h. How many turns per minute do you pedal?
"""


def _worksheet(plan: Plan) -> None:
    plan.user(
        "I teach apprentices how gears work. Please make a worksheet as worksheet.pdf with these four problems, each on a wheel that "
        "rolls 2.1 m per turn: the ratio of 48 and 16 teeth; the speed in km/h with that ratio at 80 turns of the pedals per minute; "
        "the sprocket that gives a ratio of 2.5 with a chainring of 40 teeth; the turns per minute at 25.2 km/h with that ratio. "
        "Explain the gear ratio in a sentence or two first. No solutions on it: these go into solutions.pdf with the way to each "
        "result, and with a diagram of speed by cadence for the ratios 2, 2.5 and 3. Check your results by solving the equations."
    )
    plan.call(
        "The first two results.", "Calculator", expression="[48 / 16, round(48 / 16 * 2.1 * 80 * 60 / 1000, 2)]", shows=["[3.0, 30.24]"]
    )
    plan.call("The sprocket.", "Solver", command=SPROCKET, shows=["16"])
    plan.call("The cadence.", "Solver", command=CADENCE, shows=["80"])
    diagram = plan.call("The diagram.", "Plot", command=DIAGRAM)
    plan.call("The worksheet, without solutions.", "PdfFileGenerator", content=PROBLEMS, filename="worksheet.pdf", render_markdown=True)
    plan.call(
        "And the solutions.",
        "PdfFileGenerator",
        content=f"""# Gear ratios: solutions

1. 48 / 16 = **3.0**
2. 3.0 x 2.1 m x 80 per minute x 60 minutes = 30,240 m per hour = **30.24 km/h**
3. 40 / sprocket = 2.5, so the sprocket has 40 / 2.5 = **16 teeth**
4. 25.2 km/h is 25,200 m / 60 = 420 m per minute, and 420 / (2.5 x 2.1) = **80 turns per minute**

## Speed by cadence

![Speed by cadence for three gear ratios]({diagram})
""",
        filename="solutions.pdf",
        render_markdown=True,
    )
    plan.answer(
        "worksheet.pdf holds the four problems and solutions.pdf the ways to the results, with the diagram. The results, which I "
        "checked by solving the equations: ratio 3.0; 30.24 km/h; a sprocket of 16 teeth; 80 turns per minute."
    )


def _problem(sentence: str, *texts: str) -> dict[str, object]:
    return leaf(f"The worksheet asks for {sentence}.", file("worksheet.pdf", contains=list(texts)))


WORKSHEET = Task(
    "Education & Instruction",
    (),
    _worksheet,
    (
        group(
            leaf("A PDF worksheet.pdf of one page was delivered.", file("worksheet.pdf", pages=1), 2),
            leaf(
                "The worksheet explains in a sentence or two what a gear ratio is.",
                file("worksheet.pdf", contains=["gear ratio", "teeth"], words={"min": 60}),
                2,
            ),
            group(
                _problem("the ratio of 48 and 16 teeth", "48", "16"),
                _problem("the speed at 80 turns per minute", "80", "km/h"),
                _problem("the sprocket that gives 2.5 with 40 teeth", "40", "2.5"),
                _problem("the turns per minute at 25.2 km/h", "25.2"),
                weight=4,
            ),
            leaf("The worksheet holds no solutions.", file("worksheet.pdf", lacks=["30.24", "= 3"], words={"min": 60})),
            weight=0.45,
        ),
        group(
            leaf("A PDF solutions.pdf was delivered.", file("solutions.pdf", pages={"min": 1, "max": 3})),
            leaf("In solutions.pdf the ratio of 48 and 16 teeth is 3.", file("solutions.pdf", numbers=[3])),
            leaf(
                "In solutions.pdf the speed at 80 turns per minute is 30.24 km/h.",
                file("solutions.pdf", numbers=[{"value": 30.24, "tolerance": 0.05}]),
            ),
            leaf(
                "In solutions.pdf the sprocket has 16 teeth, and 25.2 km/h take 80 turns per minute.",
                file("solutions.pdf", numbers=[16, 80]),
            ),
            leaf(
                "In solutions.pdf the ways to the results are shown, not only the results.",
                file("solutions.pdf", numbers=[48, 2.1, 40], words={"min": 40}),
            ),
            weight=0.35,
        ),
        group(
            leaf(
                "A diagram of speed by cadence with three lines was drawn as a picture.",
                file("*.png", width={"min": 300}, colours={"min": 4}),
            ),
            leaf(
                "The diagram says what its axes are: cadence and speed.",
                file("*.png", shows=[["cadence", "cadence (turns per minute)"], ["speed", "speed (km/h)"]]),
            ),
            leaf(
                "The diagram is in solutions.pdf, and the answer names both files.",
                every(file("solutions.pdf", pictures={"min": 1}), answer(contains=["worksheet.pdf", "solutions.pdf"])),
            ),
            weight=0.2,
        ),
    ),
)
