"""What the TypeScript runner promises: types are taken off, lines stay, and what has a meaning when it runs works."""
import base64
import unittest

from driver import GuestTest


class TypeScriptTest(GuestTest):
    language = "typescript"


class Programs(TypeScriptTest):
    def test_typed_programs_run(self):
        for code, value in (
                ("const x: number = 1\nx", 1), ("1 + 1", 2), ("return [1] as number[]", [1]),
                ("interface A<T> { x: T; f?(a: T): void }\ntype B = A<number> | null\nlet a: B = {x: 1}\na!.x", 1),
                ("function f(a: string): string;\nfunction f(a: number): number;\nfunction f(a: any) { return a }\nf(2)", 2),
                ("const id = <T,>(x: T): T => x\nid<string>('g')", "g"),
                ("class P<T> implements I { private readonly x: T; static n?: number\n constructor(x: T) { this.x = x }\n"
                 " get(): T { return this.x } }\ninterface I { get(): unknown }\nnew P<number>(3).get()", 3),
                ("abstract class Q { abstract m(): number; n() { return this.m() } }\n"
                 "class R extends Q { override m() { return 4 } }\nnew R().n()", 4),
                ("enum Color { Red = 1, Green }\n[Color.Green, Color[1]]", [2, "Red"]),
                ("const enum E { A = 'a' }\nE.A", "a"), ("declare const nothing: number\n5", 5),
                ("namespace N { export const x = 6 }\nN.x", 6),
                ("class S { constructor(private a: number, public b = 2) {} sum() { return this.a + this.b } }\nnew S(5).sum()", 7),
                ("const d = (t: any) => { t.marked = 8 }\n@d class T {}\n(T as any).marked", 8),
                ("const x = {a: 1} satisfies Record<string, number>\nx", {"a": 1}),
                ("const x = {} as any\n;(x as any).y = 1\nx", {"y": 1}), ("const v = '9' as unknown\n[v][0]", "9"),
                ("for (const [k, n] of Object.entries({a: 1}) as [string, number][]) { console.log(k, n) }\nawait Promise.resolve<number>(10)", 10),
                ("import type {Stats} from 'fs'\nimport {type Dirent, existsSync} from 'fs'\nexistsSync('/')", True),
                ("import {Stats, NoSuchType} from 'fs'\nconst s: NoSuchType | null = null\ns", None),
                ("import {Issue} from './types'\nlet i: Issue | undefined\n11", 11),
                ("const f = (\n  a: number,\n): {\n  x: number\n} => ({x: a})\nf(12)", {"x": 12}),
                ("function isS(x: unknown): x is string { return typeof x === 'string' }\nisS('')", True),
                ("try { throw 1 } catch (e: unknown) { e }", 1), ("let x: string | undefined = 'a'\nx?.length ?? 0", 1),
                ("type F = typeof import('fs')\nconst t = <const T extends readonly unknown[]>(x: T) => x\nt([1])", [1])):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), value)

    def test_files_of_the_workspace_are_imported_with_their_types(self):
        self.write("lib.ts", "import {sep} from 'path'\nexport interface A { x: number }\nexport const a: A = {x: 1}\n"
                             "export default (n: number): string => sep + n")
        for code in ("import f, {a, A} from './lib'\nconst b: A = a\n;[f(b.x)]", "import f from './lib.ts'\n[f(1)]",
                     "import f from './lib.js'\n[f(1)]", "const {default: f} = await import('./lib')\n;[f(1)]",
                     "const f = require('./lib').default\n;[f(1)]"):
            with self.subTest(code=code):
                self.assertEqual(self.value_of(code), ["/1"])

    def test_javascript_is_typescript(self):
        self.assertEqual(self.value_of("const {a, ...b} = {a: 1, c: 2}\nconst o = {a, b}\no"), {"a": 1, "b": {"c": 2}})

    def test_errors_show_the_agents_lines(self):
        for code, place, line in (
                ("interface A {\n  x: number\n}\nconst a = null as any as A\na.x", "<execution>:5:3", "a.x"),
                ("enum Color {\n  Red,\n  Green,\n}\n\nfunction f(x: any) {\n  return x.y\n}\nf(null)", "<execution>:7:", "return x.y"),
                ("enum A { B }\n\n\nconst x: any = null; x.y", "<execution>:4:", "const x: any = null; x.y")):
            with self.subTest(code=code):
                end = self.run_code(code)
                self.assertIn("TypeError: Cannot read properties of null", end.error)
                self.assertIn(place, end.traceback)
                self.assertIn(f"        {line}", end.traceback)
        end = self.run_code("const a = 1\nconst b: = 2\n")
        self.assertEqual(end.error, "SyntaxError: Type expected.")
        self.assertIn("<execution>:2\nconst b: = 2\n         ^", end.traceback)

    def test_what_the_language_is_not_is_told(self):
        self.assertIn('language="python"', self.run_code("def f(x):\n    return x").error)

    def test_pictures_and_context_vars(self):
        png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 20).decode()
        self.assertEqual(self.value_of("const x: number = n\nx", context_vars={"n": 3}), 3)
        self.assertEqual(self.run_code(f"const p: Buffer = Buffer.from('{png}', 'base64')\np").images,
                         [{"mime": "image/png", "data": png}])


if __name__ == "__main__":
    unittest.main()
