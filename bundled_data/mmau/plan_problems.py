"""Requests and functions from which plans are made. Single, double and triple: how many calls wait for each other at
most."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SIGNATURE = re.compile(r"(\w+)\((.*?)\) returns ([\w, ]+): (.+)")


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Problem:
    name: str
    length: str
    says: str
    known: tuple[str, ...]  # inputs that the request gives
    wanted: tuple[str, ...]
    functions: dict[str, Function]
    count: int  # of plans
    steps: bool  # whether plans are shown with a line for every step


def _problem(
    name: str, length: str, count: int, says: str, known: str, wanted: str, functions: str, *, steps: bool = False
) -> Problem:
    found = {}
    for line in functions.strip().splitlines():
        match = _SIGNATURE.fullmatch(line.strip())
        assert match, line
        found[match[1]] = Function(match[1], tuple(match[2].split(", ")), tuple(match[3].split(", ")), match[4])
    return Problem(name, length, says, tuple(known.split(", ")), tuple(wanted.split(", ")), found, count, steps)


PROBLEMS = (
    _problem(
        "weather",
        "single",
        2,
        "How warm will it be in Tromsø on Monday?",
        "city, date",
        "temperature",
        """
        get_forecast(city, date) returns temperature: Forecast of the temperature on a day.
        get_sun_times(city, date) returns sunrise, sunset: When the sun rises and sets.
        get_past_weather(city, date) returns past_temperature: What was measured on a day in the past.
        """,
    ),
    _problem(
        "trip-facts",
        "single",
        5,
        "I fly to São Paulo on 3 May. What is the weather forecast for that day there, and do I need a plug adapter?",
        "city, date",
        "forecast, plug_type",
        """
        forecast_weather(city, date) returns forecast: Weather of a coming day.
        plug_type_of(city) returns plug_type: Shape of the sockets.
        local_time(city) returns clock_time: What time it is there.
        average_weather(city, date) returns average: Mean weather of the last thirty years.
        """,
    ),
    _problem(
        "shop-order",
        "single",
        6,
        "Where is my order 5512 now, and what does the invoice of order 5512 come to?",
        "order_number",
        "parcel_place, invoice_total",
        """
        locate_order(order_number) returns parcel_place: Where the parcel of an order is.
        invoice_of(order_number) returns invoice_total: Sum of an order's invoice.
        cancel_order(order_number) returns cancellation: Cancels an order that was not delivered.
        reorder(order_number) returns new_order_number: Orders the same things again.
        """,
        steps=True,
    ),
    _problem(
        "text-tools",
        "single",
        7,
        "For the attached article: I need a summary, a list of the people named in it, and the language it is"
        " written in.",
        "article",
        "summary, people, language",
        """
        summarise(article) returns summary: A few sentences about a text.
        extract_people(article) returns people: Names of the persons in a text.
        detect_language(article) returns language: Which language a text is in.
        count_words(article) returns word_count: How many words a text has.
        extract_places(article) returns places: Names of the places in a text.
        """,
    ),
    _problem(
        "garden",
        "single",
        4,
        "Water the bed by the wall for ten minutes, and close the greenhouse roof.",
        "bed, minutes, greenhouse",
        "watering_started, roof_closed",
        """
        water_bed(bed, minutes) returns watering_started: Opens the valve of a bed for some minutes.
        close_roof(greenhouse) returns roof_closed: Closes the roof windows.
        open_roof(greenhouse) returns roof_opened: Opens the roof windows.
        measure_soil(bed) returns soil_moisture: Moisture of the soil of a bed.
        """,
    ),
    _problem(
        "contact",
        "double",
        3,
        "Send Jürgen Öztürk an e-mail that the meeting is moved to four o'clock.",
        "full_name, text",
        "mail_receipt",
        """
        find_mail_address(full_name) returns mail_address: Looks up somebody's e-mail address.
        find_phone_number(full_name) returns phone_number: Looks up somebody's telephone number.
        send_mail(mail_address, text) returns mail_receipt: Sends an e-mail.
        send_short_message(phone_number, text) returns message_receipt: Sends a text message to a telephone.
        """,
    ),
    _problem(
        "walk",
        "double",
        5,
        "How far is it on foot from the Rijksmuseum to the Anne Frank House?",
        "start_name, end_name",
        "walking_distance",
        """
        locate_start(start_name) returns start_point: Coordinates of the place where a way begins.
        locate_end(end_name) returns end_point: Coordinates of the place where a way ends.
        walking_route(start_point, end_point) returns walking_distance: Length of the shortest way on foot.
        driving_route(start_point, end_point) returns driving_distance: Length of the shortest way by car.
        """,
        steps=True,
    ),
    _problem(
        "salary",
        "double",
        6,
        "What does employee 208 earn in yen at today's rate, and who leads the department of employee 208?",
        "employee_number, currency",
        "converted_pay, head_name",
        """
        get_salary(employee_number) returns salary: Yearly salary in euros.
        get_department(employee_number) returns department: In which department an employee works.
        get_head(department) returns head_name: Who leads a department.
        convert_pay(salary, currency) returns converted_pay: Converts a sum in euros at today's rate.
        get_budget(department) returns budget: What a department may spend.
        """,
    ),
    _problem(
        "photos",
        "double",
        8,
        "Take the holiday picture, sharpen it, and also make a small preview of the sharp one. I need both.",
        "picture",
        "sharp_picture, preview",
        """
        sharpen(picture) returns sharp_picture: Makes a picture sharper.
        make_preview(sharp_picture) returns preview: Small version of a sharpened picture.
        blur(picture) returns soft_picture: Makes a picture softer.
        print_picture(sharp_picture) returns print_job: Sends a sharpened picture to the printer.
        crop(picture) returns cut_picture: Cuts away the border.
        """,
    ),
    _problem(
        "lab",
        "double",
        7,
        "Sample K-9: report its acidity and its density in one sheet.",
        "sample_number",
        "sheet",
        """
        measure_acidity(sample_number) returns acidity: Acidity of a sample.
        measure_density(sample_number) returns density: Density of a sample.
        measure_colour(sample_number) returns colour: Colour of a sample.
        write_sheet(acidity, density) returns sheet: Data sheet of acidity and density.
        dispose(sample_number) returns disposal_note: Throws a sample away.
        """,
        steps=True,
    ),
    _problem(
        "hotel",
        "triple",
        4,
        "Book the nearest hotel to the congress 'Wärme 2025' for its whole duration, for me.",
        "congress_name, guest_name",
        "hotel_booking",
        """
        find_congress(congress_name) returns venue, congress_days: Where and when a congress takes place.
        nearest_hotel(venue) returns hotel: The hotel that is nearest to a venue.
        nearest_restaurant(venue) returns restaurant: The restaurant that is nearest to a venue.
        book_hotel(hotel, congress_days, guest_name) returns hotel_booking: Books a room.
        book_table(restaurant, guest_name) returns table_booking: Books a table.
        """,
    ),
    _problem(
        "refund",
        "triple",
        6,
        "Refund my last purchase to the card that I paid it with, and tell me the receipt's number. My login is"
        " m.okafor.",
        "login",
        "refund_receipt",
        """
        find_customer(login) returns customer_number: Number of the customer with a login.
        last_purchase(customer_number) returns purchase_number: The latest purchase of a customer.
        payment_card(customer_number) returns card_number: The card of a customer's latest purchase.
        refund_to_card(purchase_number, card_number) returns refund_receipt: Pays the price of a purchase back to a \
