"""Session: a night at the telescope."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    PARALLEL,
    SEQUENTIAL,
    Talk,
    ask,
    call,
    number,
    t,
    text,
    tool,
    turn,
    untyped,
    whole,
)

TALK = Talk(
    "astronomy",
    "2025-03-28 17:55:00",
    (
        tool(
            "getVisibility",
            t("When an object stands high enough.", "查询天体达到一定高度的时段。"),
            {"object": text(t("Name in a catalogue, such as M1.", "星表编号，例如M1。"))},
            {
                "lowest_degrees": number(
                    t("Height above the horizon, default 30.", "最低地平高度（度），默认30。"), default=30
                )
            },
        ),
        tool(
            "getClouds",
            t("Clouds over a site tonight.", "查询站点今晚的云量。"),
            {"site": text(t("Number of the site.", "站点编号。"))},
        ),
        tool(
            "getSeeing",
            t("How steady the air over a site is tonight.", "查询站点今晚的视宁度。"),
            {"site": text(t("Number of the site.", "站点编号。"))},
        ),
        tool(
            "getMoon",
            t("Moonlight in a night.", "查询某晚的月光情况。"),
            {"night": untyped(t("YYYY-MM-DD of the evening.", "当晚日期，格式YYYY-MM-DD。"))},
        ),
        tool(
            "getDome",
            t("State of the dome of a site.", "查询站点圆顶状态。"),
            {"site": text(t("Number of the site.", "站点编号。"))},
        ),
        tool(
            "getCamera",
            t("State of the camera of a site.", "查询站点相机状态。"),
            {"site": text(t("Number of the site.", "站点编号。"))},
        ),
        tool("listOpenRequests", t("Requests that wait for the telescope.", "列出排队中的观测请求。"), {}),
        tool(
            "requestFrames",
            t("Ask for pictures.", "提交拍摄请求。"),
            {
                "object": text(t("Name in a catalogue.", "星表编号。")),
                "filter": text(t("Filter.", "滤镜。"), "clear", "red", "green", "blue", "h_alpha"),
                "seconds": whole(t("Exposure of a frame.", "单张曝光时间（秒）。")),
                "frames": whole(t("How many.", "张数。")),
            },
            {"binning": whole(t("Pixels taken together, default 1.", "像素合并，默认1。"), 1, 2, 4, default=1)},
        ),
        tool(
            "getRequest",
            t("State of a request.", "查询请求状态。"),
            {"request_id": text(t("Number of the request.", "请求编号。"))},
        ),
        tool(
            "stackFrames",
            t("Make one picture of a series.", "叠加一组图像。"),
            {"series_id": text(t("Number of the series.", "图像组编号。"))},
            {"format": text(t("Default png.", "格式，默认png。"), "png", "tiff", "fits", default="png")},
        ),
        tool(
            "shareFile",
            t("Mail the link of a file.", "通过邮件分享文件链接。"),
            {"file_id": text(t("Number of the file.", "文件编号。")), "email": text(t("Mail address.", "邮箱。"))},
        ),
    ),
    (
        turn(
            PARALLEL,
            None,
            t(
                "Everything for tonight at site S2 in one go please: when is M101 above 45 degrees, clouds, seeing,"
                " moon, dome, camera, and who else is waiting for the telescope",
                "一次把S2站今晚的情况都查一下：M101什么时候高于45度、云量、视宁度、月亮、圆顶、相机，还有谁在排队用望远镜",
            ),
            call("getVisibility", {"object": "M101", "lowest_degrees": 45}, {"from": "21:10", "to": "05:20"}),
            call("getClouds", {"site": "S2"}, {"percent": 10}),
            call("getSeeing", {"site": "S2"}, {"arcsec": 1.6}),
            call("getMoon", {"night": "2025-03-28"}, {"lit_percent": 1, "sets": "19:20"}),
            call("getDome", {"site": "S2"}, {"open": False, "fault": None}),
            call("getCamera", {"site": "S2"}, {"sensor_c": -20, "ready": True}),
            call("listOpenRequests", {}, []),
            answer=t(
                "A fine night: M101 is above 45 degrees from 21:10 to 5:20, 10 % clouds, seeing 1.6 arcsec, no moon."
                " The dome is closed without fault, the camera is at -20 degrees and ready, and nobody is waiting.",
                "今晚条件很好：M101在21:10到5:20高于45度，云量10%，视宁度1.6角秒，没有月光。圆顶关闭且无故障，"
                "相机-20度已就绪，没有人排队。",
            ),
        ),
        turn(
            CLARIFY,
            COREFERENTIAL,
            t("Then let's take pictures of it in red.", "那就给它拍红光的吧。"),
            ask(
                "requestFrames",
                ["seconds", "frames"],
                t("How long shall each exposure be, and how many do you want?", "每张曝光多久？拍多少张？"),
                t("five minutes each, a dozen. binning 2", "每张五分钟，拍一打。合并2"),
            ),
            call(
                "requestFrames",
                {"object": "M101", "filter": "red", "seconds": 300, "frames": 12, "binning": 2},
                {"request_id": "RQ-5120", "starts": "21:15"},
                0,
            ),
            answer=t(
                "RQ-5120 starts at 21:15: twelve frames of 300 seconds in red.",
                "请求RQ-5120将于21:15开始：红光12张，每张300秒。",
            ),
        ),
        turn(
            CHAT,
            COREFERENTIAL,
            t(
                "how far away is that galaxy anyway? in a way I can tell my kids",
                "那个星系到底有多远？讲得让我能说给孩子听的那种",
            ),
            answer=t(
                "About 20 million light-years. The light that you catch tonight set out long before there were people.",
                "大约两千万光年。你今晚拍到的光，在人类出现之前很久就出发了。",
            ),
        ),
        turn(
            SEQUENTIAL,
            LONG_RANGE,
            t(
                "How is my request from before doing? Once it has a series, stack that as FITS, then mail the link to"
                " kim@stars.example",
                "我之前提交的请求怎么样了？有图像组了就叠加成FITS，再把链接发到kim@stars.example",
            ),
            call("getRequest", {"request_id": "RQ-5120"}, {"state": "done", "series_id": "SE-77", "frames": 12}),
            call("stackFrames", {"series_id": "SE-77", "format": "fits"}, {"file_id": "FL-2093", "megabytes": 64}, 0),
            call("shareFile", {"file_id": "FL-2093", "email": "kim@stars.example"}, t("Link sent.", "链接已发送。"), 1),
            answer=t(
                "All twelve frames are done and stacked, and the link to the FITS file is in your mail.",
                "12张全部拍完并已叠加，FITS文件的链接已发到您的邮箱。",
            ),
        ),
    ),
)
