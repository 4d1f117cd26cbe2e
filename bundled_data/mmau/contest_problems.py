"""The bundled contest problems: a description, a plan, a program, and the inputs of its tests. No output is written
down here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """The groups hold inputs only. () is a group without tests, None a group that the record lacks."""

    name: str
    description: str
    plan: str
    program: str
    public: tuple[str, ...] | None
    private: tuple[str, ...]  # the shortest one first: problem parsing asks about it
    generated: tuple[str, ...] | None


PROBLEMS = (
    Problem(
        "runs",
        "A line holds a word of small letters. Shorten it: replace every run of equal letters by the letter "
        "and the length of the run, also where the length is 1.",
        "Go through the word and keep the current letter with the length of its run. When another letter "
        "comes, or the word ends, write letter and length. Join everything and print it.",
        """\
word = input()
parts = []
start = 0
for place in range(1, len(word) + 1):
    if place == len(word) or word[place] != word[start]:
        parts.append(word[start] + str(place - start))
        start = place
print("".join(parts))
""",
        ("aaabcc\n",),
        ("q\n", "zzzzzzzzzzzz\n", "abab\n"),
        ("mississippi\n", "bookkeeper\n"),
    ),
    Problem(
        "anagrams",
        "The first line gives n (1 to 100), then n lines with one word of small letters each. Two words "
        "belong together if one can be made from the other by moving letters. "
        "Print the number of groups and the size of the largest group, separated by a blank.",
        "Sort the letters of every word: words that belong together get the same text. Count how often each "
        "sorted text occurs. Print how many there are and the highest count.",
        """\
n = int(input())
groups = {}
for _ in range(n):
    key = "".join(sorted(input().strip()))
    groups[key] = groups.get(key, 0) + 1
print(len(groups), max(groups.values()))
""",
        ("4\ntea\neat\nten\nate\n",),
        ("1\na\n", "3\naab\nabb\naba\n"),
        ("6\nstop\npots\nloop\npool\npolo\nspot\n",),
    ),
    Problem(
        "digits",
        "A line holds a whole number from 0 to 10^50. As long as it has more than one digit, it is replaced "
        "by the sum of its digits. "
        "Print on one line how many replacements are made, on the next line the digit that remains.",
        "Keep the number as text. While it is longer than one sign, add up its digits, turn the sum into "
        "text again and count a step. Print the steps and the text on two lines.",
        """\
text = str(int(input()))
steps = 0
while len(text) > 1:
    text = str(sum(map(int, text)))
    steps += 1
print(steps)
print(text)
""",
        ("9875\n",),
        ("0\n", "10\n"),
        ("99999999999999999999999999999999999999999999999999\n", "199\n"),
    ),
    Problem(
        "spiral",
        "The first line gives rows r and columns c (1 to 10 each), then r lines with c integers each. Print "
        "all numbers on one line, separated by blanks, in the order of a spiral: "
        "it begins at the upper left, goes right along the first row, and turns clockwise inwards.",
        "While rows are left, take the first row off and append it to the answer. Turn what is left by 90 "
        "degrees against the clock, so that the next side lies on top. Print the answer.",
        """\
r, c = map(int, input().split())
rows = [input().split() for _ in range(r)]
order = []
while rows:
    order += rows.pop(0)
    rows = [list(column) for column in zip(*rows)][::-1]
print(*order)
""",
        ("3 3\n1 2 3\n4 5 6\n7 8 9\n",),
        ("1 1\n-4\n", "2 4\n1 2 3 4\n5 6 7 8\n", "4 1\n1\n2\n3\n4\n"),
        ("3 5\n11 12 13 14 15\n21 22 23 24 25\n31 32 33 34 35\n",),
    ),
    Problem(
        "puddles",
        "A line holds up to 100 heights (0 to 1000) of columns that are one unit wide and stand side by "
        "side. It rains for long; water runs off at both ends. "
        "Print how many units of water stay between the columns.",
        "Above a column, water stands up to the smaller of two values: the greatest height to its left and "
        "the greatest to its right, the column itself included in both. "
        "Add the difference of this level and the column's height for every column and print the sum.",
        """\
heights = list(map(int, input().split()))
water = 0
for place, height in enumerate(heights):
    level = min(max(heights[: place + 1]), max(heights[place:]))
    water += level - height
