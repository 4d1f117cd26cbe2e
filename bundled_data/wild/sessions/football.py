"""Session: the Valley League."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    LONG_RANGE,
    MIXED,
    PARALLEL,
    PARTIAL,
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
    "amateur football",
    "2025-10-05 18:40:25",
    (
        tool(
            "getTable",
            t("The table of a league.", "查询联赛积分榜。"),
            {"league": text(t("Name of the league.", "联赛名称。"))},
            {"season": text(t("Such as 2019/20, default the present one.", "赛季，例如2019/20，默认本赛季。"))},
        ),
        tool(
            "listFixtures",
            t("Coming matches of a team.", "查询球队的后续赛程。"),
            {"team_id": text(t("Number of the team.", "球队编号。"))},
            {"home_only": flag(t("Only at home. Default false.", "只看主场，默认为false。"))},
        ),
        tool(
            "rankPlayers",
            t("Best players of a team.", "查询球队的球员排名。"),
            {
                "team_id": text(t("Number of the team.", "球队编号。")),
                "by": text(t("What counts.", "排名依据。"), "goals", "assists", "saves"),
            },
            {"top": whole(t("How many, default 5.", "人数，默认5。"), default=5)},
        ),
        tool(
            "reportResult",
            t("Report how a match ended.", "上报比赛结果。"),
            {
                "match_id": text(t("Number of the match.", "比赛编号。")),
                "score": record(
                    t("Goals.", "比分。"),
                    {"home": whole(t("Home team.", "主队。")), "away": whole(t("Away team.", "客队。"))},
                ),
            },
            {
                "scorers": many(
                    t(
                        "Goals in the order they fell; left out where there was none.",
                        "按时间顺序的进球，没有进球则不填。",
                    ),
                    record(
                        t("One goal.", "一个进球。"),
                        {"player": text(t("Surname.", "球员。")), "minute": whole(t("Minute.", "分钟。"))},
                    ),
                )
            },
        ),
    ),
    (
        turn(
            MIXED,
            None,
            t(
                "Who's on top of the Valley League? Show me the leaders' next home matches and their three best"
                " scorers.",
                "河谷联赛谁排第一？看看榜首球队接下来的主场比赛和进球最多的三个人。",
            ),
            call(
                "getTable",
                {"league": t("Valley League", "河谷联赛")},
                [
                    {"rank": 1, "team_id": "FC-09", "team": t("Oberau Rovers", "上谷流浪者"), "points": 17},
                    {"rank": 2, "team_id": "FC-03", "team": t("Millbrook", "磨坊溪"), "points": 17},
                ],
            ),
            call(
                "listFixtures",
                {"team_id": "FC-09", "home_only": True},
                [{"match_id": "MT-511", "date": "2025-10-12", "opponent": "FC-03"}],
                0,
            ),
            call(
                "rankPlayers",
                {"team_id": "FC-09", "by": "goals", "top": 3},
                [
                    {"player": t("Adeyemi", "阿德耶米"), "goals": 7},
                    {"player": t("Brandt", "布兰特"), "goals": 5},
                    {"player": t("Sato", "佐藤"), "goals": 4},
                ],
                0,
            ),
            answer=t(
                "Oberau Rovers lead with 17 points. Next at home: 12 October against Millbrook. Scorers: Adeyemi 7,"
                " Brandt 5, Sato 4.",
                "上谷流浪者以17分领跑。下一个主场是10月12日对磨坊溪。射手：阿德耶米7球，布兰特5球，佐藤4球。",
            ),
        ),
        turn(
            CHAT,
            PARTIAL,
            t("but Millbrook has the same points, no? how does that work?", "可是磨坊溪的分不是一样吗？这怎么算的？"),
            answer=t(
                "With equal points most leagues compare the goal difference first, then goals scored, then the two"
                " matches between them.",
                "积分相同时，多数联赛先比净胜球，再比总进球数，最后比两队交手成绩。",
            ),
        ),
        turn(
            SINGLE,
            PARTIAL,
            t("and the top three for assists?", "那助攻前三呢？"),
            call(
                "rankPlayers",
                {"team_id": "FC-09", "by": "assists", "top": 3},
                [
                    {"player": t("Sato", "佐藤"), "assists": 6},
                    {"player": t("Lind", "林德"), "assists": 3},
                    {"player": t("Brandt", "布兰特"), "assists": 2},
                ],
            ),
            answer=t("Sato with 6, Lind with 3 and Brandt with 2.", "佐藤6次，林德3次，布兰特2次。"),
        ),
        turn(
            PARALLEL,
            LONG_RANGE,
            t(
                "I have two results from today: MT-502 ended 2:1, Adeyemi 14', Brandt 60', then Adeyemi again 77'."
                " MT-503 was a nil-nil. And that league I asked about first, how did it end in 2024/25?",
                "今天有两个结果：MT-502是2:1，阿德耶米14分钟、布兰特60分钟、阿德耶米77分钟。MT-503是0:0。"
                "还有我最开始问的那个联赛，2024/25赛季最后排名如何？",
            ),
            call(
                "reportResult",
                {
                    "match_id": "MT-502",
                    "score": {"home": 2, "away": 1},
                    "scorers": [
                        {"player": t("Adeyemi", "阿德耶米"), "minute": 14},
                        {"player": t("Brandt", "布兰特"), "minute": 60},
                        {"player": t("Adeyemi", "阿德耶米"), "minute": 77},
                    ],
                },
                {"status": "saved"},
            ),
            call("reportResult", {"match_id": "MT-503", "score": {"home": 0, "away": 0}}, {"status": "saved"}),
            call(
                "getTable",
                {"league": t("Valley League", "河谷联赛"), "season": "2024/25"},
                [
                    {"rank": 1, "team_id": "FC-03", "team": t("Millbrook", "磨坊溪"), "points": 52},
                    {"rank": 2, "team_id": "FC-09", "team": t("Oberau Rovers", "上谷流浪者"), "points": 49},
                ],
            ),
            answer=t(
                "Both results are saved. In 2024/25 Millbrook won with 52 points, ahead of Oberau Rovers with 49.",
                "两个结果都已保存。2024/25赛季磨坊溪以52分夺冠，上谷流浪者49分第二。",
            ),
        ),
    ),
)
