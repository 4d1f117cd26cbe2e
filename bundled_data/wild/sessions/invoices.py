"""Session: a client pays late."""

from __future__ import annotations

from bundled_data.wild.words import (
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    PARTIAL,
    SEQUENTIAL,
    SINGLE,
    Talk,
    ask,
    call,
    decimal,
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
    "invoices",
    "2025-04-07 10:48:09",
    (
        tool(
            "findClient",
            t("Find a client by name.", "按名称查找客户。"),
            {"name": text(t("Name or part of it.", "名称或其中一部分。"))},
        ),
        tool(
            "createInvoice",
            t("Make an invoice in euro.", "开具欧元发票。"),
            {
                "client_id": text(t("Number of the client.", "客户编号。")),
                "lines": many(
                    t("What is charged.", "收费项目。"),
                    record(
                        t("One line.", "一行。"),
                        {
                            "description": text(t("For what.", "项目名称。")),
                            "quantity": number(t("How many or how many hours.", "数量或小时数。")),
                            "unit_price": number(t("Euro without tax.", "不含税单价（欧元）。")),
                            "vat_percent": whole(t("Tax.", "税率。"), 0, 7, 19),
                        },
                    ),
                ),
            },
            {"due_days": whole(t("Days until it is due, default 30.", "付款期限（天），默认30。"), default=30)},
        ),
        tool(
            "listInvoices",
            t("Invoices of a client, oldest first.", "列出客户的发票，最早的在前。"),
            {"client_id": text(t("Number of the client.", "客户编号。"))},
            {"status": text(t("Only these.", "只看该状态。"), "open", "paid", "overdue")},
        ),
        tool(
            "sendInvoice",
            t("Mail an invoice.", "发送发票。"),
            {
                "invoice_id": text(t("Number of the invoice.", "发票编号。")),
                "email": text(t("Mail address.", "邮箱。")),
            },
        ),
        tool(
            "setReminder",
            t("Remind me of an invoice.", "设置发票提醒。"),
            {
                "invoice_id": text(t("Number of the invoice.", "发票编号。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
        ),
        tool(
            "getExchangeRate",
            t("Rate between two currencies.", "查询汇率。"),
            {"base": text(t("ISO code.", "货币代码。")), "target": text(t("ISO code.", "货币代码。"))},
            {"date": text(t("YYYY-MM-DD, default today.", "日期，格式YYYY-MM-DD，默认今天。"))},
        ),
        tool(
            "recordPayment",
            t("Note a payment that came in.", "登记收款。"),
            {
                "invoice_id": text(t("Number of the invoice.", "发票编号。")),
                "amount": decimal(t("Euro.", "金额（欧元）。")),
                "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD")),
            },
            {"method": text(t("How it was paid.", "付款方式。"), "transfer", "card", "cash")},
        ),
    ),
    (
        turn(
            CLARIFY,
            None,
            t(
                "I need an invoice for Haldor & Sons, client KD-118, due in 14 days.",
                "给哈尔多父子公司（客户KD-118）开张发票，14天内付款。",
            ),
            ask(
                "createInvoice",
                ["lines"],
                t(
                    "What do you want to charge? Please give quantity, price and tax for each item.",
                    "收费项目有哪些？请告诉我每项的数量、单价和税率。",
                ),
                t(
                    "'Web design', 12.5 hours at 80, and 'Domain', one at 15. All 19%",
                    "“网页设计”12.5小时，每小时80；“域名”一个，15。都是19%",
                ),
            ),
            call(
                "createInvoice",
                {
                    "client_id": "KD-118",
                    "lines": [
                        {
                            "description": t("Web design", "网页设计"),
                            "quantity": 12.5,
                            "unit_price": 80,
                            "vat_percent": 19,
                        },
                        {"description": t("Domain", "域名"), "quantity": 1, "unit_price": 15, "vat_percent": 19},
                    ],
                    "due_days": 14,
                },
                {"invoice_id": "INV-2025-031", "net": 1015.0, "vat": 192.85, "total": 1207.85, "due": "2025-04-21"},
                0,
            ),
            answer=t(
                "INV-2025-031 is ready: 1015.00 EUR plus 192.85 EUR tax, 1207.85 EUR in all, due on 21 April.",
                "发票INV-2025-031已开好：1015.00欧元加税192.85欧元，共1207.85欧元，4月21日到期。",
            ),
        ),
        turn(
            SEQUENTIAL,
            COREFERENTIAL,
            t(
                "They should also have overdue ones. Mail the oldest of those to office@haldor.example again and after"
                " that remind me of it on Thursday.",
                "他们应该还有逾期的。把其中最早的一张再发到office@haldor.example，发完周四提醒我跟进这张。",
            ),
            call(
                "listInvoices",
                {"client_id": "KD-118", "status": "overdue"},
                [
                    {"invoice_id": "INV-2024-190", "total": 476.0, "due": "2024-12-20"},
                    {"invoice_id": "INV-2025-007", "total": 119.0, "due": "2025-02-14"},
                ],
            ),
            call(
                "sendInvoice", {"invoice_id": "INV-2024-190", "email": "office@haldor.example"}, {"status": "sent"}, 0
            ),
            call("setReminder", {"invoice_id": "INV-2024-190", "date": "2025-04-10"}, {"reminder_id": "RM-12"}, 1),
            answer=t(
                "Two are overdue. The older one, INV-2024-190 over 476 EUR, is mailed again, and I remind you on"
                " Thursday.",
                "有两张逾期。较早的INV-2024-190（476欧元）已重新发送，周四会提醒您。",
            ),
        ),
        turn(
            SINGLE,
            PARTIAL,
            t("what's the rate if they pay in Norwegian kroner?", "他们要是用挪威克朗付，汇率是多少？"),
            call("getExchangeRate", {"base": "EUR", "target": "NOK"}, 11.87),
            answer=t("One euro is 11.87 kroner today.", "今天1欧元兑11.87挪威克朗。"),
        ),
        turn(
            CLARIFY,
            LONG_RANGE,
            t(
                "By the way, money came in by transfer for the invoice we wrote first today. Note it.",
                "对了，今天最先开的那张发票有转账到账了，记一下。",
            ),
            ask(
                "recordPayment",
                ["amount", "date"],
                t("How much was it, and on which day?", "到账多少？哪天到的？"),
                t("607.85, today. They'll pay the rest in May", "607.85，今天到的。剩下的他们五月付"),
            ),
            call(
                "recordPayment",
                {"invoice_id": "INV-2025-031", "amount": 607.85, "date": "2025-04-07", "method": "transfer"},
                {"open_amount": 600.0},
                0,
            ),
            answer=t(
                "607.85 EUR are noted for INV-2025-031; 600.00 EUR are still open.",
                "已为INV-2025-031登记607.85欧元，还有600.00欧元未付。",
            ),
        ),
    ),
)
