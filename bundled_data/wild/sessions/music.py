"""Session: a list for a birthday."""

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
    either,
    flag,
    many,
    t,
    text,
    tool,
    turn,
    whole,
)

TALK = Talk(
    "music",
    "2025-08-30 20:14:03",
    (
        tool(
            "findTracks",
            t("Find tracks of a genre.", "按曲风查找歌曲。"),
            {"genre": text(t("Genre.", "曲风。"))},
            {
                "highest_bpm": whole(t("Most beats per minute.", "每分钟最多拍数。")),
                "limit": either(
                    t("How many, default 20.", "数量，默认20。"),
                    {"type": "integer", "description": t("A number.", "数字。")},
                    {"type": "string", "enum": ["all"]},
                ),
            },
        ),
        tool(
            "getLyrics",
            t("The words of a track.", "查询歌词。"),
            {"track_id": text(t("Number of the track.", "歌曲编号。"))},
        ),
        tool(
            "findSimilarArtists",
            t("Artists that sound alike.", "查找相似的歌手。"),
            {"artist": text(t("Name.", "歌手名。"))},
        ),
        tool(
            "createPlaylist",
            t("Make an empty playlist.", "新建空歌单。"),
            {"title": text(t("Title.", "歌单名。"))},
            {"public": flag(t("Everybody may see it. Default true.", "是否公开，默认为true。"), default=True)},
        ),
        tool(
            "addTracks",
            t("Add tracks to a playlist.", "把歌曲加入歌单。"),
            {
                "playlist_id": text(t("Number of the playlist.", "歌单编号。")),
                "track_ids": many(
                    t("The tracks in order.", "按顺序排列的歌曲。"), text(t("Number of a track.", "歌曲编号。"))
                ),
            },
        ),
    ),
    (
        turn(
            CHAT,
            None,
            t(
                "My mum turns 70 tomorrow and loves bossa nova. What is it that makes it sound so relaxed?",
                "我妈明天70岁，她最爱听波萨诺瓦。这种音乐为什么听着那么放松？",
            ),
            answer=t(
                "A soft voice close to speaking, rich chords on a nylon guitar, and a samba rhythm played quietly and a"
                " bit off the beat.",
                "近乎说话的轻柔嗓音、尼龙弦吉他的丰富和弦，再加上弹得很轻、略微错开节拍的桑巴节奏。",
            ),
        ),
        turn(
            SINGLE,
            COREFERENTIAL,
            t("get me four slow tracks of that, 90 bpm at most", "给我找四首这种慢歌，最多90拍"),
            call(
                "findTracks",
                {"genre": t("bossa nova", "波萨诺瓦"), "highest_bpm": 90, "limit": 4},
                [
                    {"track_id": "TK-11", "title": "Areia Fria", "artist": "Lia Montes"},
                    {"track_id": "TK-26", "title": "Barco Lento", "artist": "Trio Garoa"},
                    {"track_id": "TK-34", "title": "Depois da Chuva", "artist": "Caio Brand"},
                    {"track_id": "TK-47", "title": "Luz de Rua", "artist": "Lia Montes"},
                ],
            ),
            answer=t(
                "1. Areia Fria (Lia Montes)\n2. Barco Lento (Trio Garoa)\n3. Depois da Chuva (Caio Brand)\n4. Luz de"
                " Rua (Lia Montes)",
                "1. Areia Fria（Lia Montes）\n2. Barco Lento（Trio Garoa）\n3. Depois da Chuva（Caio Brand）\n4. Luz de"
                " Rua（Lia Montes）",
            ),
        ),
        turn(
            PARALLEL,
            PARTIAL,
            t(
                "The words of the second and the last? And who else sounds like the one with the rain song?",
                "第二首和最后一首的歌词？还有谁跟唱雨那首的人风格像？",
            ),
            call("getLyrics", {"track_id": "TK-26"}, {"error": "no lyrics: instrumental"}),
            call("getLyrics", {"track_id": "TK-47"}, {"language": "pt", "lyrics": "Luz de rua, fica comigo..."}),
            call("findSimilarArtists", {"artist": "Caio Brand"}, ["Nilo Prado", "Vera Cunha"]),
            answer=t(
                "Barco Lento is instrumental. Luz de Rua begins 'Luz de rua, fica comigo...'. Close to Caio Brand: Nilo"
                " Prado, Vera Cunha.",
                "Barco Lento是纯音乐。Luz de Rua开头是“Luz de rua, fica comigo...”。跟Caio Brand风格接近的有Nilo"
                " Prado和Vera Cunha。",
            ),
        ),
        turn(
            CLARIFY,
            LONG_RANGE,
            t(
                "Lovely. Put the four you found into a new list for the birthday, the slow ones, nobody else may"
                " see it.",
                "不错。把你前面找到的那四首慢歌放进一个生日用的新歌单，别让别人看到。",
            ),
            ask(
                "createPlaylist",
                ["title"],
                t("What shall the list be called?", "歌单叫什么名字？"),
                t("Seventy Summers", "七十个夏天"),
            ),
            call(
                "createPlaylist",
                {"title": t("Seventy Summers", "七十个夏天"), "public": False},
                {"playlist_id": "PL-802"},
                0,
            ),
            call(
                "addTracks",
                {"playlist_id": "PL-802", "track_ids": ["TK-11", "TK-26", "TK-34", "TK-47"]},
                {"tracks": 4, "minutes": 15},
                1,
            ),
            answer=t(
                "'Seventy Summers' holds the four tracks, 15 minutes, and only you can see it.",
                "私密歌单“七十个夏天”已建好，四首歌共15分钟，只有您能看到。",
            ),
        ),
    ),
)
