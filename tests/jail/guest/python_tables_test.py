"""What pandas and numpy answer with: the labels of rows are part of it. Skipped where the library is missing."""
import os
import unittest

from driver import GuestTest

_FRAME = "df = pd.DataFrame({'city': ['A', 'B', 'A'], 'n': [1, 2, 3]})\n"


class TablesTest(GuestTest):
    language = "python"

    def value(self, code, library="pandas as pd"):
        path = os.environ.get("WARDER_TEST_PYTHON_PATH")
        prefix = f"import sys; sys.path.append({path!r})\n" if path else ""
        prefix += f"import {library}\n"
        if not hasattr(TablesTest, library.split()[0]):
            setattr(TablesTest, library.split()[0], self.run_code(prefix).error is None)
        if not getattr(TablesTest, library.split()[0]):
            self.skipTest(f"needs python3-{library.split()[0]}")
        end = self.run_code(prefix + code)
        self.assertIsNone(end.error, end)
        return end.value


    def check(self, rows, setup="", library="pandas as pd"):
        """Each row an expression and its value as JSON; all of them in one execution, for the import takes its time."""
        values = self.value(setup + "[" + ",\n".join(code for code, _ in rows) + "]", library)
        for (code, value), got in zip(rows, values, strict=True):
            with self.subTest(code=code):
                self.assertEqual(got, value)


