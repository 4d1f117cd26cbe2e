"""Session: a candidate is invited."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    MIXED,
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
    "job interviews",
    "2025-09-09 13:25:36",
    (
        tool(
            "listCandidates",
            t("Candidates for a position, best first.", "按评分列出某职位的候选人。"),
            {"position_id": text(t("Number of the position.", "职位编号。"))},
            {
                "stage": text(t("Only this stage.", "只看该阶段。"), "applied", "interview", "offer"),
                "lowest_score": number(t("Only from this score.", "最低评分。")),
            },
        ),
        tool(
            "getFreeSlots",
            t("Free time of a colleague on a day.", "查询同事某天的空闲时间。"),
            {"person": text(t("Full name.", "姓名。")), "date": text(t("YYYY-MM-DD", "日期，格式YYYY-MM-DD"))},
        ),
        tool(
            "createInterview",
            t("Put an interview into the calendars.", "创建面试日程。"),
            {
                "candidate_id": text(t("Number of the candidate.", "候选人编号。")),
                "interviewers": many(t("Full names.", "面试官姓名。"), text(t("One name.", "姓名。"))),
                "start": text(t("YYYY-MM-DD HH:MM", "开始时间，格式YYYY-MM-DD HH:MM")),
                "minutes": whole(t("Length.", "时长（分钟）。"), 30, 45, 60, 90),
            },
            {"mode": text(t("Default onsite.", "方式，默认onsite。"), "video", "onsite", default="onsite")},
        ),
        tool(
            "sendMail",
            t("Send a mail.", "发送邮件。"),
            {
                "to": text(t("Mail address.", "收件邮箱。")),
                "subject": text(t("Subject.", "主题。")),
                "body": text(t("Text.", "正文。")),
            },
            {"cc": many(t("Copies.", "抄送。"), text(t("Mail address.", "邮箱。")))},
        ),
        tool(
            "scoreCandidate",
            t("Give points to a candidate.", "给候选人打分。"),
            {
                "candidate_id": text(t("Number of the candidate.", "候选人编号。")),
                "criteria": many(
                    t("The points.", "评分项。"),
                    record(
                        t("One criterion.", "一项。"),
                        {
                            "name": text(t("Name.", "名称。")),
                            "points": number(t("0 to 5, halves are fine.", "0到5分，可用半分。")),
                        },
                    ),
                ),
            },
        ),
    ),
    (
        turn(
            MIXED,
            None,
            t(
                "Who's at interview stage for P-88? Check Mona Reyes' Thursday as well, and put the top candidate into"
                " her first free slot: video, 45 minutes.",
                "P-88职位有谁进入了面试阶段？再看看梦娜周四的空闲，把排第一的候选人排进她第一个空档：视频面试，45分钟。",
            ),
            call(
                "listCandidates",
                {"position_id": "P-88", "stage": "interview"},
                [
                    {"candidate_id": "CA-204", "name": "Tarik Demir", "score": 4.4},
                    {"candidate_id": "CA-190", "name": "Wen Li", "score": 4.1},
                    {"candidate_id": "CA-233", "name": "Oda Friis", "score": 3.6},
                ],
            ),
            call(
                "getFreeSlots",
                {"person": t("Mona Reyes", "梦娜"), "date": "2025-09-11"},
                [{"from": "10:30", "to": "12:00"}, {"from": "15:00", "to": "16:00"}],
            ),
            call(
                "createInterview",
                {
                    "candidate_id": "CA-204",
                    "interviewers": [t("Mona Reyes", "梦娜")],
                    "start": "2025-09-11 10:30",
                    "minutes": 45,
                    "mode": "video",
                },
                {"interview_id": "IV-61", "link_follows": True},
                0,
                1,
            ),
            answer=t(
                "Three are at that stage: Tarik Demir (4.4), Wen Li (4.1) and Oda Friis (3.6). "
                "Tarik's video interview with Mona is on Thursday at 10:30 (IV-61).",
                "共三位：Tarik Demir（4.4）、Wen Li（4.1）、Oda Friis（3.6）。"
                "Tarik与梦娜的视频面试定在周四10:30（IV-61）。",
            ),
        ),
        turn(
            CHAT,
            COREFERENTIAL,
            t("how can she ask him about the gap in his CV without being rude?", "她怎么问他简历上的空档才不失礼？"),
            answer=t(
                "Openly and once: 'I see a year between these two jobs. Is there something from that time you would"
                " like to tell?'",
                "直接而且只问一次：“我注意到这两份工作之间隔了一年，那段时间有什么想分享的吗？”",
            ),
        ),
        turn(
            CLARIFY,
            COREFERENTIAL,
            t(
                "Good. Mail him, subject 'Your interview on Thursday': We look forward to meeting you on Thursday at"
                " 10:30. The video link follows tomorrow.",
                "好。给他发封邮件，主题“周四面试安排”，正文：期待周四10:30与您见面，视频链接明天发送。",
            ),
            ask(
                "sendMail",
                ["to"],
                t("To which address?", "发到哪个邮箱？"),
                t(
                    "tarik.demir@post.example, copy to mona.reyes@firm.example",
                    "tarik.demir@post.example，抄送mona.reyes@firm.example",
                ),
            ),
            call(
                "sendMail",
                {
                    "to": "tarik.demir@post.example",
                    "subject": t("Your interview on Thursday", "周四面试安排"),
                    "body": t(
                        "We look forward to meeting you on Thursday at 10:30. The video link follows tomorrow.",
                        "期待周四10:30与您见面，视频链接明天发送。",
                    ),
                    "cc": ["mona.reyes@firm.example"],
                },
                {"message_id": "M-5502", "status": "sent"},
                0,
            ),
            answer=t("The mail is sent, with a copy to Mona.", "邮件已发送，并抄送梦娜。"),
        ),
        turn(
            SINGLE,
            LONG_RANGE,
            t(
                "And whoever was second on that first list: 4 points for communication and 3.5 for SQL from my phone"
                " call.",
                "还有最开始那个名单上排第二的：我电话面过了，沟通4分，SQL 3.5分。",
            ),
            call(
                "scoreCandidate",
                {
                    "candidate_id": "CA-190",
                    "criteria": [{"name": t("communication", "沟通"), "points": 4}, {"name": "SQL", "points": 3.5}],
                },
                {"candidate_id": "CA-190", "score": 4.0},
            ),
            answer=t("Noted for Wen Li; the overall score is now 4.0.", "已为Wen Li登记，综合评分现为4.0。"),
        ),
    ),
)
