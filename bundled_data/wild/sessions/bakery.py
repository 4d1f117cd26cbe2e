"""Session: bread and rolls for a birthday."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    PARALLEL,
    PARTIAL,
    SINGLE,
    Talk,
    ask,
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
    "bakery",
    "2025-10-17 11:05:00",
    (
        tool("getOvenSchedule", t("What comes out of the oven today, and when.", "今天的出炉时间表。"), {}),
        tool(
            "checkStock",
            t("How much of a product a shop has left.", "查询门店某商品的库存。"),
            {"product": text(t("Name of the product.", "商品名称。"))},
            {
                "shop": text(
                    t("The shop, default all together.", "门店，默认全部合计。"),
                    t("station", "车站店"),
                    t("market", "市场店"),
                )
            },
        ),
        tool(
            "priceOrder",
            t("Work out the price of an order and keep it as an offer.", "计算订单价格并保存报价。"),
            {
                "items": many(
                    t("What is ordered.", "订购的商品。"),
                    record(
                        t("One line of the order.", "订单中的一行。"),
                        {
                            "product": text(t("Name of the product.", "商品名称。")),
                            "quantity": whole(t("Pieces.", "数量。")),
                        },
                        {"sliced": flag(t("Cut into slices.", "是否切片。"))},
                    ),
                )
            },
            {"coupon": text(t("Code of a coupon.", "优惠码。"))},
        ),
        tool(
            "placeOrder",
            t("Order what was offered.", "按报价下单。"),
            {
                "offer_id": text(t("Number of the offer.", "报价编号。")),
                "pickup_at": text(t("YYYY-MM-DD HH:MM", "取货时间，格式YYYY-MM-DD HH:MM")),
                "customer": record(
                    t("Who fetches it.", "取货人。"),
                    {"name": text(t("Full name.", "姓名。")), "phone": text(t("Phone number.", "电话。"))},
                    {"email": text(t("Mail address.", "邮箱。"))},
                ),
            },
            {"note": text(t("A wish for the bakers.", "给店家的备注。"))},
        ),
    ),
    (
        turn(
            PARALLEL,
            None,
            t(
                "What's still coming out of the oven today? And does the station shop have any Rye Sourdough and Poppy"
                " Knot left?",
                "今天还有什么要出炉？车站店的黑麦酸面包和罂粟籽花卷还有吗？",
            ),
            call(
                "getOvenSchedule",
                {},
                [
                    {"time": "13:00", "product": t("Rye Sourdough", "黑麦酸面包")},
                    {"time": "15:30", "product": t("Plum Cake", "李子蛋糕")},
                ],
            ),
            call(
                "checkStock",
                {"product": t("Rye Sourdough", "黑麦酸面包"), "shop": t("station", "车站店")},
                {"left": 2},
            ),
            call(
                "checkStock",
                {"product": t("Poppy Knot", "罂粟籽花卷"), "shop": t("station", "车站店")},
                {"left": 14},
            ),
            answer=t(
                "Rye Sourdough comes at 13:00 and Plum Cake at 15:30. The station shop has 2 Rye Sourdough and 14 Poppy"
                " Knots left.",
                "13:00出炉黑麦酸面包，15:30出炉李子蛋糕。车站店还剩2个黑麦酸面包和14个罂粟籽花卷。",
            ),
        ),
        turn(
            CHAT,
            COREFERENTIAL,
            t(
                "why does the sourdough one stay fresh so much longer than white bread?",
                "为什么那个酸面包比白面包放得久那么多？",
            ),
            answer=t(
                "Its acid slows mould, and rye binds more water than wheat, so the crumb dries out later.",
                "酸面团里的酸能抑制霉菌，而且黑麦比小麦更能锁住水分，所以面包心干得慢。",
            ),
        ),
        turn(
            SINGLE,
            PARTIAL,
            t(
                "ok. six knots and one loaf of the rye, sliced, with code WELCOME5?",
                "好。六个花卷加一个黑麦的，要切片，用优惠码WELCOME5呢？",
            ),
            call(
                "priceOrder",
                {
                    "items": [
                        {"product": t("Poppy Knot", "罂粟籽花卷"), "quantity": 6},
                        {"product": t("Rye Sourdough", "黑麦酸面包"), "quantity": 1, "sliced": True},
                    ],
                    "coupon": "WELCOME5",
                },
                {"offer_id": "Q-5518", "sum": 15.0, "discount": 0.75, "total": 14.25, "currency": "EUR"},
            ),
            answer=t(
                "That is 14.25 EUR with the coupon, instead of 15.00 (offer Q-5518).",
                "用优惠码后共14.25欧元，原价15.00欧元（报价Q-5518）。",
            ),
        ),
        turn(
            CLARIFY,
            COREFERENTIAL,
            t("good, order that, I'll come by tomorrow at half past nine", "行，就这么下单吧，我明天九点半过来取"),
            ask(
                "placeOrder",
                ["customer"],
                t("With pleasure. What name and phone number may I note?", "好的，请留一下姓名和电话。"),
                t(
                    "Ines Falk, 0170-555-0142. And please write 'Happy birthday Jo' on the bag!",
                    "方茵，0170-555-0142。另外请在袋子上写“乔乔生日快乐”！",
                ),
            ),
            call(
                "placeOrder",
                {
                    "offer_id": "Q-5518",
                    "pickup_at": "2025-10-18 09:30",
                    "customer": {"name": t("Ines Falk", "方茵"), "phone": "0170-555-0142"},
                    "note": t("Please write 'Happy birthday Jo' on the bag", "请在袋子上写“乔乔生日快乐”"),
                },
                {"order_id": "O-20771", "status": "accepted"},
                0,
            ),
            answer=t(
                "Ordered (O-20771). It will be ready tomorrow at 9:30, with the greeting on the bag.",
                "已下单（O-20771），明天9:30取货，袋子上会写好祝福。",
            ),
        ),
    ),
)
