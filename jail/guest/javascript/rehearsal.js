// Rehearsal: an execution without its exit, ahead of time. It loads, compiles and, in a fork, copies what every
// execution uses.
'use strict';
const process = require('process');
const {Buffer} = require('buffer');
const fs = require('fs');
const Module = require('module');
const {Assembler, Channel} = require('./channel.js');
const {looksLikeTypeScript} = require('./advice.js');
const {Execution} = require('./execution.js');
const {mute} = require('./streams.js');

// Code for the rehearsal. Its workspace is /bin: a folder that every root has, behind a link.
const CODE = 'const {sep} = require("path");\nasync function f({a, ...b}, c = 1) { return [a, b, `${c}`] }\n' +
  'console.log("a line");\nfor (const x of [1, 2]) if (x > 1) await f({a: x});\n[await 1, "text", null].map((x) => x)';
const TYPED_CODE = `import type {Stats} from "fs"; import {type Dirent, existsSync} from "fs";
interface A<T> { x?: T; readonly y: string | null; [key: string]: unknown; f(a: number): void }
type B = A<number> | string; type C = {[K in keyof A<number>]?: A<number>[K]}; declare const nothing: any;
const f = <T extends B>(a: T, ...b: B[]): B[] => [a, ...b];
abstract class D implements A<number> { private x = 1; static z?: number; y: string | null = null; [key: string]: unknown;
  constructor(y?: number) { this.x = y! } get(): number { return this.x as number } f(a: number): void {} }
async function g(this: void, {p, q = 2}: {p: number, q?: number}, r: Map<string, Array<number>> = new Map<string, number[]>()): Promise<number> {
  for (const [k, v] of r) if (k === "a" && v.length > 1) { return p + q } else { continue }
  try { return (await Promise.all<number>([p, 1]))[0] ?? 0 } catch (e: unknown) { throw new Error(\`\${e}\`) } finally { }
}
const all: Array<B> = f<B>("a", await g({p: 1}) as any);
let sums: Record<string, number> = {}; for (let i = 0; i < 2; i++) sums["r" + i] = (sums["r" + i] ?? 0) + i;
console.log("a line", all.map((it: B): string => typeof it === "string" ? it : "b").filter((it) => it.length > 0), existsSync("/"));
all as unknown as B[]`;
const EVENTS = ['uncaughtException', 'unhandledRejection', 'beforeExit'];
const REPLACED = [[process, 'exit'], [process, 'reallyExit'], [Module, '_resolveFilename'], [fs, 'readFile'],
  [fs, 'readFileSync'], [fs.promises, 'readFile']];

function orderIn(language) {
  const isTyped = language === 'typescript' && require('./typescript.js').whyNot() === undefined;
  const code = isTyped ? TYPED_CODE : CODE;
  looksLikeTypeScript(CODE); // V8 compiles its regular expression now: in a copy that would take 0.25 ms of an answer
  for (; isTyped && stripped < STRIPPED; stripped++) require('./typescript.js').strip(TYPED_CODE, '');
  return Buffer.from(`F${JSON.stringify({type: 'run', code, language: isTyped ? language : 'javascript', workspace: '/bin', context_vars: {}})}`);
}

// Number of runs before the first rehearsal of a process: the code that removes types is large, and needs three times
// as long until V8 has compiled it for speed.
const STRIPPED = 80;
let stripped = 0;

class Over extends Error {}

// Reads an order from, and sends a runner's messages to, a channel without a peer.
function speak(receiveOrder, language) {
  const fd = fs.openSync('/dev/null', 'r+');
  const channel = new Channel(fd);
  channel.receiveSync();
  channel.send('{}');
  fs.closeSync(fd);
  return receiveOrder({receiveSync: () => new Assembler().add(orderIn(language))});
}

// Runs a rehearsal. `receiveOrder(channel)` reads the order. Calls `then()` from the event loop after the rehearsal is
// over and its effects are undone.
function rehearse(receiveOrder, language, then) {
  const folder = process.cwd();
  const names = new Set(Object.getOwnPropertyNames(globalThis));
  const listeners = EVENTS.map((event) => process.listeners(event));
  const values = REPLACED.map(([object, name]) => object[name]);
  const channel = {maxMessage: 4096, maxKept: 0, send() {}, linger() {}};
  mute(true);
  new Execution(speak(receiveOrder, language), channel, () => { throw new Over(); }).run();
  setImmediate(() => {
    try {
      process.emit('beforeExit', 0);
    } catch (e) {
      if (!(e instanceof Over)) throw e;
    }
    process._exiting = false;
    process.exitCode = undefined;
    EVENTS.forEach((event, i) => {
      for (const added of process.listeners(event))
        if (!listeners[i].includes(added)) process.removeListener(event, added);
    });
    REPLACED.forEach(([object, name], i) => { object[name] = values[i]; });
    for (const name of Object.getOwnPropertyNames(globalThis)) if (!names.has(name)) delete globalThis[name];
    process.chdir(folder);
    mute(false);
    then();
  });
}

module.exports = {rehearse};
