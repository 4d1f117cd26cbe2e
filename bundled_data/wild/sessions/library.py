"""Session: a reader looks for books about mushrooms."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    PARALLEL,
    SINGLE,
    Talk,
    ask,
    call,
    flag,
    t,
    text,
    tool,
    turn,
)

TALK = Talk(
    "library",
    "2025-03-11 16:20:07",
    (
        tool(
            "searchCatalogue",
            t("Search the catalogue of the city library.", "检索市立图书馆的馆藏目录。"),
            {"query": text(t("Words from the title, the subject or the author.", "书名、主题或作者中的词语。"))},
            {
                "language": text(t("Language of the book, ISO code.", "图书语言，ISO代码。"), "en", "fr", "de", "zh"),
                "only_available": flag(
                    t("Leave out what is on loan. Default false.", "不显示已借出的图书，默认为false。")
                ),
            },
        ),
        tool(
            "getBranchHours",
            t("Opening hours of a branch on one day.", "查询某个分馆某一天的开放时间。"),
            {"branch": text(t("Name of the branch.", "分馆名称。"))},
            {"date": text(t("YYYY-MM-DD, default today.", "日期，格式YYYY-MM-DD，默认今天。"))},
        ),
        tool(
            "reserveItem",
            t("Put a book aside for a reader.", "为读者预留图书。"),
            {
                "item_id": text(t("Number of the copy, such as BK-10001.", "馆藏编号，例如BK-10001。")),
                "card_number": text(t("The reader's library card.", "读者的借书证号。")),
                "pickup_branch": text(t("Branch where it is picked up.", "取书的分馆。")),
            },
            {"notify": text(t("How to say that it is ready.", "到书通知方式。"), "sms", "email", "none")},
        ),
        tool(
            "listLoans",
            t("Books that a reader has on loan.", "查询读者当前借阅的图书。"),
            {"card_number": text(t("The reader's library card.", "读者的借书证号。"))},
        ),
    ),
    (
        turn(
            SINGLE,
            None,
            t(
                "do you have anything in French about growing mushrooms at home? just what's on the shelf right now"
                " please",
                "有没有讲在家种蘑菇的法语书？只要现在在架上的",
            ),
            call(
                "searchCatalogue",
                {"query": t("growing mushrooms at home", "在家种蘑菇"), "language": "fr", "only_available": True},
                {
                    "total": 2,
                    "items": [
                        {"item_id": "BK-20418", "title": "Champignons chez soi", "branch": t("Northgate", "北门分馆")},
                        {"item_id": "BK-31977", "title": "La cave aux pleurotes", "branch": t("Riverside", "河畔分馆")},
                    ],
                },
            ),
            answer=t(
                "Two are there:\n\n1. *Champignons chez soi* (BK-20418), Northgate\n2. *La cave aux pleurotes*"
                " (BK-31977), Riverside",
                "有两本：\n\n1. 《Champignons chez soi》（BK-20418），北门分馆\n2. 《La cave aux"
                " pleurotes》（BK-31977），河畔分馆",
            ),
        ),
        turn(
            PARALLEL,
            COREFERENTIAL,
            t("until when are those two branches open tomorrow?", "这两个分馆明天开到几点？"),
            call(
                "getBranchHours",
                {"branch": t("Northgate", "北门分馆"), "date": "2025-03-12"},
                {"open": "10:00", "close": "18:00"},
            ),
            call(
                "getBranchHours",
                {"branch": t("Riverside", "河畔分馆"), "date": "2025-03-12"},
                {"open": "12:00", "close": "20:00"},
            ),
            answer=t(
                "Tomorrow Northgate closes at 18:00 and Riverside at 20:00.",
                "明天北门分馆开到18:00，河畔分馆开到20:00。",
            ),
        ),
        turn(
            CLARIFY,
            COREFERENTIAL,
            t(
                "Then put the second book aside, I'll fetch it there. Text me when it's ready.",
                "那把第二本给我留着，我就在那个馆取，到了发短信告诉我。",
            ),
            ask(
                "reserveItem",
                ["card_number"],
                t("Gladly. What is the number on your library card?", "好的，请问您的借书证号是多少？"),
                t("it's C-770452", "C-770452"),
            ),
            call(
                "reserveItem",
                {
                    "item_id": "BK-31977",
                    "card_number": "C-770452",
                    "pickup_branch": t("Riverside", "河畔分馆"),
                    "notify": "sms",
                },
                {"reservation_id": "RS-9036", "status": "reserved", "hold_days": 7},
                0,
            ),
            answer=t(
                "*La cave aux pleurotes* is put aside at Riverside (RS-9036) for 7 days after you get the text"
                " message.",
                "《La cave aux pleurotes》已在河畔分馆预留（RS-9036），收到短信后保留7天。",
            ),
        ),
        turn(
            CHAT,
            LONG_RANGE,
            t(
                "About the thing I wanted a book on in the first place: do they really grow without any light?",
                "说回我一开始想找书了解的那件事：它们真的完全不需要光吗？",
            ),
            answer=t(
                "Mushrooms do not live on light, but most kinds need a little of it to form proper caps. A shaded"
                " window is enough.",
                "蘑菇不靠光合作用生长，但大多数种类需要一点散射光才能长出正常的菌盖，背阴的窗边就够了。",
            ),
        ),
    ),
)
