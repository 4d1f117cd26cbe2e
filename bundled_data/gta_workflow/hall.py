"""Tasks of Granite Hall, a climbing hall."""

from __future__ import annotations

import json
from itertools import pairwise

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.recordings import COUNTS
from bundled_data.gta_workflow.task import Task, answer, either, every, file, group, leaf, said

WALLS = """```python
def solution():
    walls = ["Birch wall", "Slate wall", "Basalt wall", "Gneiss tower"]
    heights = [8, 12, 15, 18]
    figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
    bars = axis.bar(walls, heights, color=["#6aa84f", "#3c78d8", "#674ea7", "#a61c00"])
    axis.bar_label(bars, padding=3)
    axis.set_ylabel("Height (m)")
    axis.set_ylim(0, 21)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
```"""


def _course(plan: Plan) -> None:
    plan.user(
        "files/hall_rules.pdf has our rules. Make a presentation of five slides for the first evening of the beginners'"
        " course: a title slide, the partner check, the knot and the brake strand, our walls with a chart of their"
        " heights, and what beginners pay and wear. Keep the text short. Save it as first_evening.pptx."
    )
    plan.call(
        "What do the rules say?", "ReadPDF", file="files/hall_rules.pdf", shows=["figure-eight", "18 metres", "14 EUR"]
    )
    chart = plan.call("A chart of the walls.", "Plot", command=WALLS)
    slides = [
        {
            "title": "Your first evening at Granite Hall",
            "content": "Beginners' course\nKnots, checks and your first climb",
        },
        {
            "title": "The partner check",
            "content": "Harness buckle\nKnot\nBelay device\nLocked carabiner\nBoth look, both say so aloud",
        },
        {
            "title": "Knot and brake strand",
            "content": "We tie in with the figure-eight knot only\nThe belayer never lets go of the brake strand",
        },
        {"title": "Our walls", "content": "Start on the Birch wall: 8 m, top rope\n{{image_1}}"},
        {
            "title": "What you pay and wear",
            "content": "Day ticket: 14 EUR, below 18 years 9 EUR\nHarness and shoes: 6 EUR\nA helmet on every wall",
        },
    ]
    plan.call(
        "Five slides.",
        "PptxFileGenerator",
        slides_content_str=json.dumps(slides),
        filename="first_evening.pptx",
        image_paths=chart,
    )
    plan.answer(
        "first_evening.pptx has five slides: title, partner check, knot and brake strand, the walls with a chart of"
        " their heights, and prices and helmet."
    )


COURSE = Task(
    "Education & Instruction",
    ("files/hall_rules.pdf",),
    _course,
    (
        leaf(
            "A presentation first_evening.pptx of five slides was delivered.", file("first_evening.pptx", slides=5), 2
        ),
        leaf("Every slide of the presentation has a title.", file("first_evening.pptx", headings=5)),
        group(
            leaf(
                "The slide about the partner check names harness buckle, knot, belay device and carabiner.",
                file("*.pptx", contains=["buckle", "knot", "belay device", "carabiner"]),
                2,
            ),
            leaf(
                "The presentation says that only the figure-eight knot is accepted.",
                file("*.pptx", contains=[["figure-eight", "figure eight"]]),
            ),
            leaf(
                "The presentation says that the belayer never lets go of the brake strand.",
                file(
                    "*.pptx",
                    says=[said("brake strand", ["never", "not", "don't", "always", "keep", "keeps", "hold", "holds"])],
                ),
            ),
            weight=3,
        ),
        group(
            leaf(
                "A chart of the walls' heights is on a slide.",
                every(
                    either(file("*.pptx", pictures={"min": 1}), file("*.pptx", charts={"min": 1})),
                    file("*.pptx", shows=["12", "15", "18"]),
                ),
                2,
            ),
            leaf(
                "The chart names all four walls: Birch, Slate and Basalt wall, and Gneiss tower.",
                file("*.pptx", shows=["Birch", "Slate", "Basalt", "Gneiss"]),
            ),
            weight=2,
        ),
        leaf(
            "The presentation gives the prices for the day ticket (14 EUR) and for harness and shoes (6 EUR), and names"
            " the helmet.",
            file("*.pptx", numbers=[14, 6], contains=[["helmet", "helmets"]]),
            2,
        ),
        leaf(
            "The text of the presentation is short: at most 150 words in all.",
            file("*.pptx", words={"min": 20, "max": 150}),
        ),
    ),
)


