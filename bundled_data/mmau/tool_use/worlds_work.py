"""Tools for work and kitchen: stock, issues, recipes, messages and conversions."""

from __future__ import annotations

from bundled_data.mmau.tool_use.words import (
    Json,
    ToolError,
    day,
    group,
    many,
    number,
    of,
    or_null,
    text,
    tool,
    whole,
    yes_no,
)

DATE = "Date as YYYY-MM-DD."

# -- stock

_STOCK = {"BR-20": {"Graz": 14, "Linz": 120}, "BR-35": {"Graz": 0, "Linz": 64}, "NUT-8": {"Graz": 900, "Linz": 35}}
_SUPPLIERS = {"S-4": ("Nordmetall", ("BR-20", "BR-35")), "S-9": ("Żelazo i Syn", ("NUT-8",))}


@tool(
    "How many pieces of an article a warehouse has.",
    {"article": text("Number of the article."), "site": text("Warehouse.", "Graz", "Linz")},
)
def stock_level(article: str, site: str) -> Json:
    return {"article": article, "site": site, "pieces": of(_STOCK, article, "article")[site]}


@tool(
    "Move pieces between warehouses.",
    {
        "article": text("Number of the article."),
        "source": text("From here.", "Graz", "Linz"),
        "target": text("To here.", "Graz", "Linz"),
        "pieces": whole("How many."),
    },
)
def stock_move(article: str, source: str, target: str, pieces: int) -> Json:
    there = of(_STOCK, article, "article")[source]
    if pieces > there:
        raise ToolError(f"only {there} pieces of {article} in {source}")
    return {"transfer": f"TR-{pieces}"}


@tool("Who supplies an article.", {"article": text("Number of the article.")})
def stock_supplier(article: str) -> list[Json]:
    return [{"supplier_id": key, "name": name} for key, (name, articles) in _SUPPLIERS.items() if article in articles]


@tool(
    "Order articles.",
    {
        "supplier_id": text("Number of the supplier."),
        "lines": many(
            "What to order, in the order in which it was asked for.",
            group("One line.", {"article": text("Number of the article."), "pieces": whole("How many.")}),
        ),
        "express": yes_no("Within two days."),
    },
)
def stock_order(supplier_id: str, lines: list[Json], express: bool) -> Json:
    for line in lines:
        if line["article"] not in of(_SUPPLIERS, supplier_id, "supplier")[1]:
            raise ToolError(f"{supplier_id} does not supply {line['article']}")
    return {"order": f"PO-{len(lines)}{sum(line['pieces'] for line in lines)}"}


# -- issues

_ISSUES = {
    41: ("Crash when a file name has an umlaut", "open", ("bug", "i18n"), None),
    44: ("Export as CSV", "open", ("feature",), "ravi"),
    47: ("Totals are rounded twice", "open", ("bug",), None),
    52: ("Typo on the start page", "closed", ("docs",), "noa"),
}


@tool(
    "Issues of the project, oldest first.",
    {"state": text("State.", "open", "closed")},
    {"label": text("Only those with this label."), "unassigned_only": yes_no("Only those that nobody works on.")},
)
def issues_list(state: str, label: str | None = None, unassigned_only: bool = False) -> list[Json]:
    return [
        {"issue": key, "title": title, "labels": list(labels), "assignee": who}
        for key, (title, now, labels, who) in _ISSUES.items()
        if now == state and (label is None or label in labels) and not (unassigned_only and who)
    ]


@tool(
    "Give an issue to somebody.",
    {"issue": whole("Number of the issue."), "assignee": or_null(text("Login name; null for nobody."))},
)
def issues_assign(issue: int, assignee: str | None) -> Json:
    return {
        "issue": issue,
        "title": of({str(key): value for key, value in _ISSUES.items()}, str(issue), "issue")[0],
        "assignee": assignee,
    }


@tool(
    "Open an issue.",
    {
        "title": text("Title."),
        "labels": many(
            "Labels, in the order in which they were named.", text("Label.", "bug", "feature", "docs", "i18n")
        ),
        "priority": text("Priority.", "low", "normal", "high"),
    },
    {
        "estimate_hours": or_null(number("Estimate; null while unknown.")),
        "confidential": yes_no("Hidden from the public."),
    },
)
def issues_open(
    title: str, labels: list[str], priority: str, estimate_hours: float | None = None, confidential: bool = False
) -> Json:
    return {"issue": max(_ISSUES) + 1}


# -- recipes

