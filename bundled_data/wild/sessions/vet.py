"""Session: a parrot has an appointment."""

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
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "veterinary clinic",
    "2025-06-03 08:45:30",
    (
        tool(
            "findClinic",
            t("Find clinics for a kind of animal.", "查找能看某类动物的诊所。"),
            {"animal": text(t("Kind of animal.", "动物种类。"), "dog", "cat", "bird", "reptile", "rodent")},
            {
                "district": text(t("Part of the city.", "城区。")),
                "open_now": flag(t("Only clinics open now.", "只看正在营业的。")),
            },
        ),
        tool(
            "getPatient",
            t("The file of an animal.", "查看动物的病历。"),
            {"patient_id": text(t("Number of the file, such as PT-1000.", "病历号，例如PT-1000。"))},
        ),
        tool(
            "bookVisit",
            t("Book a visit at a clinic.", "预约就诊。"),
            {
                "patient_id": text(t("Number of the animal's file.", "动物的病历号。")),
                "clinic_id": text(t("Number of the clinic, such as CL-1.", "诊所编号，例如CL-1。")),
                "start": text(t("YYYY-MM-DD HH:MM", "开始时间，格式YYYY-MM-DD HH:MM")),
            },
            {"length_minutes": whole(t("Length, default 20.", "时长（分钟），默认20。"), 10, 20, 40, default=20)},
        ),
        tool(
            "getVaccinations",
            t("Vaccinations that an animal got.", "查询动物的接种记录。"),
            {"patient_id": text(t("Number of the animal's file.", "动物的病历号。"))},
            {"since": text(t("Earliest day, YYYY-MM-DD.", "起始日期，格式YYYY-MM-DD。"))},
        ),
        tool(
            "getDose",
            t("The dose of a medicine for an animal's weight.", "按体重查询药物剂量。"),
            {
                "medicine": text(t("Name of the medicine.", "药品名称。")),
                "weight_kg": decimal(t("Weight in kilograms.", "体重（公斤）。")),
            },
            {
                "animal": text(
                    t("Kind of animal, default dog.", "动物种类，默认为狗。"), "dog", "cat", "bird", "reptile", "rodent"
                )
            },
        ),
    ),
    (
        turn(
            CLARIFY,
            None,
            t(
                "Hi, I need an appointment for my parrot on Thursday at 10, the long 40 minute one.",
                "你好，我要给鹦鹉约周四10点看诊，40分钟的那种。",
            ),
            ask(
                "bookVisit",
                ["patient_id", "clinic_id"],
                t(
                    "Which clinic should it be, and what is the number of your parrot's file?",
                    "请问约哪家诊所？您鹦鹉的病历号是多少？",
                ),
                t(
                    "Pip's file is PT-3307. The clinic is the one in Harbour Street, I forgot its number",
                    "皮皮的病历号是PT-3307。诊所是港口街那家，编号我忘了",
                ),
            ),
            ask(
                "bookVisit",
                ["clinic_id"],
                t(
                    "Thanks! I do need the clinic's number; it is on every letter, it starts with CL.",
                    "谢谢！不过还需要诊所编号，以CL开头，诊所的来信上都有。",
                ),
                t("found one: CL-12", "找到了，CL-12"),
                0,
            ),
            call(
                "bookVisit",
                {"patient_id": "PT-3307", "clinic_id": "CL-12", "start": "2025-06-05 10:00", "length_minutes": 40},
                {"visit_id": "V-8841", "status": "confirmed", "vet": t("Dr Amsel", "安医生")},
                1,
            ),
            answer=t(
                "Booked: Thursday 5 June, 10:00 to 10:40 with Dr Amsel (V-8841).",
                "已预约：6月5日周四10:00至10:40，安医生（V-8841）。",
            ),
        ),
        turn(
            SINGLE,
            COREFERENTIAL,
            t("Which shots has he had since the start of last year?", "它从去年年初到现在打过哪些疫苗？"),
            call(
                "getVaccinations",
                {"patient_id": "PT-3307", "since": "2024-01-01"},
                [
                    {"date": "2024-02-19", "vaccine": t("polyoma", "多瘤病毒疫苗")},
                    {"date": "2025-02-24", "vaccine": t("polyoma", "多瘤病毒疫苗")},
                ],
            ),
            answer=t(
                "Two, both against polyoma: on 19 February 2024 and 24 February 2025.",
                "两次，都是多瘤病毒疫苗：2024年2月19日和2025年2月24日。",
            ),
        ),
        turn(
            MIXED,
            PARTIAL,
            t(
                "And the dose of Avilox and of Dorvicine? Take the weight from the file.",
                "那艾维乐和多维星的剂量呢？体重看病历上的。",
            ),
            call(
                "getPatient",
                {"patient_id": "PT-3307"},
                {"name": t("Pip", "皮皮"), "animal": "bird", "species": t("grey parrot", "灰鹦鹉"), "weight_kg": 0.43},
            ),
            call(
                "getDose",
                {"medicine": t("Avilox", "艾维乐"), "weight_kg": 0.43, "animal": "bird"},
                {"dose_ml": 0.09, "times_a_day": 1},
                0,
            ),
            call(
                "getDose",
                {"medicine": t("Dorvicine", "多维星"), "weight_kg": 0.43, "animal": "bird"},
                {"dose_ml": 0.21, "times_a_day": 2},
                0,
            ),
            answer=t(
                "For Pip's 0.43 kg: Avilox 0.09 ml once a day, Dorvicine 0.21 ml twice a day.",
                "按皮皮0.43公斤的体重：艾维乐每天1次，每次0.09毫升；多维星每天2次，每次0.21毫升。",
            ),
        ),
        turn(
            CHAT,
            LONG_RANGE,
            t(
                "Back to Thursday... any trick to get him into the carrier without losing a finger?",
                "说回周四的事……有什么办法能把它弄进笼子又不被咬到手？",
            ),
            answer=t(
                "Leave the open carrier near his perch from today, with treats inside, so that he walks in by himself"
                " on Thursday.",
                "从今天起把打开的外带笼放在它的栖木旁，里面放点零食，到周四它就会自己走进去了。",
            ),
        ),
    ),
)