def _roster(plan: Plan) -> None:
    plan.user(
        "files/staff.xlsx says who can work next weekend at the front desk. Every shift needs two people, and nobody"
        " works more than two shifts. Make a roster as roster.csv with the columns shift, first, second."
    )
    plan.call("Who can when?", "ReadXLSX", file="files/staff.xlsx", shows=["Cleo,no,yes,yes,no"])
    plan.call(
        "Sunday morning can only be Ben and Cleo, each of whom has one more shift at most.",
        "CsvFileGenerator",
        data_str=json.dumps(
            [
                ["shift", "first", "second"],
                ["Saturday morning", "Ada", "Eve"],
                ["Saturday afternoon", "Ada", "Cleo"],
                ["Sunday morning", "Ben", "Cleo"],
                ["Sunday afternoon", "Dov", "Eve"],
            ]
        ),
        filename="roster.csv",
    )
    plan.answer(
        "The roster is roster.csv. On Sunday morning only Ben and Cleo can work, so both are there; Ada, Cleo and Eve"
        " work two shifts, Ben and Dov one."
    )
    plan.user(
        "Ada just called: she is ill the whole weekend. Please make a new one without her as roster_without_ada.csv and"
        " tell me who works two shifts now."
    )
    plan.call("I look again at who can work when.", "ReadXLSX", file="files/staff.xlsx", shows=["Ben,yes,no,yes,yes"])
    plan.call(
        "Without Ada only one roster is left.",
        "CsvFileGenerator",
        data_str=json.dumps(
            [
                ["shift", "first", "second"],
                ["Saturday morning", "Ben", "Eve"],
                ["Saturday afternoon", "Cleo", "Dov"],
                ["Sunday morning", "Ben", "Cleo"],
                ["Sunday afternoon", "Dov", "Eve"],
            ]
        ),
        filename="roster_without_ada.csv",
    )
    plan.answer(
        "The new roster is roster_without_ada.csv. It is the only one that is possible: Ben, Cleo, Dov and Eve all work"
        " two shifts now."
    )


def _shift(name: str, shift: str, one: str, other: str) -> dict[str, object]:
    return file(name, contains=[[f"{shift} | {one} | {other}", f"{shift} | {other} | {one}"]])


SHIFTS = ["Saturday morning", "Saturday afternoon", "Sunday morning", "Sunday afternoon"]
NEW = "roster_without_ada.csv"

ROSTER = Task(
    "Planning & Decision",
    ("files/staff.xlsx",),
    _roster,
    (
        group(
            leaf(
                "roster.csv was delivered with a heading and four shifts.",
                file("roster.csv", rows=5, columns=3, contains=SHIFTS),
            ),
            leaf(
                "In roster.csv Ben and Cleo work on Sunday morning, who are the only ones that can.",
                _shift("roster.csv", "Sunday morning", "Ben", "Cleo"),
            ),
            weight=1,
        ),
        group(
            leaf(
                "roster_without_ada.csv was delivered with a heading and four shifts.",
                file(NEW, rows=5, columns=3, contains=SHIFTS),
            ),
            leaf("Ada is not in roster_without_ada.csv.", file(NEW, lacks=["Ada"], contains=["Ben", "Cleo"])),
            group(
                leaf(
                    "In roster_without_ada.csv Ben and Eve work on Saturday morning.",
                    _shift(NEW, "Saturday morning", "Ben", "Eve"),
                ),
                leaf(
                    "In roster_without_ada.csv Cleo and Dov work on Saturday afternoon.",
                    _shift(NEW, "Saturday afternoon", "Cleo", "Dov"),
                ),
                leaf(
                    "In roster_without_ada.csv Ben and Cleo work on Sunday morning.",
                    _shift(NEW, "Sunday morning", "Ben", "Cleo"),
                ),
                leaf(
                    "In roster_without_ada.csv Dov and Eve work on Sunday afternoon.",
                    _shift(NEW, "Sunday afternoon", "Dov", "Eve"),
                ),
                weight=2,
            ),
            leaf(
                "The last answer says that Ben, Cleo, Dov and Eve all work two shifts.",
                answer(contains=["Ben", "Cleo", "Dov", "Eve", ["two", "2"]]),
            ),
            weight=3,
        ),
    ),
)


def _bells(plan: Plan) -> None:
    plan.user(
        "files/hall_bells.wav has our chime (from second 1 to 4) and our gong (from 5 to 7.5). Cut both out as MP3"
        " files of their own, opening.mp3 for the chime and closing.mp3 for the gong, so that I can put them on the"
        " loudspeakers. Tell me how long each of them is."
    )
    plan.call(
        "The chime.",
        "AudioClipTool",
        audio="files/hall_bells.wav",
        start_time=1.0,
        end_time=4.0,
        filename="opening.mp3",
    )
    plan.call(
        "The gong.", "AudioClipTool", audio="files/hall_bells.wav", start_time=5.0, end_time=7.5, filename="closing.mp3"
    )
    plan.answer("opening.mp3 is the chime, 3 seconds long, and closing.mp3 the gong, 2.5 seconds long.")


