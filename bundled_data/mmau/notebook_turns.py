"""What is asked in the notebooks, the cells that answer it, and the questions on what these show.

Options are expressions over the variables of the cells, so no answer is typed. The right one comes first; the build
shuffles them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Question:
    """``right`` and ``wrong`` are expressions, whose values are shown as ``str`` shows them."""

    text: str
    right: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """``cells``: sources that answer the request. ``image``: the questions are about a figure."""

    request: str
    cells: tuple[str, ...]
    questions: tuple[Question, ...]
    image: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """``files``: tables it may read; ``given``: the cells before the first turn."""

    name: str
    files: tuple[str, ...]
    given: tuple[str, ...]
    turns: tuple[Turn, ...] = field(default=())


_FIGURE = "figure, axes = plt.subplots(figsize=(4, 3), dpi=80)\n"
_PAIR = "figure, axes = plt.subplots(1, 2, figsize=(5.5, 3), dpi=72)\n"
_TIGHT = "figure.tight_layout()\nplt.show()"
_PANDAS = "import matplotlib.pyplot as plt\nimport numpy as np\nimport pandas as pd\n"

STATIONS = Conversation(
    "stations",
    ("rides",),
    (
        "# Bike hire\nEach row of the table is a ride; `hour` is when it began.",
        _PANDAS + "\nrides = pd.read_csv('../input/rides.csv').drop_duplicates()\nrides.shape",
    ),
    (
        Turn(
            "How many rides began at each station? Print the counts, the largest first.",
            ("starts = rides['station'].value_counts()\nprint(starts.to_string())",),
            (
                Question(
                    "At which station did most rides begin?",
                    "starts.index[0]",
                    ("starts.index[1]", "starts.index[2]", "starts.index[4]"),
                ),
                Question(
                    "How many rides began at the University?",
                    "starts['University']",
                    ("starts['Harbour']", "starts['Lakeside']", "starts['University'] + 3"),
                ),
                Question(
                    "How many more rides began at the busiest station than at the quietest?",
                    "starts.iloc[0] - starts.iloc[-1]",
                    ("starts.iloc[0] - starts.iloc[-2]", "starts.iloc[1] - starts.iloc[-1]", "starts.iloc[0]"),
                ),
            ),
        ),
        Turn(
            "Draw a horizontal bar chart of the mean duration of the rides per starting station, sorted so that the"
            " longest bar is at the top. Label the horizontal axis with `minutes`.",
            (
                "mean_minutes = rides.groupby('station')['minutes'].mean().sort_values()\n"
                + _FIGURE
                + "axes.barh(mean_minutes.index, mean_minutes.values, color='teal')\naxes.set_xlabel('minutes')\n"
                + "axes.set_title('Mean duration by station')\n"
                + _TIGHT,
            ),
            (
                Question(
                    "From which station do rides last longest on average?",
                    "mean_minutes.index[-1]",
                    ("mean_minutes.index[-2]", "mean_minutes.index[-3]", "mean_minutes.index[0]"),
                ),
                Question(
                    "How many stations have a bar that reaches beyond 20 minutes?",
                    "(mean_minutes > 20).sum()",
                    ("2", "4", "5"),
                ),
                Question(
                    "Which two stations have the shortest bars?",
                    "' and '.join(sorted(mean_minutes.index[:2]))",
                    (
                        "' and '.join(sorted(mean_minutes.index[1:3]))",
                        "' and '.join(sorted(mean_minutes.index[-2:]))",
                        "' and '.join(sorted(mean_minutes.index[[0, 2]]))",
                    ),
                ),
            ),
            image=True,
        ),
        Turn(
            "Show a table with one row per station and one column per kind of bike that counts the rides, with row and"
            " column totals named `all`.",
            ("table = pd.crosstab(rides['station'], rides['bike'], margins=True, margins_name='all')\ntable",),
            (
                Question(
                    "How many rides were made on electric bikes in all?",
                    "table.loc['all', 'electric']",
                    ("table.loc['all', 'cargo']", "table.loc['all', 'city']", "table.loc['all', 'electric'] + 10"),
                ),
                Question(
                    "Where did most rides on cargo bikes begin?",
                    "table.drop('all')['cargo'].idxmax()",
                    ("'Old Mill'", "'Harbour'", "'University'"),
                ),
                Question(
                    "How many rides on city bikes began at Lakeside?",
                    "table.loc['Lakeside', 'city']",
                    (
                        "table.loc['Lakeside', 'electric']",
                        "table.loc['Lakeside', 'all']",
                        "table.loc['Old Mill', 'city']",
                    ),
                ),
            ),
        ),
        Turn(
            "Draw a line with markers that shows how many rides began in each hour of the day. Every hour in the data"
            " gets a tick.",
            (
                "## Hours of the day\nOnly hours with rides are shown.",
                "per_hour = rides.groupby('hour').size()\n"
                + _FIGURE
                + "axes.plot(per_hour.index, per_hour.values, marker='o')\naxes.set_xticks(per_hour.index)\n"
                + "axes.set_xlabel('hour')\naxes.set_ylabel('rides')\n"
                + _TIGHT,
            ),
            (
                Question("In which hour did most rides begin?", "per_hour.idxmax()", ("8", "13", "18")),
                Question("In which hour did fewest rides begin?", "per_hour.idxmin()", ("7", "10", "14")),
            ),
            image=True,
        ),
    ),
)

RAIN = Conversation(
    "rain",
    ("rides", "weather"),
    (
        "# Do people ride in the rain?",
        _PANDAS
        + "\nrides = pd.read_csv('../input/rides.csv', parse_dates=['date']).drop_duplicates()\n"
        + "weather = pd.read_csv('../input/weather.csv', parse_dates=['date'])",
        "print(len(rides), 'rides from', rides['date'].min().date(), 'to', rides['date'].max().date())\n"
        + "print(len(weather), 'days of weather')",
    ),
    (
        Turn(
            "Count the rides of every day in the weather table, days without a ride counting 0, and keep the count as a"
            " column `rides` of a new table `days`. Print how many days had no ride, and the mean number of rides on"
            " dry days (no rain at all) and on wet days, each with two decimals.",
            (
                (
                    "count = rides.groupby('date').size()\n"
                    "days = weather.assign(rides=weather['date'].map(count).fillna(0).astype(int))\n"
                    "dry = days['rain_mm'] == 0"
                ),
                (
                    "print('days without a ride:', (days['rides'] == 0).sum())\n"
                    "print(f\"mean on dry days: {days.loc[dry, 'rides'].mean():.2f}\")\n"
                    "print(f\"mean on wet days: {days.loc[~dry, 'rides'].mean():.2f}\")"
                ),
            ),
            (
                Question(
                    "On how many days did nobody ride?",
                    "(days['rides'] == 0).sum()",
                    ("(days['rides'] == 1).sum()", "(~dry).sum()", "(days['rides'] == 0).sum() + 4"),
                ),
                Question(
                    "What is the mean number of rides on a wet day?",
                    "f\"{days.loc[~dry, 'rides'].mean():.2f}\"",
                    (
                        "f\"{days.loc[~dry & (days['rides'] > 0), 'rides'].mean():.2f}\"",
                        "f\"{days['rides'].mean():.2f}\"",
                        "f\"{days.loc[dry, 'rides'].mean():.2f}\"",
                    ),
                ),
                Question(
                    "What do the means say?",
                    "'on dry days more than four times as many rides as on wet ones'",
                    (
                        "'about the same number on dry and on wet days'",
                        "'on dry days about twice as many rides as on wet ones'",
                        "'on wet days more rides than on dry ones'",
                    ),
                ),
            ),
        ),
        Turn(
            "Draw the daily number of rides against the highest temperature as a scatter plot, dry days in orange and"
            " wet days in blue, with a legend. Then draw a straight line fitted to the dry days.",
            (
                "slope, start = np.polyfit(days.loc[dry, 'temp_max'], days.loc[dry, 'rides'], 1)\n"
                "print(f'slope {slope:.2f}')\n"
                + _FIGURE
                + "axes.scatter(days.loc[dry, 'temp_max'], days.loc[dry, 'rides'], s=12, color='tab:orange',"
                " label='dry')\n"
                + "axes.scatter(days.loc[~dry, 'temp_max'], days.loc[~dry, 'rides'], s=12, color='tab:blue',"
                " label='wet')\n"
                + "ends = np.array([days.loc[dry, 'temp_max'].min(), days.loc[dry, 'temp_max'].max()])\n"
                + "axes.plot(ends, start + slope * ends, color='tab:orange')\n"
                + "axes.set_xlabel('highest temperature')\naxes.set_ylabel('rides')\naxes.legend()\n"
                + _TIGHT,
            ),
            (
                Question(
                    "How does the fitted line run?",
                    "'it rises' if slope > 0 else 'it falls'",
                    ("'it falls' if slope > 0 else 'it rises'", "'it is level'", "'it first rises, then falls'"),
                ),
                Question(
                    "Of which kind is the day with the most rides?",
                    "('wet' if days.loc[days['rides'].idxmax(), 'rain_mm'] else 'dry') + ' and ' + ('warmer' if"
                    " days.loc[days['rides'].idxmax(), 'temp_max'] > 20 else 'colder') + ' than 20 degrees'",
                    (
                        "'wet and warmer than 20 degrees'",
                        "'dry and colder than 20 degrees'",
                        "'wet and colder than 20 degrees'",
                    ),
                ),
            ),
            image=True,
        ),
        Turn(
            "Show the correlations between `rides`, `temp_max`, `rain_mm` and `wind_kmh`, rounded to two decimals.",
            ("correlations = days[['rides', 'temp_max', 'rain_mm', 'wind_kmh']].corr().round(2)\ncorrelations",),
            (
                Question(
                    "Which quantity goes with the number of rides most closely, whatever the sign?",
                    "correlations['rides'].drop('rides').abs().idxmax()",
                    ("'rain_mm'", "'wind_kmh'"),
                ),
                Question(
                    "What is the correlation of rain and wind?",
                    "correlations.loc['rain_mm', 'wind_kmh']",
                    (
                        "correlations.loc['rides', 'wind_kmh']",
                        "-correlations.loc['rain_mm', 'wind_kmh']",
                        "correlations.loc['rides', 'temp_max']",
                        "correlations.loc['temp_max', 'wind_kmh']",
                    ),
                ),
            ),
        ),
        Turn(
            "Print the number of rides and the amount of rain (mm, one decimal) for each month of the data, and after"
            " that the date of the wettest day.",
            (
                (
                    "months = days.groupby(days['date'].dt.month_name(), sort=False)[['rides',"
                    " 'rain_mm']].sum().round(1)\nwettest = days.loc[days['rain_mm'].idxmax(), 'date'].date()\nfor"
                    " month, row in months.iterrows():\n    print(f\"{month}: {row['rides']:.0f} rides,"
                    " {row['rain_mm']:.1f} mm\")\nprint('wettest day:', wettest)"
                ),
            ),
            (
                Question(
                    "How much rain fell in May?",
                    "f\"{months.loc['May', 'rain_mm']:.1f} mm\"",
                    (
                        "f\"{months.loc['June', 'rain_mm']:.1f} mm\"",
                        "f\"{months['rain_mm'].sum():.1f} mm\"",
                        "f\"{months['rain_mm'].mean():.1f} mm\"",
                    ),
                ),
                Question(
                    "Which month had more rides, and which more rain?",
                    "f\"{months['rides'].idxmax()} had more rides, {months['rain_mm'].idxmax()} more rain\"",
                    (
                        "f\"{months['rides'].idxmin()} had more rides, {months['rain_mm'].idxmin()} more rain\"",
                        "f\"{months['rides'].idxmax()} had more rides, {months['rain_mm'].idxmin()} more rain\"",
                        "f\"{months['rides'].idxmin()} had more rides, {months['rain_mm'].idxmax()} more rain\"",
                    ),
                ),
                Question(
                    "Which was the wettest day?",
                    "wettest",
                    (
                        "days.nlargest(2, 'rain_mm')['date'].iloc[1].date()",
                        "days.nlargest(3, 'rain_mm')['date'].iloc[2].date()",
                        "'2023-05-31'",
                    ),
                ),
            ),
        ),
    ),
)

TOMATOES = Conversation(
    "tomatoes",
    ("tomatoes",),
    (),
    (
        Turn(
            "Read the table of the trial with tomatoes into `plants` and print, for each variety, how many plants there"
            " are and how many fruits a plant has on average (one decimal).",
            (
                "# A trial with tomatoes",
                _PANDAS + "\nplants = pd.read_csv('../input/tomatoes.csv')",
                (
                    "summary = plants.groupby('variety')['fruits'].agg(['size',"
                    " 'mean']).round(1)\nprint(summary.to_string())"
                ),
            ),
            (
                Question("How many plants of each variety are there?", "summary['size'].iloc[0]", ("16", "32", "96")),
                Question(
                    "Which variety has most fruits on a plant?",
                    "summary['mean'].idxmax()",
                    ("'Amber'", "'Bellona'", "'Dorothea'"),
                ),
                Question(
                    "How many fruits does a plant of Bellona have on average?",
                    "summary.loc['Bellona', 'mean']",
                    (
                        "summary.loc['Amber', 'mean']",
                        "summary.loc['Dorothea', 'mean']",
                        "round(plants['fruits'].median(), 1)",
                    ),
                ),
            ),
        ),
        Turn(
            "Compare the heights in week 8 for the three feeds: one box plot per feed, in the order none, compost,"
            " mineral.",
            (
                "feeds = ['none', 'compost', 'mineral']\n"
                "heights = [plants.loc[plants['feed'] == feed, 'height_w8'] for feed in feeds]\n"
                + _FIGURE
                + "axes.boxplot(heights)\naxes.set_xticks([1, 2, 3], feeds)\naxes.set_ylabel('height in week 8 (cm)')\n"
                + _TIGHT,
                "medians = plants.groupby('feed')['height_w8'].median()",
            ),
            (
                Question(
                    "Which feed has the highest median?",
                    "medians.idxmax()",
                    ("medians.idxmin()", "medians.drop('mineral').idxmax()"),
                ),
                Question(
                    "How high is the median of the plants with mineral feed, about?",
                    "f'{round(medians[\"mineral\"] / 5) * 5} cm'",
                    (
                        "f'{round(medians[\"none\"] / 5) * 5} cm'",
                        "f'{round(medians[\"mineral\"] / 5) * 5 + 20} cm'",
                        "f'{round(medians[\"none\"] / 5) * 5 - 20} cm'",
                    ),
                ),
                Question("How many boxes are there?", "len(heights)", ("2", "4", "6")),
            ),
            image=True,
        ),
        Turn(
            "Add a column `growth` with the growth from week 4 to week 8 in cm, rounded to one decimal, and show plant,"
            " variety, feed and growth of the five plants that grew most, the first at the top.",
            (
                "plants['growth'] = (plants['height_w8'] - plants['height_w4']).round(1)",
                (
                    "best = plants.nlargest(5, 'growth')[['plant', 'variety', 'feed',"
                    " 'growth']].reset_index(drop=True)\nbest"
                ),
            ),
            (
                Question(
                    "Which plant grew most?",
                    "best['plant'][0]",
                    ("best['plant'][1]", "best['plant'][2]", "best['plant'][4]"),
                ),
                Question(
                    "Which feed did all five get?",
                    "best['feed'].unique().tolist()[0]",
                    ("'compost'", "'none'", "'they got different ones'"),
                ),
                Question(
                    "How many of the five are of the variety Dorothea?",
                    "(best['variety'] == 'Dorothea').sum()",
                    ("(best['variety'] == 'Dorothea').sum() + 1", "(best['variety'] == 'Amber').sum()", "0"),
                ),
                Question(
                    "How much did the fifth of them grow?",
                    "f\"{best['growth'][4]:.1f} cm\"",
                    (
                        "f\"{best['growth'][0]:.1f} cm\"",
                        "f\"{best['growth'][1]:.1f} cm\"",
                        "f\"{plants['growth'].nlargest(6).iloc[5]:.1f} cm\"",
                    ),
                ),
            ),
        ),
        Turn(
            "Make two figures. First: a bar chart of the total yield in kg per variety. Second: a scatter plot of yield"
            " in g against the number of fruits, a colour for each variety, with a legend.",
            (
                "totals = plants.groupby('variety')['yield_g'].sum() / 1000\n"
                + _FIGURE
                + "axes.bar(totals.index, totals.values, color='olive')\naxes.set_ylabel('yield (kg)')\n"
                + _TIGHT
                + "\n\n"
                + _FIGURE
                + "for variety, group in plants.groupby('variety'):\n"
                + "    axes.scatter(group['fruits'], group['yield_g'], s=12, label=variety)\n"
                + "axes.set_xlabel('fruits')\naxes.set_ylabel('yield (g)')\naxes.legend(fontsize=8)\n"
                + _TIGHT,
            ),
            (
                Question(
                    "Which variety has the shortest bar?", "totals.idxmin()", ("'Amber'", "'Bellona'", "'Dorothea'")
                ),
                Question(
                    "Which bars reach beyond 17 kg?",
                    "'only ' + ' and '.join(totals.index[totals > 17])",
                    ("'only Bellona'", "'Bellona and Dorothea'", "'all but Corvo'"),
                ),
                Question(
                    "How many fruits does the plant with most fruits have, about?",
                    "round(plants['fruits'].max(), -1)",
                    ("10", "20", "40"),
                ),
                Question(
                    "To which variety does the plant with the largest yield belong?",
                    "plants.loc[plants['yield_g'].idxmax(), 'variety']",
                    ("'Amber'", "'Bellona'", "'Corvo'"),
                ),
            ),
            image=True,
        ),
    ),
)

WARMTH = Conversation(
    "warmth",
    ("weather",),
    (
        (
            "import csv\n\nimport matplotlib.pyplot as plt\nimport numpy as np\n\n"
            "with open('../input/weather.csv', newline='') as stream:\n    rows = list(csv.DictReader(stream))\n"
            "dates = [row['date'] for row in rows]\n"
            "temperature = np.array([float(row['temp_max']) for row in rows])\n"
            "rain = np.array([float(row['rain_mm']) for row in rows])\n"
            "wind = np.array([int(row['wind_kmh']) for row in rows])\n"
            "print(len(rows), 'days, the first is', dates[0])"
        ),
    ),
    (
        Turn(
            "No pandas, please. Print date and temperature of the warmest and of the coldest day, and the length of the"
            " longest row of days without rain.",
            (
                (
                    "longest = current = 0\n"
                    "for amount in rain:\n"
                    "    current = 0 if amount else current + 1\n"
                    "    longest = max(longest, current)\n"
                    "warm, cold = temperature.argmax(), temperature.argmin()\n"
                    "print('warmest:', dates[warm], temperature[warm])\n"
                    "print('coldest:', dates[cold], temperature[cold])\n"
                    "print('longest dry spell:', longest, 'days')"
                ),
            ),
            (
                Question(
                    "How warm was the warmest day?",
                    "temperature[warm]",
                    ("np.sort(temperature)[-2]", "np.sort(temperature)[-3]", "temperature[0]"),
                ),
                Question(
                    "Which was the warmest day?",
                    "dates[warm]",
                    ("dates[np.argsort(temperature)[-2]]", "dates[-3]", "dates[rain.argmax()]"),
                ),
                Question(
                    "How many days did the longest dry spell last?",
                    "longest",
                    ("longest - 2", "longest - 1", "longest + 4"),
                ),
            ),
        ),
        Turn(
            "Plot the highest temperature of each day as a thin grey line and its mean over seven days as a thick red"
            " one (the mean of a day and the six before it). Number the days from 1 on the horizontal axis and put both"
            " into a legend.",
            (
                "smooth = np.convolve(temperature, np.ones(7) / 7, mode='valid')\n"
                "number = np.arange(1, len(temperature) + 1)\n"
                + _FIGURE
                + "axes.plot(number, temperature, color='grey', linewidth=0.8, label='day')\n"
                + "axes.plot(number[6:], smooth, color='red', linewidth=2.5, label='mean of 7 days')\n"
                + "axes.set_xlabel('day')\naxes.set_ylabel('highest temperature')\naxes.legend()\n"
                + _TIGHT,
            ),
            (
                Question("With which day does the red line begin?", "number[6:][0]", ("1", "4", "14")),
                Question(
                    "Where is the red line highest?",
                    "'in the last ten days'",
                    ("'in the first ten days'", "'between the days 20 and 30'", "'between the days 35 and 45'"),
                ),
                Question(
                    "Is the mean ever above 25 degrees?",
                    "'yes, at the end' if smooth.max() > 25 else 'no, never'",
                    (
                        "'no, never' if smooth.max() > 25 else 'yes, at the end'",
                        "'yes, at the beginning'",
                        "'yes, all the time'",
                    ),
                ),
            ),
            image=True,
        ),
        Turn(
            "Print, for wind below 15 km/h, from 15 to below 25 km/h and from 25 km/h on, the number of days and the"
            " share of them with rain in whole percent.",
            (
                (
                    "bounds = [(0, 15), (15, 25), (25, 100)]\n"
                    "shares = {}\n"
                    "for low, high in bounds:\n"
                    "    chosen = (wind >= low) & (wind < high)\n"
                    "    shares[low] = (int(chosen.sum()), 100 * float((rain[chosen] > 0).mean()))\n"
                    "    print(f'from {low:2d} km/h: {shares[low][0]:2d} days, {shares[low][1]:3.0f} % with rain')"
                ),
            ),
            (
                Question(
                    "On how many days was the wind below 15 km/h?",
                    "shares[0][0]",
                    ("shares[15][0]", "shares[25][0]", "shares[0][0] + shares[15][0]"),
                ),
                Question(
                    "What share of the days with wind from 15 to below 25 km/h had rain?",
                    "f'{shares[15][1]:.0f} %'",
                    ("f'{shares[0][1]:.0f} %'", "f'{100 - shares[15][1]:.0f} %'", "f'{shares[25][1]:.0f} %'", "'66 %'"),
                ),
            ),
        ),
    ),
)

CLEANING = Conversation(
    "cleaning",
    ("rides",),
    (
        "# Can the distances be trusted?\nSome rides are said to be in the table twice, some lack a distance.",
        (
            "import matplotlib.pyplot as plt\nimport pandas as pd\n\nraw ="
            " pd.read_csv('../input/rides.csv')\nprint('rows:', len(raw))"
        ),
    ),
    (
        Turn(
            "Print how many rows repeat an earlier row and how many rows have no distance. Then remove the repeated"
            " rows and print how many rows of the rest, kept as `clean`, have no distance.",
            (
                (
                    "repeated = raw.duplicated()\n"
                    "clean = raw[~repeated].copy()\n"
                    "print('repeated rows:', repeated.sum())\n"
                    "print('without distance, all rows:', raw['km'].isna().sum())\n"
                    "print('rows kept:', len(clean))\n"
                    "print('without distance, rows kept:', clean['km'].isna().sum())"
                ),
            ),
            (
                Question(
                    "How many rows repeat an earlier one?",
                    "repeated.sum()",
                    ("2 * repeated.sum()", "raw['km'].isna().sum()", "0"),
                ),
                Question(
                    "How many rows are kept?",
                    "len(clean)",
                    ("len(raw)", "len(clean.dropna())", "len(clean) - repeated.sum()"),
                ),
            ),
        ),
        Turn(
            "Fill the missing distances: minutes / 60 times the median speed (km/h) of the same kind of bike, where the"
            " median is taken over the rides with a distance, and the result is rounded to one decimal. Print the"
            " median speed per kind of bike with one decimal, and the total distance before and after the filling, also"
            " with one decimal.",
            (
                (
                    "speed = (clean['km'] / (clean['minutes'] / 60)).groupby(clean['bike']).median()\n"
                    "before = clean['km'].sum()\n"
                    "guess = (clean['minutes'] / 60 * clean['bike'].map(speed)).round(1)\n"
                    "clean['km'] = clean['km'].fillna(guess)\n"
                    "print(speed.round(1).to_string())\n"
                    "print(f'before: {before:.1f} km')\n"
                    "print(f\"after: {clean['km'].sum():.1f} km\")"
                ),
            ),
            (
                Question(
                    "What is the median speed of the cargo bikes?",
                    "f\"{speed['cargo']:.1f} km/h\"",
                    (
                        "f\"{speed['city']:.1f} km/h\"",
                        "f\"{speed['electric']:.1f} km/h\"",
                        "f\"{(speed['cargo'] + speed['city']) / 2:.1f} km/h\"",
                    ),
                ),
                Question(
                    "Which kind of bike is fastest?",
                    "speed.idxmax()",
                    ("speed.idxmin()", "speed.drop('electric').idxmax()"),
                ),
                Question(
                    "By how many kilometres does the filling raise the total?",
                    "f\"{clean['km'].sum() - before:.1f}\"",
                    ('f"{before:.1f}"', "f\"{clean['km'].sum():.1f}\"", "f\"{(clean['km'].sum() - before) / 2:.1f}\""),
                ),
                Question(
                    "What is the total distance with the missing ones filled?",
                    "f\"{clean['km'].sum():.1f} km\"",
                    ('f"{before:.1f} km"', "f\"{clean['km'].sum() + 100:.1f} km\"", 'f"{before - 100:.1f} km"'),
                ),
            ),
        ),
        Turn(
            "Compare members with others in one figure with two parts side by side: on the left the number of rides, on"
            " the right the mean distance in km, with one bar each for `yes` and `no` in this order.",
            (
                "> Members first.",
                "groups = clean.groupby('member')['km'].agg(['size', 'mean']).reindex(['yes', 'no'])\n"
                + _PAIR
                + "axes[0].bar(groups.index, groups['size'], color=['tab:green',"
                " 'tab:grey'])\naxes[0].set_title('rides')\n"
                + "axes[1].bar(groups.index, groups['mean'], color=['tab:green', 'tab:grey'])\naxes[1].set_title('mean"
                " km')\n" + _TIGHT,
            ),
            (
                Question(
                    "Who made more rides?",
                    "{'yes': 'members', 'no': 'others'}[groups['size'].idxmax()]",
                    ("{'yes': 'members', 'no': 'others'}[groups['size'].idxmin()]", "'both the same number'"),
                ),
                Question("How many bars does the whole figure have?", "groups.size", ("2", "3", "6")),
                Question(
                    "Between which values are both mean distances?",
                    "'4 and 8 km'",
                    ("'0 and 4 km'", "'8 and 12 km'", "'12 and 16 km'"),
                ),
            ),
            image=True,
        ),
    ),
)

CONVERSATIONS = (STATIONS, RAIN, TOMATOES, WARMTH, CLEANING)