print(water)
""",
        ("3 0 2\n",),
        ("5\n", "1 2 3 2 1\n", "4 1 0 3 0 2\n"),
        (),
    ),
    Problem(
        "carts",
        "The first line gives the number n of parcels (1 to 100) and the limit w. The second gives the "
        "weights of the parcels, none above w. A cart takes one or two parcels of at most w "
        "together. Print the least number of carts.",
        "Sort the weights. Always load the heaviest parcel that is left; if the lightest one fits beside it, "
        "load that too. Count a cart each time until nothing is left.",
        """\
n, w = map(int, input().split())
weights = sorted(map(int, input().split()))
light, heavy, carts = 0, n - 1, 0
while light <= heavy:
    if light < heavy and weights[light] + weights[heavy] <= w:
        light += 1
    heavy -= 1
    carts += 1
print(carts)
""",
        ("4 10\n7 3 5 5\n",),
        ("1 6\n6\n", "3 8\n5 5 5\n"),
        ("7 12\n1 11 2 10 3 9 6\n", "5 100\n50 50 51 49 50\n"),
    ),
    Problem(
        "recipe",
        "The first line gives the number n of steps (1 to 50) and the number m of rules, then m lines follow "
        "with two numbers a and b: step a comes before step b. "
        "Print an order of all steps that keeps every rule, on one line, separated by blanks. Of several "
        "orders print the one whose first step is smallest, then whose second step is "
        "smallest, and so on. If there is none, print IMPOSSIBLE.",
        "Count for every step how many rules want something before it. Repeat: among the steps that are not "
        "done and whose count is 0, take the smallest, write it down and lower the "
        "counts of the steps that wait for it. If no step can be taken before all are done, print "
        "IMPOSSIBLE, else the order.",
        """\
from heapq import heapify, heappop, heappush

n, m = map(int, input().split())
after = [[] for _ in range(n + 1)]
waits = [0] * (n + 1)
for _ in range(m):
    a, b = map(int, input().split())
    after[a].append(b)
    waits[b] += 1
free = [step for step in range(1, n + 1) if not waits[step]]
heapify(free)
order = []
while free:
    step = heappop(free)
    order.append(step)
    for other in after[step]:
        waits[other] -= 1
        if not waits[other]:
            heappush(free, other)
print(*order if len(order) == n else ["IMPOSSIBLE"])
""",
        ("4 3\n3 1\n3 2\n2 4\n",),
        ("2 0\n", "2 2\n1 2\n2 1\n"),
        ("5 4\n5 1\n4 1\n1 3\n2 3\n", "3 3\n1 2\n2 3\n3 2\n"),
    ),
    Problem(
        "satchel",
        "The first line gives the number n of things (1 to 30) and the weight w (0 to 200) that a satchel "
        "bears. Then n lines follow, each with the weight and the worth of a thing, both at "
        "least 1. Every thing exists once. Print the greatest worth that fits.",
        "Let best[k] be the greatest worth with a weight of at most k, at first 0 everywhere. For every "
        "thing go through k from w down to its weight and set best[k] to the greater of "
        "best[k] and best[k - weight] + worth. Going downwards keeps a thing from being taken twice. Print best[w].",
        """\
n, w = map(int, input().split())
best = [0] * (w + 1)
for _ in range(n):
    weight, worth = map(int, input().split())
    for k in range(w, weight - 1, -1):
        best[k] = max(best[k], best[k - weight] + worth)
print(best[w])
""",
        ("3 5\n2 3\n3 4\n4 5\n",),
        ("1 0\n1 9\n", "2 10\n6 30\n5 25\n"),
        ("5 15\n12 4\n2 2\n1 1\n1 2\n4 10\n",),
    ),
    Problem(
        "edits",
        "Two lines hold one word each, of 1 to 50 small letters. In one move a letter is inserted, removed "
        "or replaced. Print the least number of moves that turn the first word into the second.",
        "Let row[j] be the number of moves from the letters of the first word read so far to the first j "
        "letters of the second; it begins as 0, 1, 2, ... For each further letter "
        "build the next row: the least of removing (old row[j] + 1), inserting (new row[j-1] + 1), and "
        "keeping or replacing (old row[j-1], plus 1 if the letters differ). Print the last value.",
        """\
a = input().strip()
b = input().strip()
row = list(range(len(b) + 1))
for i, x in enumerate(a, 1):
    new = [i]
    for j, y in enumerate(b, 1):
        new.append(min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (x != y)))
    row = new
