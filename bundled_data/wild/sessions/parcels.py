"""Session: a parcel is lost and replaced."""

from __future__ import annotations

from bundled_data.wild.words import (
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    PARALLEL,
    SEQUENTIAL,
    SINGLE,
    Talk,
    ask,
    call,
    decimal,
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
    "parcels",
    "2025-02-24 09:40:18",
    (
        tool(
            "trackParcel",
            t("Where a parcel is.", "查询包裹位置。"),
            {"parcel_id": text(t("Number of the parcel.", "运单号。"))},
            {
                "every_scan": flag(
                    t("List every scan, default false.", "列出全部扫描记录，默认为false。"), default=False
                )
            },
        ),
        tool(
            "quoteShipment",
            t("Price of a shipment, kept as an offer.", "计算运费并保存报价。"),
            {
                "destination": record(
                    t("Where it goes.", "目的地。"),
                    {
                        "country": text(t("ISO code of two letters.", "两位国家代码。")),
                        "postcode": text(t("Postcode.", "邮编。")),
                    },
                ),
                "weight_kg": decimal(t("Kilograms.", "重量（公斤）。")),
            },
            {
                "service": text(
                    t("How fast, default standard.", "服务类型，默认standard。"), "economy", "standard", "express"
                ),
                "size_cm": many(t("Length, width and height.", "长、宽、高。"), whole(t("Centimetres.", "厘米。"))),
            },
        ),
        tool(
            "createLabel",
            t("Make the label for an offer.", "按报价生成面单。"),
            {
                "offer_id": text(t("Number of the offer.", "报价编号。")),
                "recipient": record(
                    t("Who gets it.", "收件人。"),
                    {
                        "name": text(t("Full name.", "姓名。")),
                        "street": text(t("Street and number.", "街道和门牌号。")),
                    },
                    {"phone": text(t("Phone number.", "电话。"))},
                ),
            },
        ),
        tool(
            "schedulePickup",
            t("Have a parcel fetched.", "预约上门取件。"),
            {
                "label_id": text(t("Number of the label.", "面单编号。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
            {
                "part_of_day": text(
                    t("When, default any.", "时段，默认any。"), "morning", "afternoon", "any", default="any"
                )
            },
        ),
        tool(
            "findDropPoint",
            t("Shops that take and keep parcels.", "查找包裹自提点。"),
            {"postcode": text(t("Postcode.", "邮编。"))},
            {"open_late": flag(t("Open after 20:00.", "20:00以后仍营业。"))},
        ),
    ),
    (
        turn(
            SINGLE,
            None,
            t("Where on earth is PX-60017? Give me every single scan.", "PX-60017到底在哪儿？每一条扫描记录都给我。"),
            call(
                "trackParcel",
                {"parcel_id": "PX-60017", "every_scan": True},
                {
                    "status": "lost",
                    "scans": [
                        {"at": "2025-02-17 16:02", "place": t("Lille hub", "里尔分拨中心")},
                        {"at": "2025-02-18 03:48", "place": t("Ghent hub", "根特分拨中心")},
                    ],
                },
            ),
            answer=t(
                "It was last scanned at the Ghent hub on 18 February at 3:48 (before: Lille, 17 February) and counts as"
                " lost.",
                "最后一次扫描是2月18日3:48在根特分拨中心（之前是2月17日里尔），目前标记为丢失。",
            ),
        ),
        turn(
            CLARIFY,
            COREFERENTIAL,
            t(
                "Great. So I have to send a replacement for it, 1.8 kg, express. Price?",
                "行吧，那我得补发一个，1.8公斤，特快，多少钱？",
            ),
            ask(
                "quoteShipment",
                ["destination"],
                t("Where does it go? I need the country and the postcode.", "寄到哪里？请告诉我国家和邮编。"),
                t("Belgium, 9000", "比利时，9000"),
            ),
            call(
                "quoteShipment",
                {"destination": {"country": "BE", "postcode": "9000"}, "weight_kg": 1.8, "service": "express"},
                {"offer_id": "OF-3391", "price": 24.6, "currency": "EUR", "days": 1},
                0,
            ),
            answer=t("24.60 EUR, delivered in one day (offer OF-3391).", "24.60欧元，一天送达（报价OF-3391）。"),
        ),
        turn(
            SEQUENTIAL,
            COREFERENTIAL,
            t(
                "Take that. Label to Lise Maes, Korenmarkt 8, and have it fetched tomorrow morning.",
                "就这个。面单寄给Lise Maes，Korenmarkt 8，明天上午来取件。",
            ),
            call(
                "createLabel",
                {"offer_id": "OF-3391", "recipient": {"name": "Lise Maes", "street": "Korenmarkt 8"}},
                {"label_id": "LB-90412", "parcel_id": "PX-60394"},
            ),
            call(
                "schedulePickup",
                {"label_id": "LB-90412", "date": "2025-02-25", "part_of_day": "morning"},
                {"pickup_id": "PU-77", "between": ["08:00", "12:00"]},
                0,
            ),
            answer=t(
                "The label LB-90412 is made (parcel PX-60394), and it will be fetched tomorrow between 8:00 and 12:00.",
                "面单LB-90412已生成（运单号PX-60394），明天8:00至12:00上门取件。",
            ),
        ),
        turn(
            PARALLEL,
            LONG_RANGE,
            t(
                "Check the one from the very beginning again, find her a drop point that's open late, just in case, and"
                " is the new parcel in the system yet?",
                "再查一下最开始那个包裹，给她那边找个营业到晚上的自提点以防万一，还有新包裹系统里有了吗？",
            ),
            call(
                "trackParcel",
                {"parcel_id": "PX-60017"},
                {"status": "lost", "last_place": t("Ghent hub", "根特分拨中心")},
            ),
            call(
                "findDropPoint",
                {"postcode": "9000", "open_late": True},
                [{"name": t("Night Shop Vrij", "维赖夜店"), "street": "Vrijdagmarkt 21", "closes": "23:00"}],
            ),
            call("trackParcel", {"parcel_id": "PX-60394"}, {"status": "announced", "last_place": None}),
            answer=t(
                "PX-60017 is still lost. Night Shop Vrij, Vrijdagmarkt 21, is open until 23:00. PX-60394 is announced.",
                "PX-60017仍是丢失状态。维赖夜店（Vrijdagmarkt 21）营业到23:00。PX-60394已登记。",
            ),
        ),
    ),
)
