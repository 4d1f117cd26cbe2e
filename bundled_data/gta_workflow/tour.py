"""A task of Spoke & Anchor that needs no file: a look-up, answered in a few sentences."""

from __future__ import annotations

from bundled_data.gta_workflow.plan import Plan
from bundled_data.gta_workflow.task import Task, answer, either, leaf, said
from bundled_data.gta_workflow.words import SOURCES


def _energy(plan: Plan) -> None:
    plan.user(
        "Our guided tour takes two and a half hours at 20 km/h on flat roads. How much energy does a rider of 70 kg use"
        " on it, and how many of our oat bars (210 kcal each) would make up for it? Look the figure up and say where it"
        " is from. Three sentences are enough."
    )
    plan.call(
        "I look for the energy that cycling takes.",
        "GoogleSearch",
        query="energy used by cycling 70 kilograms 20 km/h kcal per hour",
        k=3,
        shows=["560"],
    )
    plan.call(
        "Two and a half hours, then bars.",
        "Calculator",
        expression="[560 * 2.5, 560 * 2.5 / 210]",
        shows=["1400.0", "6.66"],
    )
    plan.answer(
        "According to the entry 'Energy used by cycling' that the search found, a rider of 70 kg uses about 560 kcal an"
        " hour at 20 km/h on flat roads. Over two and a half hours that makes about 1,400 kcal. It takes 6.7 oat bars"
        " of 210 kcal to make up for it, so seven bars."
    )


ENERGY = Task(
    "Retrieval & QA",
    (),
    _energy,
    (
        leaf(
            "The answer gives the energy of the whole tour as about 1,400 kcal.",
            answer(numbers=[{"value": 1400, "tolerance": 20}]),
            3,
        ),
        leaf(
            "The answer says that about 6.7, so seven oat bars make up for the energy of the tour.",
            either(
                answer(contains=["seven"]), answer(numbers=[7]), answer(numbers=[{"value": 6.67, "tolerance": 0.05}])
            ),
            2,
        ),
        leaf(
            "The answer gives 560 kcal an hour and says where that is from.",
            answer(
                numbers=[560],
                says=[said(SOURCES, none=["made", "guess", "guessed", "me", "my", "no source", "unknown", "memory"])],
            ),
            1,
        ),
    ),
)
