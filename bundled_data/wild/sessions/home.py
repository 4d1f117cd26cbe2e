"""Session: turning the heating down."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    MIXED,
    PARTIAL,
    SINGLE,
    Talk,
    ask,
    call,
    decimal,
    flag,
    record,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "heating and energy at home",
    "2025-01-15 19:02:44",
    (
        tool("listRooms", t("Rooms with a thermostat.", "列出装有温控器的房间。"), {}),
        tool(
            "setThermostat",
            t("Set the temperature of a room.", "设置房间温度。"),
            {
                "room_id": text(t("Number of the room, such as R1.", "房间编号，例如R1。")),
                "celsius": decimal(t("Degrees Celsius.", "摄氏度。")),
            },
            {
                "until": text(
                    t(
                        "YYYY-MM-DD HH:MM; for good if it is left out.",
                        "截止时间，格式YYYY-MM-DD HH:MM，不填则一直有效。",
                    )
                )
            },
        ),
        tool(
            "readMeter",
            t("Use between two days.", "查询一段时间的用量。"),
            {
                "meter": text(t("Which meter.", "表的类型。"), "electricity", "gas", "water"),
                "first_day": text(t("First day, YYYY-MM-DD.", "起始日期，格式YYYY-MM-DD。")),
            },
            {"last_day": text(t("Last day, default today.", "结束日期，默认今天。"))},
        ),
        tool(
            "scheduleAppliance",
            t("Start an appliance later.", "定时启动家电。"),
            {
                "appliance": text(t("Which one.", "家电名称。"), "washing_machine", "dishwasher", "dryer"),
                "start": text(t("YYYY-MM-DD HH:MM", "开始时间，格式YYYY-MM-DD HH:MM")),
            },
            {
                "programme": record(
                    t("How it is to run.", "运行程序。"),
                    {},
                    {
                        "eco": flag(t("Save energy.", "节能。")),
                        "degrees": whole(t("Water temperature.", "水温。"), 30, 40, 60),
                    },
                )
            },
        ),
    ),
    (
        turn(
            CHAT,
            None,
            t(
                "Honestly, does turning the heating down at night save anything, or does warming up again eat it all?",
                "说实话，晚上把暖气调低到底省不省？还是早上重新烧热又全费回去了？",
            ),
            answer=t(
                "It saves a little: a cooler room loses less heat all night long, and warming up again costs less than"
                " that. In a well insulated home the difference is small.",
                "能省一点：房间温度低，整夜散失的热量就少，而早上升温的消耗小于省下的部分。保温好的房子差别不大。",
            ),
        ),
        turn(
            MIXED,
            COREFERENTIAL,
            t(
                "Fine, then do that in every bedroom: 17.5 degrees until half past six tomorrow. And how much gas did I"
                " use since Monday?",
                "好，那就在所有卧室这么做：17.5度，到明早六点半。另外从周一到现在用了多少燃气？",
            ),
            call(
                "listRooms",
                {},
                [
                    {"room_id": "R1", "name": t("living room", "客厅")},
                    {"room_id": "R3", "name": t("large bedroom", "大卧室")},
                    {"room_id": "R4", "name": t("small bedroom", "小卧室")},
                ],
            ),
            call("readMeter", {"meter": "gas", "first_day": "2025-01-13"}, {"use": 31.8, "unit": "m3"}),
            call("setThermostat", {"room_id": "R3", "celsius": 17.5, "until": "2025-01-16 06:30"}, True, 0),
            call("setThermostat", {"room_id": "R4", "celsius": 17.5, "until": "2025-01-16 06:30"}, True, 0),
            answer=t(
                "Both bedrooms are at 17.5 degrees until 6:30. Since Monday you have used 31.8 cubic metres of gas.",
                "两间卧室已设为17.5度，到明早6:30。从周一到现在用了31.8立方米燃气。",
            ),
        ),
        turn(
            CLARIFY,
            PARTIAL,
            t("also the washing machine, eco, 40 degrees", "还有洗衣机，节能模式，40度"),
            ask(
                "scheduleAppliance",
                ["start"],
                t("When shall it start?", "什么时候启动？"),
                t("when everybody's asleep", "等大家都睡了"),
            ),
            ask(
                "scheduleAppliance",
                ["start"],
                t("What time do you mean by that?", "具体是几点呢？"),
                t("two in the morning", "凌晨两点"),
                0,
            ),
            call(
                "scheduleAppliance",
                {
                    "appliance": "washing_machine",
                    "start": "2025-01-16 02:00",
                    "programme": {"eco": True, "degrees": 40},
                },
                {"job_id": "J-118", "ends": "2025-01-16 05:10"},
                1,
            ),
            answer=t("The washing machine starts at 2:00 and is done at 5:10.", "洗衣机将在2:00启动，5:10结束。"),
        ),
        turn(
            SINGLE,
            LONG_RANGE,
            t(
                "One correction to the bedrooms from before: make the small one 18, same end time.",
                "前面说的卧室改一下：小的那间调成18度，结束时间不变。",
            ),
            # 18.0 and not 18: the published comparison tells them apart
            call("setThermostat", {"room_id": "R4", "celsius": 18.0, "until": "2025-01-16 06:30"}, True),
            answer=t("The small bedroom is now at 18 degrees until 6:30.", "小卧室已改为18度，到6:30。"),
        ),
    ),
)