class Frames(TablesTest):
    def test_the_labels_of_rows_are_part_of_the_answer(self):
        sums = [{"city": "A", "n": 4}, {"city": "B", "n": 2}]
        self.check((
                ("df.groupby('city').sum()", sums),
                ("df.groupby('city').n.sum()", sums),
                ("{'sums': df.groupby('city').sum(), 'list': [df.groupby('city').sum()]}",
                {"sums": sums, "list": [sums]}),
                ("df.set_index('city').head(1)", [{"city": "A", "n": 1}]),
                ("df.describe().loc[['count', 'mean']]", [{"index": "count", "n": 3.0}, {"index": "mean", "n": 2.0}]),
                ("df.corr(numeric_only=True)", [{"index": "n", "n": 1.0}]),
                ("df.assign(k=['x', 'x', 'y']).pivot_table(index='city', columns='k', values='n', aggfunc='sum')",
                 [{"city": "A", "x": 1.0, "y": 3.0}, {"city": "B", "x": 2.0, "y": None}]),
                ("df[df.n > 1]", [{"index": 1, "city": "B", "n": 2}, {"index": 2, "city": "A", "n": 3}]),
                ("df.groupby(['city', 'n']).size().head(1)", [{"city": "A", "n": 1, "value": 1}]),
                ("pd.DataFrame({'x': [1]}, index=[2026])", [{"index": 2026, "x": 1}]),
                ("pd.DataFrame({'x': [1]}, index=pd.RangeIndex(5, 6))", [{"index": 5, "x": 1}]),
                ("pd.DataFrame({'x': [1]}, index=pd.MultiIndex.from_tuples([('a', 1)]))",
                 [{"level_0": "a", "level_1": 1, "x": 1}]),
                ("pd.DataFrame(index=['a'])", [{"index": "a"}]),
                ("pd.DataFrame({'index': [1]}, index=['a'])", [{"level_0": "a", "index": 1}]),
                ("pd.Series([1], index=['a'])", [{"index": "a", "value": 1}]),
                ("df.iloc[0]", [{"index": "city", "0": "A"}, {"index": "n", "0": 1}])), _FRAME)

    def test_the_numbering_that_pandas_makes_itself_is_left_out(self):
        rows = [{"city": "A", "n": 1}, {"city": "B", "n": 2}, {"city": "A", "n": 3}]
        self.check((("df", rows), ("pd.concat([df[:1], df[1:]], ignore_index=True)", rows), ("df.n", [1, 2, 3]),
                            ("df.groupby('city').n.sum().reset_index()", [{"city": "A", "n": 4}, {"city": "B",
                            "n": 2}]),
                            ("pd.DataFrame()", [])), _FRAME)

    def test_a_table_without_rows_keeps_its_columns(self):
        self.check((("df[df.n > 9]", {"rows": 0, "columns": ["city", "n"], "records": []}),
                    ("[pd.DataFrame(columns=['x', 'x'])]", [{"rows": 0, "columns": ["x", "x.1"], "records": []}]),
                    ("df.n[df.n > 9]", [])), _FRAME)

    def test_a_period_is_its_text(self):
        months = "p = pd.period_range('2026-01', periods=2, freq='M')\n"
        self.check((("pd.DataFrame({'x': [1, 2]}, index=p)", [{"index": "2026-01", "x": 1}, {"index": "2026-02",
         "x": 2}]),
                            ("pd.Series(p)", ["2026-01", "2026-02"]), ("p", ["2026-01", "2026-02"]),
                            ("p[0]", "2026-01"),
                            ("{p[0]: 1}", {"2026-01": 1})), months)

    def test_columns_of_several_levels_or_of_one_name_are_all_there(self):
        self.check((
                ("df.groupby('city').agg({'n': ['sum', 'max']})", [{"city": "A", "n_sum": 4, "n_max": 3},
                                                                    {"city": "B", "n_sum": 2, "n_max": 2}]),
                ("pd.DataFrame([[1, 2, 3]], columns=['x', 'x', 'x.1'])", [{"x": 1, "x.1": 2, "x.1.1": 3}]),
                ("pd.DataFrame([[1]], columns=[pd.Timestamp('2026-01-01')])", [{"2026-01-01T00:00:00": 1}])), _FRAME)

    def test_single_values_of_every_kind(self):
        self.check((
                ("pd.Series([1.5, None, float('inf')])", [1.5, None, "Infinity"]),
                ("pd.Series([1, None], dtype='Int64')", [1, None]),
                ("pd.Series(['a', None], dtype='category')", ["a", None]),
                ("pd.Categorical(['a', None])", ["a", None]),
                ("pd.Series(['a', None], dtype='string')", ["a", None]),
                ("pd.Index(['a', 'b'])", ["a", "b"]),
                ("pd.MultiIndex.from_tuples([('a', 1)])", [["a", 1]]),
                ("df.columns", ["city", "n"]),
                ("pd.to_datetime(pd.Series(['2026-01-01', None]))", ["2026-01-01T00:00:00", None]),
                ("pd.date_range('2026-01-01', periods=1, tz='UTC')", ["2026-01-01T00:00:00+00:00"]),
                ("pd.Timedelta('1d')", "1 days 00:00:00"),
                ("pd.cut(df.n, [0, 2])", ["(0.0, 2.0]", "(0.0, 2.0]", None]),
                ("pd.Series([[1], {'a': pd.NaT}])", [[1], {"a": None}]),
                ("[pd.NaT, pd.NA, pd.Timestamp('2026-01-01')]", [None, None, "2026-01-01T00:00:00"])), _FRAME)

    def test_of_a_long_table_the_first_rows_come_and_their_number(self):
        got = self.value("pd.DataFrame({'x': range(5000)}, index=range(1, 5001))")
        self.assertEqual((got["rows"], got["omitted"], len(got["records"]), got["records"][0]),
                         (5000, 4000, 1000, {"index": 1, "x": 0}))
        got = self.value("pd.Series(range(5000))")
        self.assertEqual((got["rows"], got["omitted"], got["values"][-1]), (5000, 4000, 999))


class Arrays(TablesTest):
    def test_arrays_and_their_values_are_json(self):
        self.check((
                ("[np.arange(3), np.float64(1.5), np.int8(3), np.bool_(True), np.array(['a']), np.nan]",
                 [[0, 1, 2], 1.5, 3, True, ["a"], "NaN"]),
                ("np.array([(1, 'a')], dtype=[('x', 'i4'), ('y', 'U1')])", [{"x": 1, "y": "a"}]),
                ("np.array(['2026-01-01'], dtype='M8[D]')", ["2026-01-01"]),
                ("np.array(['2026-01-01'], dtype='M8[ns]')", ["2026-01-01T00:00:00.000000000"]),
                ("np.datetime64('2026-01-01T00:00', 'ns')", "2026-01-01T00:00:00.000000000"),
                ("[np.longdouble(1.5), np.datetime64('NaT')]", [1.5, None])), library="numpy as np")

    def test_memory_that_numpy_does_not_get_is_told_as_such(self):
        self.value("1", "numpy as np")
        end = self.run_code("import numpy as np\nnp.zeros(10**13)")
        self.assertIn("Unable to allocate", end.error)
        self.assertEqual(end.errno, 12)


if __name__ == "__main__":
    unittest.main()
