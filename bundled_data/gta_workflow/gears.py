"""A larger task of Spoke & Anchor: a worksheet, its solutions and a diagram, with fifteen checkpoints."""

from __future__ import annotations

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, either, file, group, leaf

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
    return solve(Eq(45 / teeth, 2.5), teeth)
```"""

CADENCE = """```python
def solution():
    turns = symbols("turns")
    return solve(Eq(2.5 * 2.1 * turns * 60 / 1000, 28.35), turns)
```"""

PROBLEMS = """# Gear ratios: worksheet

Name: ______________________    Date: ______________

A **gear ratio** is the number of teeth on the chainring divided by the number of teeth on the sprocket. One turn of \
the pedals turns the wheel that many times. Our wheel rolls 2.1 metres in one turn.

## Problems

1. A chainring has 52 teeth, the sprocket has 16. What is the gear ratio?
2. With that gear you pedal 80 turns per minute. How fast do you ride, in km/h?
3. A chainring has 45 teeth. Which sprocket gives a ratio of 2.5?
4. With a ratio of 2.5 you ride 28.35 km/h. How many turns per minute do you pedal?
"""


def _worksheet(plan: Plan) -> None:
    plan.user(
        "I teach apprentices how gears work. files/gear_problems.csv has four problems, a line each, where a question"
        " mark stands for what is asked for; the wheel rolls 2.1 m per turn. Please make a worksheet of one page out of"
        " them as worksheet.pdf. Explain in a sentence or two first what the gear ratio is. No solutions on it: these"
        " go into solutions.pdf with the way to each result, and with a diagram of speed by cadence for the ratios 2,"
        " 2.5 and 3. Check your results by solving the equations."
    )
    plan.call("The four problems.", "ReadCSV", csv_file="files/gear_problems.csv", shows=["52,16", "45,?,2.5", "28.35"])
    plan.call(
        "The first two results.",
        "Calculator",
        expression="[52 / 16, round(52 / 16 * 2.1 * 80 * 60 / 1000, 2)]",
        shows=["[3.25, 32.76]"],
    )
    plan.call("The sprocket.", "Solver", command=SPROCKET, shows=["18"])
    plan.call("The cadence.", "Solver", command=CADENCE, shows=["90"])
    diagram = plan.call("The diagram.", "Plot", command=DIAGRAM)
    plan.call(
        "The worksheet, without solutions.",
        "PdfFileGenerator",
        content=PROBLEMS,
        filename="worksheet.pdf",
        render_markdown=True,
    )
    plan.call(
        "And the solutions.",
        "PdfFileGenerator",
        content=f"""# Gear ratios: solutions

1. 52 / 16 = **3.25**
2. 3.25 x 2.1 m x 80 per minute x 60 minutes = 32,760 m per hour = **32.76 km/h**
3. 45 / sprocket = 2.5, so the sprocket has 45 / 2.5 = **18 teeth**
4. 28.35 km/h is 28,350 m / 60 = 472.5 m per minute, and 472.5 / (2.5 x 2.1) = **90 turns per minute**

## Speed by cadence

![Speed by cadence for three gear ratios]({diagram})
""",
        filename="solutions.pdf",
        render_markdown=True,
    )
    plan.answer(
        "worksheet.pdf holds the four problems and solutions.pdf the ways to the results, with the diagram. The"
        " results, which I checked by solving the equations: ratio 3.25; 32.76 km/h; a sprocket of 18 teeth; 90 turns"
        " per minute."
    )


def _problem(sentence: str, *numbers: float) -> dict[str, object]:
    return leaf(f"The worksheet asks for {sentence}.", file("worksheet.pdf", numbers=list(numbers)))


RATIOS: tuple[str | list[str], ...] = (
    ["ratio 2.0", "ratio 2", "2.0", "2"],
    "2.5",
    ["ratio 3.0", "ratio 3", "3.0", "3"],
)
AXES = ["cadence", "turns per minute", "turns/min", "rpm"], ["speed", "km/h"]

WORKSHEET = Task(
    "Education & Instruction",
    ("files/gear_problems.csv",),
    _worksheet,
    (
        group(
            leaf("A PDF worksheet.pdf of one page was delivered.", file("worksheet.pdf", pages=1)),
            leaf(
                "The worksheet explains in a sentence or two what a gear ratio is: teeth of the chainring by teeth of"
                " the sprocket.",
                file(
                    "worksheet.pdf",
                    contains=[
                        "teeth",
                        ["sprocket", "rear cog", "cog"],
                        ["divided by", "divide", "quotient", "ratio of", "compares", "per", "/"],
                    ],
                ),
                2,
            ),
            group(
                _problem("the ratio of 52 and 16 teeth", 52, 16),
                _problem("the speed at 80 turns per minute", 80),
                _problem("the sprocket that gives 2.5 with 45 teeth", 45, 2.5),
                _problem("the turns per minute at 28.35 km/h", 28.35),
                weight=4,
            ),
            leaf(
                "The worksheet holds the problems and no solutions.",
                file("worksheet.pdf", lacks=["3.25", "32.76"], numbers=[52, 16, 45, 28.35]),
            ),
            weight=0.45,
        ),
        group(
            leaf("A PDF solutions.pdf was delivered.", file("solutions.pdf", pages={"min": 1, "max": 3})),
            leaf("In solutions.pdf the ratio of 52 and 16 teeth is 3.25.", file("solutions.pdf", numbers=[3.25])),
            leaf(
                "In solutions.pdf the speed at 80 turns per minute is 32.76 km/h.",
                file("solutions.pdf", numbers=[{"value": 32.76, "tolerance": 0.05}]),
            ),
            leaf(
                "In solutions.pdf the sprocket has 18 teeth, and 28.35 km/h take 90 turns per minute.",
                file("solutions.pdf", numbers=[18, 90]),
            ),
            leaf(
                "In solutions.pdf the ways to the results are shown, not only the results.",
                file(
                    "solutions.pdf",
                    contains=[["52 / 16", "52/16", "52 : 16", "52:16", "52 \u00f7 16", "52 divided by 16"]],
                    numbers=[45, 28.35],
                ),
            ),
            weight=0.35,
        ),
        group(
            leaf(
                "The diagram has a line for each of the ratios 2, 2.5 and 3.",
                either(file("*.png", shows=list(RATIOS)), file("solutions.pdf", shows=list(RATIOS))),
            ),
            leaf(
                "The diagram says what its axes are: cadence and speed.",
                either(file("*.png", shows=list(AXES)), file("solutions.pdf", shows=list(AXES))),
            ),
            leaf("The diagram is in solutions.pdf.", file("solutions.pdf", shows=list(AXES))),
            weight=0.2,
        ),
    ),
)
