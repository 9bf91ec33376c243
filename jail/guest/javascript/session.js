// A session: order after order in one interpreter. Top-level declarations stay as global variables; each order gets its
// answer. An order is answered when its code has ended and the event loop is empty, but at most GRACE_MS after the
// code's end: timers and servers that are left continue while the next order runs. Between two orders all code is
// stopped.
'use strict';
const process = require('process');
const {setImmediate, setTimeout} = require('timers');
const {Answer} = require('./answer.js');
const {forgetChanged, tellOld, watchModules} = require('./changed.js');
const {Stage} = require('./stage.js');

const GRACE_MS = 1000; // for work that was started and not awaited

// Thrown by process.exit(): it ends the order, and the session continues.
class Exit {
  constructor(status) {
    this.status = status;
  }
}

class Session {
  #channel;
  #receive;
  #end;
  #ahead; // a stage that was made before the first order came
  #stage;
  #orders = 0;
  #programs = new Map();
  #constants = new Set();
  #call; // the order without an answer

  constructor(channel, receive, end, ahead) {
    this.#channel = channel;
    this.#ahead = ahead;
    this.#receive = receive;
    this.#end = end;
    this.#watch();
  }

  begin(order) {
    this.#orders++;
    this.#channel.maxMessage = order.max_message;
    this.#channel.maxKept = order.max_kept ?? 0;
    const call = this.#call = new Call(order, this.#orders, this.#channel, this.#programs, this.#constants,
      () => this.#finish(call));
    if (this.#stage !== undefined) this.#stage.reads.bytes = 0;
    try {
      if (this.#stage === undefined) {
        this.#stage = Stage.of(order, this.#channel, this.#ahead);
        watchModules(order.workspace);
      }
      forgetChanged();
      call.run(this.#stage);
    } catch (error) {
      call.fail(error);
    }
  }

  #watch() {
    const isAlone = (event) => process.listenerCount(event) === 1;
    for (const event of ['uncaughtException', 'unhandledRejection']) {
      process.on(event, (error) => {
        if (error instanceof Exit || isAlone(event)) this.#call?.fail(error);
      });
    }
    process.on('beforeExit', () => this.#call?.idle());
    process.exit = (code) => { throw new Exit(Number(code ?? process.exitCode ?? 0) & 255); };
    process.reallyExit = (code) => this.#end(code ?? 0);
  }

  // Answers, then waits for the next order; no other code runs meanwhile.
  #finish(call) {
    if (this.#call !== call) return;
    this.#call = undefined;
    this.#channel.abandon();
    tellOld();
    call.answer(this.#stage?.reads.bytes);
    this.#channel.abandon();
    const next = this.#receive(this.#channel);
    if (next === null) this.#end(0);
    setImmediate(() => this.begin(next)); // keeps the event loop alive
  }
}

// One order of a session.
class Call {
  #order;
  #finish;
  #answer;
  #about;
  #file;
  #returned;
  #last;
  #isSettled = false;
  #resultBefore;
  #setsResult = false;
  #constants; // the session's constants
  #declared = [];
  #fixed = new Map(); // constants that this program declares: their {value, wasConstant} before
  #hasEnded = false;  // by process.exit()

  constructor(order, number, channel, programs, constants, finish) {
    this.#order = order;
    this.#constants = constants;
    this.#finish = finish;
    this.#file = number === 1 ? '<execution>' : `<execution ${number}>`;
    this.#about = {programs, roots: [order.workspace], code: order.code, language: order.language};
    this.#answer = new Answer(channel, this.#about);
    process.exitCode = undefined;
  }

  run(stage) {
    const order = this.#order, about = this.#about;
    Object.assign(about, {...stage.about(order), programs: about.programs});
    const names = stage.bindContext(order);
    about.unbound = names.unbound;
    for (const name of names.bound) {
      set(name, order.context_vars[name]);
      this.#constants.delete(name);
    }
    this.#resultBefore = globalThis.result;
    stage.modules.program = this.#file;
    const hooks = {last: (value) => this.#keep(value), declare: (...declared) => this.#declare(...declared), named,
      constants: REFUSING};
    const {main, setsResult} = stage.compile(order, names, hooks, about, {file: this.#file, constants: this.#constants});
    this.#setsResult = setsResult;
    main().then((value) => {
      this.#returned = value;
      return this.#answer.settle(this.#chosen().value);
    }).then(() => this.#settle(), (error) => this.fail(error));
  }

  fail(error) {
    if (error instanceof Exit) {
      this.#hasEnded = true;
      if (!this.#answer.hasFailed) process.exitCode = error.status;
      this.#answer.exited(error.status);
    } else {
      this.#answer.fail(error);
      this.#forgetUnset();
    }
    setImmediate(this.#finish);
  }

  // The event loop is empty.
  idle() {
    if (!this.#isSettled)
      this.#answer.fail(new Error('the code awaits a promise that can never settle'));
    this.#finish();
  }

  answer(readBytes) {
    this.#releaseUnset();
    const {value, isImplied} = this.#chosen();
    this.#answer.take(value, isImplied);
    const status = Number(process.exitCode ?? 0) & 255;
    if (status !== 0 && !this.#hasEnded) this.#answer.exited(status);
    this.#answer.send(status, readBytes);
  }

  #chosen() {
    if (this.#returned !== undefined) return {value: this.#returned, isImplied: false};
    const {result} = globalThis;
    const isResult = result !== undefined &&
      (result !== this.#resultBefore || this.#setsResult && !this.#answer.hasFailed && !this.#hasEnded);
    return isResult ? {value: result, isImplied: false} : {value: this.#last, isImplied: true};
  }

  async #keep(value) {
    this.#last = await value;
  }

  #settle() {
    this.#isSettled = true;
    setTimeout(this.#finish, GRACE_MS).unref();
  }

  // Makes each new name a variable without a value. A name that Node defines keeps its value until it is assigned.
  #declare(names, constants) {
    for (const name of names) {
      const isConstant = constants.has(name);
      if (isConstant) this.#fixed.set(name, {value: globalThis[name], wasConstant: this.#constants.has(name)});
      if (isConstant) this.#constants.add(name);
      else this.#constants.delete(name);
      const had = Object.getOwnPropertyDescriptor(globalThis, name);
      if (had !== undefined && had.enumerable && 'value' in had && had.writable) continue;
      set(name, globalThis[name]);
      if (had === undefined) this.#declared.push(name);
    }
  }

  // Deletes declared names that got no value before an error.
  #forgetUnset() {
    for (const name of this.#declared) if (globalThis[name] === undefined) delete globalThis[name];
  }

  // If the code ended before a constant's declaration, the name is no constant.
  #releaseUnset() {
    const isWhole = !this.#answer.hasFailed && !this.#hasEnded;
    for (const [name, {value, wasConstant}] of this.#fixed)
      if (!wasConstant && globalThis[name] === value && !(isWhole && value !== undefined)) this.#constants.delete(name);
  }
}

// The target of a program's assignments to constants.
const REFUSING = new Proxy(Object.create(null), {
  get: (_, name) => globalThis[name],
  set() {
    throw new TypeError('Assignment to constant variable.');
  },
});

function set(name, value) {
  Object.defineProperty(globalThis, name, {value, configurable: true, writable: true, enumerable: true});
}

// Gives a function the name from the agent's code, also in its text.
function named(declared, name) {
  const toString = () => Function.prototype.toString.call(declared).replace(`__warder_${name}`, name);
  Object.defineProperty(declared, 'toString', {value: toString, configurable: true, writable: true});
  return Object.defineProperty(declared, 'name', {value: name, configurable: true});
}

// Runs a session from the first order on; does not return: `end(status)` ends the process. `receive(channel)`: the next
// order; null at the end. `ahead`: a stage that was made before.
function run(order, channel, receive, end, ahead) {
  new Session(channel, receive, end, ahead).begin(order);
}

module.exports = {run};