BELLS = Task(
    "Creative Design",
    ("files/hall_bells.wav",),
    _bells,
    (
        group(
            leaf(
                "opening.mp3 was delivered and is three seconds long.",
                file("opening.mp3", seconds={"min": 2.9, "max": 3.2}),
            ),
            leaf(
                "opening.mp3 holds the chime: bright notes above 500 Hz, and no silence.",
                file("opening.mp3", pitch={"min": 500, "max": 1100}, loudness={"min": -45}),
            ),
        ),
        group(
            leaf(
                "closing.mp3 was delivered and is two and a half seconds long.",
                file("closing.mp3", seconds={"min": 2.4, "max": 2.7}),
            ),
            leaf(
                "closing.mp3 holds the gong: a note of about 196 Hz, and no silence.",
                file("closing.mp3", pitch={"min": 180, "max": 210}, loudness={"min": -45}),
            ),
        ),
        leaf(
            "The answer says how long the files are: opening.mp3 three seconds, closing.mp3 two and a half.",
            every(
                either(answer(numbers=[{"value": 3, "tolerance": 0.1}]), answer(contains=["three seconds"])),
                either(
                    answer(numbers=[{"value": 2.5, "tolerance": 0.1}]),
                    answer(contains=[["two and a half", "two-and-a-half"]]),
                ),
            ),
            0.5,
        ),
    ),
)


def _ropes(plan: Plan) -> None:
    plan.user(
        "Which of the ropes in files/rope_log.pdf have to be retired by the rule that it states, as of its date? Answer"
        ' with JSON only, for our inventory program: an object with the lists "retire" and "keep" of rope numbers, and'
        ' "reasons", an object from each retired rope to "age" or "falls".'
    )
    plan.call(
        "The log and its rule.",
        "ReadPDF",
        file="files/rope_log.pdf",
        shows=["R4: bought in November 2020", "more than ten hard"],
    )
    found = {"retire": ["R1", "R2", "R4"], "keep": ["R3", "R5"], "reasons": {"R1": "age", "R2": "falls", "R4": "age"}}
    plan.answer(json.dumps(found))


ROPES = Task(
    "Retrieval & QA",
    ("files/rope_log.pdf",),
    _ropes,
    (
        leaf(
            "The answer is a JSON object with retire, keep and reasons.",
            answer(json={"keys": ["retire", "keep", "reasons"]}),
        ),
        leaf(
            "In the answer R1, R2 and R4 are to be retired, and no other rope.",
            answer(json={"values": {"retire": ["R1", "R2", "R4"]}}),
            3,
        ),
        leaf(
            "In the answer R3 and R5 are to be kept, and no other rope.",
            answer(json={"values": {"keep": ["R3", "R5"]}}),
            2,
        ),
        leaf(
            "In the answer the reasons are age for R1 and R4, and falls for R2.",
            answer(json={"values": {"reasons": {"R1": "age", "R2": "falls", "R4": "age"}}}),
            2,
        ),
    ),
)


def _visitors(plan: Plan) -> None:
    plan.user(
        "files/door_display.mp4 is a film of the display at our door: it counts everybody who came since the morning."
        " Make a table as visitors.csv with the time and the count for each time that it shows, and tell me in which"
        " hour most visitors came, and how many."
    )
    plan.call(
        "One frame a second is enough.",
        "VideoOCR",
        video="files/door_display.mp4",
        frame_skip=4,
        shows=["31 visitors", "97 visitors"],
    )
    counts = [count for _, count in COUNTS]
    more = [later - earlier for earlier, later in pairwise(counts)]
    plan.call(
        "How many came in each hour?",
        "Calculator",
        expression=f"[{', '.join(f'{later} - {earlier}' for earlier, later in pairwise(counts))}]",
        shows=[str(more)],
    )
    plan.call(
        "The table.", "CsvFileGenerator", data_str=json.dumps([["time", "visitors"], *COUNTS]), filename="visitors.csv"
    )
    plan.answer(
        "Most came between 10:00 and 11:00: 27 visitors (from 31 to 58). All six times with their counts are in"
        " visitors.csv."
    )


MOST = ["most", "busiest", "peak", "highest", "maximum", "largest", "biggest", "27"]
OTHER_HOURS = ["09:00", "9:00", "9 am", "12:00", "12", "13:00", "13", "14:00", "14", "not"]

VISITORS = Task(
    "Data Analysis",
    ("files/door_display.mp4",),
    _visitors,
    (
        group(
            leaf(
                "visitors.csv was delivered with a heading and six times.", file("visitors.csv", rows=7, columns=2), 1
            ),
            leaf(
                "In visitors.csv every time stands beside its count: 09:00 12, 10:00 31, 11:00 58, 12:00 66, 13:00 71,"
                " 14:00 97.",
                file("visitors.csv", contains=[f"{time} | {count}" for time, count in COUNTS]),
                2,
            ),
            weight=2,
        ),
        leaf(
            "The answer names the hour from 10:00 to 11:00 as the one in which most visitors came.",
            answer(
                says=[said(["10:00", "10", "10 am", "10am"], ["11:00", "11", "11 am", "11am"], MOST, none=OTHER_HOURS)]
            ),
        ),
        leaf("The answer says that 27 visitors came in the busiest hour.", answer(numbers=[27]), 1),
    ),
)

TASKS = (COURSE, ROSTER, BELLS, ROPES, VISITORS)
