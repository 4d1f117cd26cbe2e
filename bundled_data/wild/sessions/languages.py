"""Session: one sentence for a manual."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
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
)

TALK = Talk(
    "translation",
    "2025-05-19 14:03:52",
    (
        tool(
            "translateText",
            t("Translate a text.", "翻译文本。"),
            {
                "text": text(t("The text.", "原文。")),
                "target": text(t("Language to translate into.", "目标语言。"), "de", "fr", "es", "it"),
            },
            {
                "tone": text(
                    t("Left out where it does not matter.", "语气，无要求则不填。"),
                    t("formal", "正式"),
                    t("informal", "非正式"),
                )
            },
        ),
        tool(
            "lookUpTerm",
            t("What the glossary says about a word.", "在术语表中查词。"),
            {"term": text(t("The word.", "术语。"))},
            {"language": text(t("Only this language.", "只看该语言。"), "de", "fr", "es", "it")},
        ),
        tool(
            "addTerm",
            t("Add a word to the glossary.", "向术语表添加词条。"),
            {
                "term": text(t("The word.", "术语。")),
                "language": text(t("Language of the translation.", "译文语言。"), "de", "fr", "es", "it"),
                "translation": text(t("How it is translated.", "译文。")),
            },
            {"never": many(t("Translations to avoid.", "禁用译法。"), text(t("One of them.", "译法。")))},
        ),
        tool("countWords", t("Number of words in a text.", "统计词数。"), {"text": text(t("The text.", "文本。"))}),
    ),
    (
        turn(
            CLARIFY,
            None,
            t(
                "Translate this: The valve must be closed before the pump is started. It's for a manual so keep it"
                " formal",
                "翻译一下：启动水泵之前必须关闭阀门。用在说明书里，语气要正式",
            ),
            ask(
                "translateText",
                ["target"],
                t("Into which language?", "翻译成哪种语言？"),
                t("oh, German", "哦，德语"),
            ),
            call(
                "translateText",
                {
                    "text": t("The valve must be closed before the pump is started.", "启动水泵之前必须关闭阀门。"),
                    "target": "de",
                    "tone": t("formal", "正式"),
                },
                "Das Ventil muss geschlossen sein, bevor die Pumpe gestartet wird.",
                0,
            ),
            answer=t(
                "Das Ventil muss geschlossen sein, bevor die Pumpe gestartet wird.",
                "Das Ventil muss geschlossen sein, bevor die Pumpe gestartet wird.",
            ),
        ),
        turn(
            CHAT,
            COREFERENTIAL,
            t("why does 'wird' stand at the very end there?", "为什么里面的“wird”放在最后面？"),
            answer=t(
                "In German the verb of a clause that begins with a word such as 'bevor' goes to the end.",
                "德语里由bevor这类连词引导的从句，动词要放到句末。",
            ),
        ),
        turn(
            PARALLEL,
            PARTIAL,
            t(
                "Same sentence in French and Spanish, still formal. And what does the glossary have for pump?",
                "同一句要法语和西班牙语，还是正式的。另外术语表里“水泵”怎么写的？",
            ),
            call(
                "translateText",
                {
                    "text": t("The valve must be closed before the pump is started.", "启动水泵之前必须关闭阀门。"),
                    "target": "fr",
                    "tone": t("formal", "正式"),
                },
                "La vanne doit être fermée avant la mise en marche de la pompe.",
            ),
            call(
                "translateText",
                {
                    "text": t("The valve must be closed before the pump is started.", "启动水泵之前必须关闭阀门。"),
                    "target": "es",
                    "tone": t("formal", "正式"),
                },
                "La válvula debe cerrarse antes de poner en marcha la bomba.",
            ),
            call("lookUpTerm", {"term": t("pump", "水泵")}, {"de": "Pumpe", "fr": "pompe", "es": "bomba"}),
            answer=t(
                "French: La vanne doit être fermée avant la mise en marche de la pompe.\n\nSpanish: La válvula debe"
                " cerrarse antes de poner en marcha la bomba.\n\nThe glossary has Pumpe, pompe and bomba.",
                "法语：La vanne doit être fermée avant la mise en marche de la pompe.\n\n"
                "西班牙语：La válvula debe cerrarse antes de poner en marcha la bomba.\n\n"
                "术语表中为Pumpe、pompe和bomba。",
            ),
        ),
        turn(
            SINGLE,
            LONG_RANGE,
            t(
                "Now the first translation, the German one: add what it says for valve to the glossary, and never"
                " 'Klappe' or 'Hahn'.",
                "再说第一个德语译文：把里面“阀门”的译法加进术语表，禁用“Klappe”和“Hahn”。",
            ),
            call(
                "addTerm",
                {"term": t("valve", "阀门"), "language": "de", "translation": "Ventil", "never": ["Klappe", "Hahn"]},
                {"entries": 418},
            ),
            answer=t(
                "'Ventil' is in the glossary for valve; 'Klappe' and 'Hahn' are marked as wrong.",
                "“阀门”已加入术语表，译为Ventil，并禁用Klappe和Hahn。",
            ),
        ),
    ),
)
