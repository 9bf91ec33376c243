"""Outliers of a list, by the modified z-score of Iglewicz and Hoaglin."""
import statistics


def outliers(values, limit=3.5, key=None):
    values = list(values)
    numbers = [(number, value) for value in values if _is_number(number := value.get(key) if key else value)]
    if len(numbers) < 3:
        return {"median": None, "low": None, "high": None, "outliers": []}
    median = statistics.median(number for number, _ in numbers)
    distances = [abs(number - median) for number, _ in numbers]
    # 0.6745 and 1.2533 make either measure agree with the standard deviation of a normal distribution.
    spread = statistics.median(distances) / 0.6745 or statistics.fmean(distances) * 1.2533
    reach = limit * spread
    found = sorted(((number, value) for number, value in numbers if abs(number - median) > reach),
                   key=lambda pair: abs(pair[0] - median), reverse=True)
    return {"median": median, "low": round(median - reach, 6), "high": round(median + reach, 6),
            "outliers": [value for _, value in found]}


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
