// One execution: its code, its answer and its end. It reports when the event loop is empty, as Node ends: work that was
// started and not awaited is part of the execution.
'use strict';
const process = require('process');
const {Answer} = require('./answer.js');
const {Stage} = require('./stage.js');

const NOTHING = Symbol('nothing');

// Execution: from an order to the exit of the process.
class Execution {
  #order;
  #channel;
  #end;
  #answer;
  #ahead;
  #stage;
  #peek = () => undefined;
  #given;  // the context variable `result`, which is not an answer
  #returned;
  #last = NOTHING;
  #isSettled = false;
  #exitCode;

  // `end(status)` ends the process; no other function here does. `ahead`: a stage that was made before the order came.
  constructor(order, channel, end, ahead) {
    this.#order = order;
    this.#channel = channel;
    this.#end = end;
    this.#ahead = ahead;
  }

  run() {
    const order = this.#order;
    const about = {programs: new Map(), roots: [order.workspace], code: order.code, language: order.language};
    this.#answer = new Answer(this.#channel, about);
    this.#watchTheEnd();
    try {
      this.#stage = Stage.of(order, this.#channel, this.#ahead);
      Object.assign(about, this.#stage.about(order));
      const names = this.#stage.bindContext(order);
      about.unbound = names.unbound;
      this.#given = names.bound.includes('result') ? order.context_vars.result : NOTHING;
      const hooks = {peek: (read) => { this.#peek = read; }, last: (value) => this.#keep(value)};
      const {main} = this.#stage.compile(order, names, hooks, about);
      main().then((value) => {
        this.#returned = value;
        return this.#answer.settle(this.#chosen().value);
      }).then(() => { this.#isSettled = true; }, (error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  async #keep(value) {
    this.#last = await value;
  }

  #watchTheEnd() {
    const isAlone = (event) => process.listenerCount(event) === 1; // else the code handles these events itself
    process.on('uncaughtException', (error) => {
      if (isAlone('uncaughtException')) this.#fail(error);
    });
    process.on('unhandledRejection', (reason) => {
      if (isAlone('unhandledRejection')) this.#fail(reason);
    });
    process.on('beforeExit', () => {
      if (!this.#isSettled) this.#fail(new Error('the code awaits a promise that can never settle'));
      process.exit();
    });
    const exit = process.exit.bind(process);
    process.exit = (code) => {
      this.#exitCode = code ?? this.#exitCode;
      if (code === undefined) exit(); // an argument of undefined would reset process.exitCode
      else exit(code);
    };
    process.reallyExit = (code) => this.#leave(code ?? 0);
  }

  #fail(error) {
    this.#isSettled = true;
    if (this.#answer.hasFailed) return;
    this.#answer.fail(error);
    process.exitCode = 1;
    process.exit();
  }

  #leave(status) {
    if (this.#exitCode !== undefined || status !== 0) this.#answer.exited(status);
    this.#takeAnswer();
    const told = this.#answer.send(status, this.#stage?.reads.bytes);
    try {
      this.#channel.linger();
    } catch (e) { // the supervisor is gone
    }
    this.#end(told);
  }

  #takeAnswer() {
    const {value, isImplied} = this.#chosen();
    this.#answer.take(value, isImplied);
  }

  // The answer: the returned value, else the variable `result`, else the value of the last expression.
  #chosen() {
    if (this.#returned !== undefined) return {value: this.#returned, isImplied: false};
    let value;
    try {
      value = this.#peek();
    } catch (e) { // the code ended before the declaration of `result`
    }
    if (value !== undefined && value !== this.#given) return {value, isImplied: false};
    return {value: this.#last === NOTHING ? undefined : this.#last, isImplied: true};
  }
}

module.exports = {Execution};
