"""Session: checkout runs out of memory."""

from __future__ import annotations

from bundled_data.wild.words import (
    CHAT,
    COREFERENTIAL,
    LONG_RANGE,
    MIXED,
    PARALLEL,
    SINGLE,
    Talk,
    anything,
    call,
    flag,
    many,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "server operations",
    "2025-12-30 15:31:20",
    (
        tool("listAlerts", t("Alerts that are firing now.", "列出当前触发的告警。"), {}),
        tool(
            "getHostStatus",
            t("Status of a host.", "查询主机状态。"),
            {"host": text(t("Name of the host.", "主机名。"))},
            {
                "metrics": many(
                    t("Only these.", "只看这些指标。"),
                    text(t("One metric.", "指标。"), "cpu", "memory", "disk", "network"),
                )
            },
        ),
        tool(
            "queryLogs",
            t("Lines from the log of a service.", "查询服务日志。"),
            {
                "service": text(t("Name of the service.", "服务名。")),
                "since": text(t("YYYY-MM-DD HH:MM", "起始时间，格式YYYY-MM-DD HH:MM")),
            },
            {
                "level": text(t("Lowest level.", "最低级别。"), "debug", "info", "warning", "error"),
                "limit": whole(t("Most lines, default 100.", "最多行数，默认100。"), default=100),
            },
        ),
        tool(
            "restartService",
            t("Restart a service on a host.", "重启主机上的服务。"),
            {"host": text(t("Name of the host.", "主机名。")), "service": text(t("Name of the service.", "服务名。"))},
            {"force": flag(t("Do not wait for open requests.", "不等待未完成的请求。"))},
        ),
        tool(
            "scaleGroup",
            t("Set the number of hosts in a group.", "设置主机组的实例数。"),
            {"group": text(t("Name of the group.", "主机组名。")), "hosts": whole(t("How many.", "数量。"))},
        ),
        tool(
            "openIncident",
            t("Open an incident.", "创建故障单。"),
            {
                "title": text(t("Title.", "标题。")),
                "severity": text(t("Severity.", "严重级别。"), "sev1", "sev2", "sev3"),
                "hosts": many(t("Affected hosts.", "受影响的主机。"), text(t("Name of a host.", "主机名。"))),
            },
            {"labels": anything(t("Free labels.", "自定义标签。"))},
        ),
        tool(
            "pageTeam",
            t("Call the people on duty of a team.", "呼叫团队值班人员。"),
            {"team": text(t("Name of the team.", "团队名。")), "message": text(t("Text.", "内容。"))},
        ),
    ),
    (
        turn(
            SINGLE,
            None,
            t("anything red?", "现在有告警吗？"),
            call(
                "listAlerts",
                {},
                [
                    {"alert": "memory_high", "host": "web-3", "group": "checkout-web", "since": "14:06"},
                    {"alert": "memory_high", "host": "web-5", "group": "checkout-web", "since": "14:11"},
                ],
            ),
            answer=t(
                "Two alerts, both for memory in the group checkout-web: web-3 since 14:06 and web-5 since 14:11.",
                "有两条，都是checkout-web组的内存告警：web-3从14:06起，web-5从14:11起。",
            ),
        ),
        turn(
            PARALLEL,
            COREFERENTIAL,
            t(
                "cpu and memory of both please, and the last 50 error lines of checkout since 14:00",
                "看下这两台的cpu和内存，再查checkout服务14:00以来最近50条error日志",
            ),
            call(
                "getHostStatus",
                {"host": "web-3", "metrics": ["cpu", "memory"]},
                {"cpu_percent": 41, "memory_percent": 97},
            ),
            call(
                "getHostStatus",
                {"host": "web-5", "metrics": ["cpu", "memory"]},
                {"cpu_percent": 38, "memory_percent": 95},
            ),
            call(
                "queryLogs",
                {"service": "checkout", "since": "2025-12-30 14:00", "level": "error", "limit": 50},
                "14:09:51 web-3 checkout: worker 7 OOM-killed\n14:22:03 web-5 checkout: worker 2 OOM-killed",
            ),
            answer=t(
                "web-3: CPU 41 %, memory 97 %. web-5: 38 % and 95 %. The log has two OOM-killed workers, at 14:09 and"
                " 14:22.",
                "web-3：CPU 41%，内存97%；web-5：38%和95%。日志里有两个worker被OOM-killed，分别在14:09和14:22。",
            ),
        ),
        turn(
            CHAT,
            COREFERENTIAL,
            t(
                "remind me, what exactly does that last bit mean? who kills whom?",
                "提醒我一下，最后那个到底什么意思？谁杀了谁？",
            ),
            answer=t(
                "The host ran out of memory, so the kernel ended the process that it judged best to free some, here a"
                " worker.",
                "主机内存耗尽，内核为了腾出内存，结束了它认为最合适的进程，这里就是worker。",
            ),
        ),
        turn(
            MIXED,
            LONG_RANGE,
            t(
                "Right. Restart checkout on the two red hosts, after that scale their group to 6. Open a sev2 'Checkout"
                " out of memory' for the two, label region: eu-west, and when you have its number page payments:"
                " 'Checkout is out of memory, see <number>'. And how's db-1 doing, everything?",
                "好。重启最开始告警的那两台上的checkout，之后把它们的组扩到6台。"
                "给这两台开一个sev2故障单，标题“结算服务内存耗尽”，标签region: eu-west"
                "；拿到编号后呼叫payments团队：“结算服务内存耗尽，详见<编号>”。另外db-1各项情况怎么样？",
            ),
            call("restartService", {"host": "web-3", "service": "checkout"}, {"restarted": True, "seconds": 9}),
            call("restartService", {"host": "web-5", "service": "checkout"}, {"restarted": True, "seconds": 11}),
            call(
                "scaleGroup", {"group": "checkout-web", "hosts": 6}, {"group": "checkout-web", "from": 4, "to": 6}, 0, 1
            ),
            call(
                "openIncident",
                {
                    "title": t("Checkout out of memory", "结算服务内存耗尽"),
                    "severity": "sev2",
                    "hosts": ["web-3", "web-5"],
                    "labels": {"region": "eu-west"},
                },
                {"incident_id": "INC-731"},
            ),
            call(
                "pageTeam",
                {
                    "team": "payments",
                    "message": t("Checkout is out of memory, see INC-731", "结算服务内存耗尽，详见INC-731"),
                },
                {"paged": ["R. Osei"]},
                3,
            ),
            call(
                "getHostStatus",
                {"host": "db-1"},
                {"cpu_percent": 22, "memory_percent": 61, "disk_percent": 70, "network_mbit": 140},
            ),
            answer=t(
                "Both restarts went through and checkout-web goes from 4 to 6 hosts. INC-731 is open and R. Osei is"
                " paged. db-1 is fine: CPU 22 %, memory 61 %, disk 70 %, network 140 Mbit/s.",
                "两台都已重启，checkout-web从4台扩到6台。故障单INC-731已创建，已呼叫R. Osei。"
                "db-1正常：CPU 22%，内存61%，磁盘70%，网络140 Mbit/s。",
            ),
        ),
    ),
)