_RECIPES: dict[str, tuple[str, int, bool, int, dict[str, float]]] = {
    "r-5": ("Lentil soup", 35, True, 4, {"lentils_g": 250, "carrots": 3, "onions": 1}),
    "r-8": ("Käsespätzle", 40, True, 2, {"flour_g": 200, "eggs": 3, "cheese_g": 150, "onions": 2}),
    "r-9": ("Carrot salad", 15, True, 3, {"carrots": 6, "lemons": 1}),
    "r-13": ("Fish with fennel", 30, False, 2, {"fish_g": 360, "fennel": 1, "lemons": 0.5}),
}


@tool(
    "Recipes that use an ingredient.",
    {"ingredient": text("Ingredient in the plural, such as beans."), "max_minutes": whole("Longest time of cooking.")},
    {"vegetarian": yes_no("Only vegetarian ones.")},
)
def recipe_find(ingredient: str, max_minutes: int, vegetarian: bool = False) -> list[Json]:
    return [
        {"recipe_id": key, "title": title, "minutes": minutes, "servings": servings}
        for key, (title, minutes, meatless, servings, parts) in _RECIPES.items()
        if any(name.removesuffix("_g") == ingredient for name in parts)
        and minutes <= max_minutes
        and (meatless or not vegetarian)
    ]


@tool(
    "Ingredients of a recipe for a number of servings.",
    {"recipe_id": text("Number of the recipe."), "servings": whole("Servings.")},
)
def recipe_scale(recipe_id: str, servings: int) -> Json:
    _, _, _, usual, parts = of(_RECIPES, recipe_id, "recipe")
    return {name: round(much * servings / usual, 2) for name, much in parts.items()}


@tool(
    "Put things on the shopping list.",
    {"items": many("Names, in the order in which they are given.", {"type": "string"})},
    {"shop": text("Shop.")},
)
def recipe_shop(items: list[str], shop: str | None = None) -> Json:
    return {"on_list": len(items)}


# -- messages

_PEOPLE = {
    "c-1": ("José Peña", "family"),
    "c-2": ("Müller Garage", "work"),
    "c-3": ("Aiko Tanaka", "work"),
    "c-4": ("José Lima", "work"),
}


@tool("Contacts whose name begins with a text.", {"name": text("First name or full name.")})
def message_contacts(name: str) -> list[Json]:
    return [
        {"contact_id": key, "name": full, "group": kind}
        for key, (full, kind) in _PEOPLE.items()
        if full.startswith(name)
    ]


@tool(
    "Send a message to contacts.",
    {"contact_ids": many("To whom.", {"type": "string"}), "body": text("The message.")},
    {"urgent": yes_no("With an alarm.")},
)
def message_send(contact_ids: list[str], body: str, urgent: bool = False) -> Json:
    return {"sent": [of(_PEOPLE, contact, "contact")[0] for contact in contact_ids]}


@tool(
    "Send a message later.",
    {"contact_id": text("To whom."), "body": text("The message."), "at": text("Date and time without time zone.")},
)
def message_later(contact_id: str, body: str, at: str) -> Json:
    return {"planned": of(_PEOPLE, contact_id, "contact")[0], "at": at}


# -- conversions

_EUROS = {"EUR": 1.0, "CHF": 1.04, "PLN": 0.235, "JPY": 0.0062, "USD": 0.92}
_UNITS = {
    "m": ("length", 1.0),
    "ft": ("length", 0.3048),
    "kg": ("mass", 1.0),
    "lb": ("mass", 0.45359237),
    "l": ("volume", 1.0),
}


@tool(
    "Convert money at today's rate.",
    {
        "amount": number("How much."),
        "source": text("Currency it is in.", *_EUROS),
        "target": text("Currency wanted.", *_EUROS),
    },
)
def convert_money(amount: float, source: str, target: str) -> Json:
    return {"amount": round(amount * _EUROS[source] / _EUROS[target], 2), "currency": target}


@tool(
    "Convert a quantity into another unit.",
    {"value": number("How much."), "source": text("Unit it is in.", *_UNITS), "target": text("Unit wanted.", *_UNITS)},
)
def convert_unit(value: float, source: str, target: str) -> Json:
    (kind, each), (wanted, other) = _UNITS[source], _UNITS[target]
    if kind != wanted:
        raise ToolError(f"cannot convert {kind} into {wanted}")
    return {"value": round(value * each / other, 3), "unit": target}


@tool("Count the days between two dates.", {"first": text(DATE), "last": text(DATE)})
def convert_days(first: str, last: str) -> Json:
    return {"days": (day(last) - day(first)).days}