print(row[-1])
""",
        ("stone\nmoney\n",),
        ("a\na\n", "abc\nxyz\n", "sunday\nsaturday\n"),
        None,
    ),
    Problem(
        "robot",
        "The first line gives rows r and columns c (1 to 20 each), then r lines of c signs: . is free, # is "
        "a wall, and the one S is where a robot stands, looking up. The last line holds "
        "commands: L and R turn it by 90 degrees, F moves it one field ahead unless there is a wall or the "
        "edge. Print the row and the column where it ends, counted from 1, "
        "and the direction it looks at (N, E, S or W), separated by blanks.",
        "Find S. Number the directions N, E, S, W from 0 to 3; R adds one, L takes one away, modulo 4. For F "
        "work out the field ahead and go there if it is inside and no wall. "
        "Print row and column plus one and the letter of the direction.",
        """\
r, c = map(int, input().split())
grid = [input() for _ in range(r)]
y, x = next((i, row.index("S")) for i, row in enumerate(grid) if "S" in row)
looks = 0
for command in input().strip():
    if command == "R":
        looks = (looks + 1) % 4
    elif command == "L":
        looks = (looks - 1) % 4
    else:
        dy, dx = [(-1, 0), (0, 1), (1, 0), (0, -1)][looks]
        if 0 <= y + dy < r and 0 <= x + dx < c and grid[y + dy][x + dx] != "#":
            y, x = y + dy, x + dx
print(y + 1, x + 1, "NESW"[looks])
""",
        ("3 3\n...\n.#.\nS..\nFFRFF\n",),
        ("1 1\nS\nFL\n", "2 3\n#..\nS..\nFRFLFRR\n"),
        ("3 4\n....\n.S#.\n....\nRFRFLFFFFLF\n",),
    ),
    Problem(
        "league",
        "The first line gives the number n of matches (1 to 50). Each of the n lines names two teams and "
        "their goals: home guest goals_home goals_guest. A win brings 3 points, a draw 1 for each. "
        "Print a line for every team: its name, points, and goal difference (goals scored minus goals "
        "received), separated by blanks. More points come first, then the greater difference, then the "
        "alphabet.",
        "Keep points and goal difference of each team in a dictionary. Go through the matches and add to "
        "both teams. Sort by falling points, falling difference and rising name, and print.",
        """\
n = int(input())
table = {}
for _ in range(n):
    home, guest, scored, received = input().split()
    margin = int(scored) - int(received)
    for team, own in ((home, margin), (guest, -margin)):
        points, difference = table.get(team, (0, 0))
        table[team] = (points + (3 if own > 0 else 1 if own == 0 else 0), difference + own)
for team, (points, difference) in sorted(table.items(), key=lambda entry: (-entry[1][0], -entry[1][1], entry[0])):
    print(team, points, difference)
""",
        ("3\nOwls Bears 2 1\nBears Cats 0 0\nCats Owls 1 3\n",),
        ("1\nB A 0 0\n", "2\nX Y 1 0\nY X 1 0\n"),
        ("4\nElk Fox 4 0\nGnu Hen 1 0\nFox Gnu 2 2\nHen Elk 3 3\n",),
    ),
    Problem(
        "roads",
        "The first line gives towns n (numbered from 1) and roads m. Each of the m lines holds two towns and "
        "the length of the road between them, which can be driven both ways. "
        "Print the length of the shortest way from town 1 to every other town 2, 3, ..., n, each on a line "
        "of its own, or -1 where there is no way. n is at least 2.",
        "Use Dijkstra's method: keep towns with their length so far in a heap, beginning with town 1 at 0. "
        "Take the nearest; if it is not settled yet, settle it and put its neighbours in the heap "
        "with the length of the road added. At the end print the settled lengths of 2 to n, -1 for those "
        "never reached.",
        """\
import heapq

n, m = map(int, input().split())
roads = [[] for _ in range(n + 1)]
for _ in range(m):
    a, b, length = map(int, input().split())
    roads[a].append((b, length))
    roads[b].append((a, length))
settled = {}
heap = [(0, 1)]
while heap:
    far, town = heapq.heappop(heap)
    if town in settled:
        continue
    settled[town] = far
    for other, length in roads[town]:
        if other not in settled:
            heapq.heappush(heap, (far + length, other))
for town in range(2, n + 1):
    print(settled.get(town, -1))
