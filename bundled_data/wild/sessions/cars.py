"""Session: renting a shared car."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    MIXED,
    PARTIAL,
    SINGLE,
    Talk,
    ask,
    call,
    many,
    number,
    record,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "car sharing",
    "2025-05-02 12:00:41",
    (
        tool(
            "findCars",
            t("Free cars around a place.", "查找附近可用的车辆。"),
            {"latitude": number(t("Degrees north.", "纬度。")), "longitude": number(t("Degrees east.", "经度。"))},
            {
                "radius_m": whole(t("Metres, default 800.", "半径（米），默认800。")),
                "drive": text(t("Kind of drive.", "动力类型。"), "petrol", "electric", "hybrid"),
            },
        ),
        tool(
            "estimateCost",
            t("What a trip will cost.", "估算用车费用。"),
            {
                "car_id": text(t("Number of the car.", "车辆编号。")),
                "hours": number(t("Length in hours.", "用车时长（小时）。")),
                "km": whole(t("Distance.", "公里数。")),
            },
        ),
        tool(
            "reportDamage",
            t("Report damage found on a car.", "上报车辆损伤。"),
            {
                "car_id": text(t("Number of the car.", "车辆编号。")),
                "damages": many(
                    t("What is damaged.", "损伤列表。"),
                    record(
                        t("One damage.", "一处损伤。"),
                        {
                            "part": text(
                                t("Part of the car.", "部位。"),
                                "front_bumper",
                                "rear_bumper",
                                "left_mirror",
                                "right_mirror",
                                "door",
                            ),
                            "kind": text(t("Kind of damage.", "类型。"), "scratch", "dent", "broken"),
                        },
                        {"length_cm": whole(t("Length in centimetres.", "长度（厘米）。"))},
                    ),
                ),
            },
        ),
        tool(
            "startRental",
            t("Open a car and start the rental.", "开锁并开始租车。"),
            {
                "car_id": text(t("Number of the car.", "车辆编号。")),
                "driver": record(
                    t("Who drives.", "驾驶人。"),
                    {"licence": text(t("Number of the licence.", "驾照号。"))},
                    {"second_driver": text(t("Licence of a second driver.", "第二驾驶人的驾照号。"))},
                ),
            },
        ),
        tool(
            "getSpending",
            t("What was spent in a month.", "查询某月的花费。"),
            {"month": text(t("YYYY-MM", "月份，格式YYYY-MM"))},
        ),
    ),
    (
        turn(
            CHAT,
            None,
            t(
                "If I never do more than 60 km a day, is an electric car still fine in winter?",
                "如果我每天最多开60公里，冬天开电动车够用吗？",
            ),
            answer=t(
                "Easily. Even if the cold takes a third of the range, a usual battery still does 200 km.",
                "完全够。就算低温让续航少三分之一，普通电池也还能跑200公里。",
            ),
        ),
        turn(
            CLARIFY,
            COREFERENTIAL,
            t("Then find me one of those nearby.", "那帮我在附近找一辆这种车。"),
            ask(
                "findCars",
                ["latitude", "longitude"],
                t("Where are you? Please share your coordinates.", "您在哪里？请发一下您的坐标。"),
                t(
                    "48.2082, 16.3738 says my phone. 500 metres at most, I'm on foot",
                    "手机上显示48.2082, 16.3738。最远500米，我走路过去",
                ),
            ),
            call(
                "findCars",
                {"latitude": 48.2082, "longitude": 16.3738, "radius_m": 500, "drive": "electric"},
                [
                    {"car_id": "E-104", "distance_m": 180, "charge_percent": 82},
                    {"car_id": "E-221", "distance_m": 460, "charge_percent": 97},
                ],
                0,
            ),
            answer=t(
                "E-104 is 180 m away (82 % charged), E-221 460 m (97 %).",
                "E-104距您180米（电量82%），E-221距您460米（电量97%）。",
            ),
        ),
        turn(
            SINGLE,
            COREFERENTIAL,
            t(
                "what would the nearer one cost me for two and a half hours, about 40 km",
                "近的那辆用两个半小时、大概40公里要多少钱",
            ),
            call("estimateCost", {"car_id": "E-104", "hours": 2.5, "km": 40}, {"total": 23.9, "currency": "EUR"}),
            answer=t("About 23.90 EUR.", "大约23.90欧元。"),
        ),
        turn(
            MIXED,
            PARTIAL,
            t(
                "OK. First report a 12 cm scratch on the front bumper and a broken left mirror, then unlock it, licence"
                " AT-5529-K. Oh, and what did I spend in April?",
                "好。先上报前保险杠一道12厘米的划痕和左后视镜破损，再开锁，驾照号AT-5529-K。对了，我四月花了多少？",
            ),
            call(
                "reportDamage",
                {
                    "car_id": "E-104",
                    "damages": [
                        {"part": "front_bumper", "kind": "scratch", "length_cm": 12},
                        {"part": "left_mirror", "kind": "broken"},
                    ],
                },
                {"report_id": "DR-66", "may_drive": True},
            ),
            call("getSpending", {"month": "2025-04"}, {"trips": 6, "total": 118.4, "currency": "EUR"}),
            call(
                "startRental",
                {"car_id": "E-104", "driver": {"licence": "AT-5529-K"}},
                {"rental_id": "RN-4402", "unlocked": True},
                0,
            ),
            answer=t(
                "The damage is on file (DR-66), E-104 is open (RN-4402). In April you spent 118.40 EUR on 6 trips.",
                "损伤已登记（DR-66），E-104已开锁（RN-4402）。四月您6次用车共花费118.40欧元。",
            ),
        ),
    ),
)