card.
        refund_as_voucher(purchase_number) returns voucher_code: Turns the price of a purchase into a voucher.
        first_purchase(customer_number) returns oldest_purchase: The first purchase of a customer.
        """,
    ),
    _problem(
        "film-night",
        "triple",
        8,
        "Find out who directed film 3310, 'Νύχτα', and put all films that this person directed on my watch list"
        " 'Friday'.",
        "film_number, list_name",
        "updated_list",
        """
        actors_of(film_number) returns actors: Who plays in a film.
        director_of(film_number) returns director: Who directed a film.
        composer_of(film_number) returns composer: Who wrote the music of a film.
        films_of(director) returns films: Films that somebody directed.
        add_films(films, list_name) returns updated_list: Puts films on a watch list.
        rate_film(film_number) returns rating: Gives a film a star.
        """,
        steps=True,
    ),
    _problem(
        "release",
        "triple",
        7,
        "Build branch 'main', test what was built, and publish it with the notes of its changes.",
        "branch",
        "release_page",
        """
        build_branch(branch) returns package: Builds the package of a branch.
        list_changes(branch) returns changes: Changes of a branch since the last release.
        test_package(package) returns test_report: Tests a package; needed before it may be published.
        write_notes(changes) returns notes: Turns changes into notes for readers.
        publish(package, test_report, notes) returns release_page: Publishes a tested package with its notes.
        delete_branch(branch) returns deletion: Deletes a branch.
        """,
    ),
    _problem(
        "harvest",
        "triple",
        8,
        "From the field's name: order the fertiliser that its soil lacks, in the amount that its area takes.",
        "field_name",
        "fertiliser_order",
        """
        find_field(field_name) returns field_number: Number of a field in the register.
        soil_test(field_number) returns lacking_mineral: Which mineral a field's soil lacks.
        field_area(field_number) returns area: Area of a field in hectares.
        field_owner(field_number) returns owner: Whom a field belongs to.
        order_fertiliser(lacking_mineral, area) returns fertiliser_order: Orders a mineral for an area.
        order_seed(area) returns seed_order: Orders seed for an area.
        """,
        steps=True,
    ),
)