""",
        ("4 4\n1 2 7\n1 3 2\n3 2 3\n2 4 1\n",),
        ("2 0\n", "3 1\n2 3 5\n"),
        ("5 6\n1 2 4\n1 3 1\n3 2 2\n2 4 5\n3 4 8\n4 5 3\n",),
    ),
    Problem(
        "shifts",
        "The first line gives the number n of shifts (1 to 100), each of the n lines its start and end "
        "(integers, start < end). Shifts that overlap or touch melt into one. "
        "Print the shifts that result, a line with start and end for each, the earliest first.",
        "Sort the shifts by their start. Keep a list of results; if the next shift begins no later than the "
        "last result ends, extend that end where needed, else append the shift. Print the list.",
        """\
n = int(input())
shifts = sorted(tuple(map(int, input().split())) for _ in range(n))
merged = []
for start, end in shifts:
    if merged and start <= merged[-1][1]:
        merged[-1][1] = max(merged[-1][1], end)
    else:
        merged.append([start, end])
for start, end in merged:
    print(start, end)
""",
        ("3\n6 9\n1 4\n3 5\n",),
        ("1\n0 2\n", "3\n1 10\n2 3\n10 12\n"),
        ("5\n8 9\n1 2\n-3 0\n2 4\n6 7\n",),
    ),
    Problem(
        "cipher",
        "The first line gives a number k (0 to 25). All further lines, until the end of the input, are a "
        "message in which every letter was moved k places ahead in the alphabet, Z followed by A, "
        "capital letters staying capital; other signs were kept. Print the original message, line by line. "
        "It has at least one line and no empty ones.",
        "Read k and then lines until the input ends. Move every letter k places back, modulo 26, separately "
        "for small and capital letters, and leave all other signs. Print each line.",
        """\
k = int(input())
while True:
    try:
        line = input()
    except EOFError:
        break
    plain = ""
    for sign in line:
        for first in "aA":
            if 0 <= ord(sign) - ord(first) < 26:
                sign = chr((ord(sign) - ord(first) - k) % 26 + ord(first))
                break
        plain += sign
    print(plain)
""",
        ("3\nKhoor, Zruog!\n",),
        ("1\nB\n", "0\nStay as you are.\n"),
        ("25\nLddszmcgdqd\nzs7ozbjdqr\n", "13\nNopq\nMzab\n"),
    ),
    Problem(
        "moss",
        "The first line gives rows r and columns c (1 to 15 each), then r lines of c signs: * is moss, . is "
        "bare stone. Overnight moss survives on a field with two or three mossy fields among its up to "
        "eight neighbours, and appears on a bare field with exactly three. All fields change at once. Print "
        "the grid of the next morning.",
        "For every field count the mossy fields around it, inside the grid. Write * into a new grid if the "
        "count is 3, or if it is 2 and the field is mossy; else write a point. Print the new grid.",
        """\
r, c = map(int, input().split())
old = [input() for _ in range(r)]
for y in range(r):
    line = ""
    for x in range(c):
        around = 0
        for a in range(max(y - 1, 0), min(y + 2, r)):
            for b in range(max(x - 1, 0), min(x + 2, c)):
                if (a, b) != (y, x) and old[a][b] == "*":
                    around += 1
        line += "*" if around == 3 or (around == 2 and old[y][x] == "*") else "."
    print(line)
""",
        (),
        ("1 2\n*.\n", "3 3\n...\n***\n...\n"),
        ("4 5\n.*...\n..*..\n***..\n.....\n", "3 3\n***\n***\n***\n"),
    ),
    Problem(
        "ranges",
        "The first line gives n and q (1 to 100 each), the second n integers. Each of the q lines that "
        "follow holds two places a and b, 1 <= a <= b <= n. Print for each, on a line of its own, "
        "the sum of the integers from place a to place b, both included.",
        "Build the sums of the first 0, 1, 2, ... n integers. The answer to a question is the sum of the "
        "first b minus the sum of the first a - 1. Print it for every question.",
        """\
n, q = map(int, input().split())
sums = [0]
for number in map(int, input().split()):
    sums.append(sums[-1] + number)
for _ in range(q):
    a, b = map(int, input().split())
    print(sums[b] - sums[a - 1])
""",
        ("5 2\n3 -1 4 1 -5\n1 3\n4 5\n",),
        ("1 1\n7\n1 1\n", "3 3\n1 2 3\n1 1\n2 3\n1 3\n"),
        ("6 2\n1000000000 1000000000 1000000000 1000000000 1000000000 1000000000\n1 6\n3 4\n",),
    ),
)
