"""Session: a class visits an exhibition."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    LONG_RANGE,
    PARALLEL,
    PARTIAL,
    SINGLE,
    Talk,
    ask,
    call,
    record,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "museums",
    "2025-11-20 10:15:00",
    (
        tool(
            "listExhibitions",
            t("Exhibitions of a museum.", "查询博物馆的展览。"),
            {"museum": text(t("Name of the museum.", "博物馆名称。"))},
            {
                "period": text(
                    t("Which ones, default all.", "时间范围，默认all。"), "current", "upcoming", "all", default="all"
                )
            },
        ),
        tool(
            "getOpeningHours",
            t("Opening hours of a museum on a day.", "查询博物馆某天的开放时间。"),
            {
                "museum": text(t("Name of the museum.", "博物馆名称。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
        ),
        tool(
            "getTicketPrice",
            t("Price of the tickets for a group of visitors.", "计算门票价格。"),
            {
                "exhibition_id": text(t("Number of the exhibition.", "展览编号。")),
                "visitors": record(
                    t("How many of each kind; leave out a kind that nobody is of.", "各类人数，没有的类别不填。"),
                    {},
                    {
                        "adults": whole(t("Adults.", "成人。")),
                        "children": whole(t("Children.", "儿童。")),
                        "seniors": whole(t("Over 65.", "65岁以上。")),
                    },
                ),
            },
        ),
        tool(
            "bookTour",
            t("Book a guided tour.", "预订导览。"),
            {
                "exhibition_id": text(t("Number of the exhibition.", "展览编号。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
                "group_size": whole(t("How many people.", "人数。")),
            },
            {"language": text(t("Language of the guide, default en.", "讲解语言，默认en。"), "en", "es", "fr", "zh")},
        ),
    ),
    (
        turn(
            PARALLEL,
            None,
            t(
                "What's on right now at the Tidal Museum and at Kassel House? And is Kassel House open on Sunday?",
                "潮汐博物馆和卡塞尔馆现在有什么展览？卡塞尔馆周日开门吗？",
            ),
            call(
                "listExhibitions",
                {"museum": t("Tidal Museum", "潮汐博物馆"), "period": "current"},
                [
                    {
                        "exhibition_id": "EX-71",
                        "title": t("Lighthouses and Their Keepers", "灯塔与守塔人"),
                        "until": "2026-01-11",
                    }
                ],
            ),
            call(
                "listExhibitions",
                {"museum": t("Kassel House", "卡塞尔馆"), "period": "current"},
                [{"exhibition_id": "EX-38", "title": t("Woven Light", "织光"), "until": "2025-12-14"}],
            ),
            call(
                "getOpeningHours",
                {"museum": t("Kassel House", "卡塞尔馆"), "date": "2025-11-23"},
                {"closed": False, "open": "11:00", "close": "17:00"},
            ),
            answer=t(
                "The Tidal Museum shows 'Lighthouses and Their Keepers' (EX-71), Kassel House 'Woven Light' (EX-38). "
                "Kassel House is open on Sunday from 11:00 to 17:00.",
                "潮汐博物馆正在展出“灯塔与守塔人”（EX-71），卡塞尔馆是“织光”（EX-38）。卡塞尔馆周日11:00至17:00开放。",
            ),
        ),
        turn(
            SINGLE,
            PARTIAL,
            t("two adults, three kids for the lighthouse one?", "灯塔那个，两大三小多少钱？"),
            call(
                "getTicketPrice",
                {"exhibition_id": "EX-71", "visitors": {"adults": 2, "children": 3}},
                {"total": 37, "currency": "EUR"},
            ),
            answer=t("37 EUR in all.", "一共37欧元。"),
        ),
        turn(
            CLARIFY,
            PARTIAL,
            t(
                "No wait, better a guided tour in Spanish, with my whole class.",
                "等等，还是改成西班牙语导览吧，带我们全班。",
            ),
            ask(
                "bookTour",
                ["date", "group_size"],
                t("Nice! On which day, and how many are you?", "好的！哪一天？一共多少人？"),
                t("Tuesday, 2 December. 24 with me", "12月2日，周二。连我24个人"),
            ),
            call(
                "bookTour",
                {"exhibition_id": "EX-71", "date": "2025-12-02", "group_size": 24, "language": "es"},
                {"tour_id": "TR-506", "start": "10:30", "meeting_point": t("cloakroom", "存衣处")},
                0,
            ),
            answer=t(
                "The tour in Spanish is booked for 2 December at 10:30, meet at the cloakroom (TR-506).",
                "西班牙语导览已订好：12月2日10:30，在存衣处集合（TR-506）。",
            ),
        ),
        turn(
            CHAT,
            LONG_RANGE,
            t(
                "The pupils will ask, so: the other show you listed at first, 'Woven Light', what could a title like"
                " that mean?",
                "学生们肯定会问：你最开始列出的另一个展览“织光”，这种名字可能是什么意思？",
            ),
            answer=t(
                "It may hint at fabric that plays with light, such as glass fibre, or at pictures put together thread"
                " by thread.",
                "可能是指用玻璃纤维之类会发光的材料织成的作品，也可能指像织布一样一根根线拼成的光影画面。",
            ),
        ),
    ),
)
