"""Session: mother and son take the train."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    COREFERENTIAL,
    LONG_RANGE,
    PARALLEL,
    PARTIAL,
    SEQUENTIAL,
    SINGLE,
    Talk,
    call,
    flag,
    many,
    record,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "trains",
    "2025-08-08 07:30:12",
    (
        tool(
            "searchTrains",
            t("Trains between two towns on a day.", "查询某天两地之间的列车。"),
            {
                "origin": text(t("Town of departure.", "出发地。")),
                "destination": text(t("Town of arrival.", "目的地。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
            {
                "after": text(t("Earliest departure, HH:MM.", "最早出发时间，格式HH:MM。")),
                "direct_only": flag(t("Without changes. Default false.", "只看直达，默认为false。"), default=False),
            },
        ),
        tool(
            "getFreeSeats",
            t("Free seats of a train.", "查询列车的空座。"),
            {
                "train_id": text(t("Number of the train.", "车次。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
            {"coach": whole(t("Only this coach.", "只看该车厢。"))},
        ),
        tool(
            "bookSeats",
            t("Book seats of a train.", "预订座位。"),
            {
                "train_id": text(t("Number of the train.", "车次。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
                "coach": whole(t("Coach.", "车厢。")),
                "seats": many(t("Numbers of the seats, ascending.", "座位号，从小到大。"), whole(t("Seat.", "座位。"))),
                "passengers": many(
                    t("Who travels.", "乘客。"),
                    record(
                        t("One passenger.", "一位乘客。"),
                        {"name": text(t("Full name.", "姓名。")), "age": whole(t("Years.", "年龄。"))},
                    ),
                ),
            },
        ),
        tool(
            "sendTickets",
            t("Mail the tickets of a booking.", "将车票发送到邮箱。"),
            {"booking_id": text(t("Number of the booking.", "订单号。")), "email": text(t("Mail address.", "邮箱。"))},
        ),
        tool(
            "getPunctuality",
            t("How punctual a train usually is.", "查询列车的准点情况。"),
            {"train_id": text(t("Number of the train.", "车次。"))},
            {"days": whole(t("How many days to look back, default 30.", "统计天数，默认30。"), default=30)},
        ),
        tool(
            "getPlatform",
            t("Platform of a train at a station.", "查询列车在某站的站台。"),
            {"train_id": text(t("Number of the train.", "车次。")), "station": text(t("Town.", "车站所在地。"))},
        ),
    ),
    (
        turn(
            SINGLE,
            None,
            t("Direct trains from Lorvik to Passmar tomorrow, after 9 please", "明天9点以后从洛维克到帕斯马的直达车"),
            call(
                "searchTrains",
                {
                    "origin": t("Lorvik", "洛维克"),
                    "destination": t("Passmar", "帕斯马"),
                    "date": "2025-08-09",
                    "after": "09:00",
                    "direct_only": True,
                },
                [
                    {"train_id": "RX418", "departs": "09:24", "arrives": "13:31"},
                    {"train_id": "RX422", "departs": "11:24", "arrives": "15:31"},
                ],
            ),
            answer=t(
                "RX418 leaves at 9:24 and arrives at 13:31, RX422 at 11:24 and 15:31.",
                "RX418次9:24出发，13:31到；RX422次11:24出发，15:31到。",
            ),
        ),
        turn(
            SEQUENTIAL,
            COREFERENTIAL,
            t(
                "The earlier one. See which seats are free in coach 5, book the two side by side for me (Nora Weiss,"
                " 34) and my son Emil Weiss, 7, and then mail the tickets to nora@weiss.example",
                "要早的那趟。看看5号车厢有哪些空座，把挨着的两个订给我（魏诺，34岁）和我儿子魏小米（7岁），"
                "再把车票发到nora@weiss.example",
            ),
            call(
                "getFreeSeats",
                {"train_id": "RX418", "date": "2025-08-09", "coach": 5},
                {"coach": 5, "free": [12, 41, 42, 66], "side_by_side": [[41, 42]]},
            ),
            call(
                "bookSeats",
                {
                    "train_id": "RX418",
                    "date": "2025-08-09",
                    "coach": 5,
                    "seats": [41, 42],
                    "passengers": [
                        {"name": t("Nora Weiss", "魏诺"), "age": 34},
                        {"name": t("Emil Weiss", "魏小米"), "age": 7},
                    ],
                },
                {"booking_id": "BKG-7712", "price": 61.5, "currency": "EUR"},
                0,
            ),
            call(
                "sendTickets",
                {"booking_id": "BKG-7712", "email": "nora@weiss.example"},
                t("2 tickets sent to nora@weiss.example", "已将2张车票发送至nora@weiss.example"),
                1,
            ),
            answer=t(
                "Seats 41 and 42 in coach 5 of RX418 are booked for 61.50 EUR (BKG-7712), and both tickets are in your"
                " mail.",
                "已预订RX418次5号车厢41、42座，共61.50欧元（BKG-7712），两张车票已发到您的邮箱。",
            ),
        ),
        turn(
            CHAT,
            PARTIAL,
            t("And what do we do for four hours with a seven-year-old?", "那四个小时，跟七岁的孩子干点什么好？"),
            answer=t(
                "Travel bingo with things outside the window, a story that you tell in turns, a drawing book, and a"
                " snack every hour.",
                "可以玩窗外风景宾果、轮流编故事、带个小画本，再每小时来一点零食。",
            ),
        ),
        turn(
            PARALLEL,
            LONG_RANGE,
            t(
                "Those two trains you found at the start, are they usually on time? And which platform does ours go"
                " from?",
                "你最开始找到的那两趟车平时准点吗？还有我们那趟从几站台走？",
            ),
            call("getPunctuality", {"train_id": "RX418"}, {"on_time_percent": 91, "average_delay_minutes": 3}),
            call("getPunctuality", {"train_id": "RX422"}, {"on_time_percent": 74, "average_delay_minutes": 11}),
            call("getPlatform", {"train_id": "RX418", "station": t("Lorvik", "洛维克")}, "4B"),
            answer=t(
                "RX418 is on time in 91 % of cases, RX422 in 74 %. Yours leaves Lorvik from platform 4B.",
                "RX418准点率91%，RX422为74%。你们那趟在洛维克4B站台发车。",
            ),
        ),
    ),
)
