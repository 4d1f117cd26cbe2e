"""Session: a weekend in the mountains."""

from __future__ import annotations

from bundled_data.wild.words import (
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    MIXED,
    PARALLEL,
    PARTIAL,
    SINGLE,
    Talk,
    ask,
    call,
    many,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "mountain huts",
    "2025-07-21 18:10:55",
    (
        tool(
            "findHuts",
            t("Find mountain huts of an area.", "查找某一区域的山间小屋。"),
            {"area": text(t("Name of the area.", "区域名称。"))},
            {
                "amenities": many(
                    t("What it must have.", "必须具备的设施。"),
                    text(t("One amenity.", "设施。"), "kitchen", "shower", "wifi", "dogs_welcome"),
                )
            },
        ),
        tool(
            "getFreeBeds",
            t("Free beds of a hut for a night.", "查询小屋某晚的空床位。"),
            {
                "hut": text(t("Name of the hut.", "小屋名称。")),
                "night": text(t("YYYY-MM-DD", "入住日期，格式YYYY-MM-DD")),
                "persons": whole(t("How many sleep there.", "人数。")),
            },
        ),
        tool(
            "reserveBeds",
            t("Reserve beds.", "预订床位。"),
            {
                "hut": text(t("Name of the hut.", "小屋名称。")),
                "night": text(t("YYYY-MM-DD", "入住日期，格式YYYY-MM-DD")),
                "persons": whole(t("How many sleep there.", "人数。")),
                "surname": text(t("Surname for the list.", "登记的姓氏。")),
            },
        ),
        tool(
            "planRoute",
            t("The way between two huts.", "规划两个小屋之间的路线。"),
            {"start": text(t("Hut at the start.", "起点小屋。")), "end": text(t("Hut at the end.", "终点小屋。"))},
            {"hardest": text(t("Hardest grade, default T3.", "最高难度，默认T3。"), "T1", "T2", "T3", "T4")},
        ),
        tool(
            "getMountainForecast",
            t("Weather at a height.", "查询某海拔的天气预报。"),
            {
                "altitude_m": whole(t("Metres above the sea.", "海拔（米）。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
        ),
        tool(
            "getTrailStatus",
            t("Whether a trail is open.", "查询步道是否开放。"),
            {"trail_id": text(t("Number of the trail, such as T-1.", "步道编号，例如T-1。"))},
        ),
    ),
    (
        turn(
            CLARIFY,
            None,
            t("Are there still beds at the Falken Hut for Saturday night?", "鹰岩小屋周六晚上还有床位吗？"),
            ask(
                "getFreeBeds",
                ["persons"],
                t("For how many people?", "请问几个人住？"),
                t("There are three of us", "我们三个人"),
            ),
            call(
                "getFreeBeds",
                {"hut": t("Falken Hut", "鹰岩小屋"), "night": "2025-07-26", "persons": 3},
                {"free": 8, "enough": True, "price_per_bed": 32.5, "altitude_m": 2140, "area": t("Silberkar", "银谷")},
                0,
            ),
            answer=t("Yes, 8 beds are free on Saturday, at 32.50 EUR each.", "有的，周六还有8个床位，每个32.50欧元。"),
        ),
        turn(
            MIXED,
            COREFERENTIAL,
            t(
                "Great, reserve there for us, surname Okafor. And look for another hut in the Silberkar that has a"
                " kitchen, and plan the way over to it, nothing harder than T2.",
                "太好了，帮我们订那里，登记姓欧。再在银谷找一个带厨房的小屋，规划一下从那儿走过去的路线，难度不超过T2。",
            ),
            call(
                "reserveBeds",
                {"hut": t("Falken Hut", "鹰岩小屋"), "night": "2025-07-26", "persons": 3, "surname": t("Okafor", "欧")},
                {"reservation_id": "HR-1180", "deposit": 30},
            ),
            call(
                "findHuts",
                {"area": t("Silberkar", "银谷"), "amenities": ["kitchen"]},
                [{"hut": t("Gamsalm Hut", "羚羊小屋"), "altitude_m": 1890, "amenities": ["kitchen", "shower"]}],
            ),
            call(
                "planRoute",
                {"start": t("Falken Hut", "鹰岩小屋"), "end": t("Gamsalm Hut", "羚羊小屋"), "hardest": "T2"},
                {"trail_id": "T-14", "hours": 3.25, "grade": "T2"},
                1,
            ),
            answer=t(
                "Three beds at the Falken Hut are reserved (HR-1180, deposit 30 EUR). The Gamsalm Hut has a kitchen; "
                "trail T-14 takes 3 hours 15 minutes, grade T2.",
                "鹰岩小屋的三个床位已订好（HR-1180，押金30欧元）。羚羊小屋有厨房，走T-14步道3小时15分钟，难度T2。",
            ),
        ),
        turn(
            PARALLEL,
            PARTIAL,
            t(
                "What about the weather up at our first hut, Saturday and Sunday? And is that trail open at all?",
                "第一个小屋那边周六和周日天气怎么样？还有那条步道现在开放吗？",
            ),
            call(
                "getMountainForecast",
                {"altitude_m": 2140, "date": "2025-07-26"},
                {"sky": t("sunny", "晴"), "max_c": 16, "wind_kmh": 20},
            ),
            call(
                "getMountainForecast",
                {"altitude_m": 2140, "date": "2025-07-27"},
                {"sky": t("thunder from 15:00", "15点后有雷雨"), "max_c": 13, "wind_kmh": 45},
            ),
            call(
                "getTrailStatus",
                {"trail_id": "T-14"},
                {"open": True, "remark": t("snow field at the saddle", "垭口处有雪坡")},
            ),
            answer=t(
                "Saturday is sunny with 16 degrees; on Sunday expect thunder from 15:00. T-14 is open, with a snow"
                " field at the saddle.",
                "周六晴，16度；周日15点后有雷雨。T-14步道开放，垭口处有一段雪坡。",
            ),
        ),
        turn(
            SINGLE,
            LONG_RANGE,
            t(
                "Hm. If we stay put at the first hut for Sunday night too, and my sister joins so we're four: free?",
                "嗯，要是周日晚上也留在第一个小屋，我妹妹也来，一共四个人，还有空吗？",
            ),
            call(
                "getFreeBeds",
                {"hut": t("Falken Hut", "鹰岩小屋"), "night": "2025-07-27", "persons": 4},
                {"free": 3, "enough": False, "price_per_bed": 32.5},
            ),
            answer=t("Not quite: only 3 beds are free on Sunday night.", "不太够：周日晚上只剩3个床位。"),
        ),
    ),
)
