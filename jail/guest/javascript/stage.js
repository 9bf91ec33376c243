// Stage: binds the names that code finds, and compiles its program, for an execution and for each order of a session.
// A runner makes it before it gets the order.
'use strict';
const process = require('process');
const vm = require('vm');
const path = require('path');
const Module = require('module');
const {Refused} = require('./answer.js');
const {FILE} = require('./errors.js');
const {makeFiles, makeTools, utils} = require('./helpers.js');
const {findModules, Modules} = require('./imports.js');
const {countReads} = require('./reads.js');
const {looksLikeTypeScript} = require('./advice.js');
const {makeProgram} = require('./program.js');

const WORKSPACE = '/workspace';
const OWN_FOLDERS = ['/skills', '/servers'];
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const OURS = ['__warder', 'context_vars'];
const TYPESCRIPT = ['typescript', 'ts', 'tsx', 'mts', 'cts'];

class Stage {
  reads;
  modules;
  #workspace;
  #helpers;
  #file;
  #require;

  constructor(workspace, channel) {
    const call = (name, args) => channel.call(name, args);
    this.#workspace = workspace;
    this.#helpers = {...makeTools(call, () => channel.endedOrders), fs: makeFiles(workspace, call), utils, context_vars: {}};
    this.#file = path.join(workspace, 'execution.js');
    this.#require = Module.createRequire(this.#file);
    this.modules = new Modules(workspace, this.#file, this.#require);
  }

  // Before an order. undefined: the folder of every order is not there.
  static ahead(channel) {
    try {
      return new Stage(WORKSPACE, channel);
    } catch (e) {
      return undefined;
    }
  }

  // The stage of an order: `ahead`, if that has the order's workspace. Makes the helpers global, makes the servers' tools
  // and skills importable, and enters the workspace.
  static of(order, channel, ahead) {
    const {workspace} = order;
    const stage = ahead?.#workspace === workspace ? ahead : new Stage(workspace, channel);
    for (const [name, value] of Object.entries(stage.#helpers)) define(name, value);
    findModules(workspace, channel);
    process.chdir(workspace);
    stage.reads = countReads(workspace);
    return stage;
  }

  // Splits the context variables: `bound` names are valid in JavaScript; `unbound` ones are in `context_vars` only.
  bindContext(order) {
    const context = order.context_vars;
    if (typeof context !== 'object' || Array.isArray(context))
      throw new Refused('context_vars is not an object of names and values');
    define('context_vars', context);
    const names = Object.keys(context);
    const bound = names.filter((name) => IDENTIFIER.test(name) && !OURS.includes(name) && isBindable(name));
    return {bound, unbound: names.filter((name) => !bound.includes(name))};
  }

  // The argument of describe() for the programs of this stage; `programs` gets an entry for each program.
  about(order) {
    return {programs: new Map(), roots: [order.workspace, process.cwd(), ...OWN_FOLDERS], code: order.code,
      language: order.language};
  }

  // The order's code as a function that runs it. The code is in its own function, inside one that holds the context
  // variables, so it may declare any name. Its first line is line 1: code before it is on line 0. `hooks`: last(value),
  // peek(read), and for a session declare(names, constants), named(function, name) and `constants`. `constants`: the
  // names of the session's constants; undefined: there is no session.
  compile(order, names, hooks, about, {file = FILE, constants} = {}) {
    const isSession = constants !== undefined;
    const code = order.code.replace(/^(\s*)#!/, '$1//');
    const isTyped = TYPESCRIPT.includes(order.language);
    const source = isTyped ? untyped(code, file, about) : {text: code};
    let program = makeProgram(source.text, {constants, optional: source.optional});
    let lineOf = source.lineOf;
    if (!program.isParsed && !isTyped && looksLikeTypeScript(code)) {
      const meant = meantAsTypeScript(code, file, constants);
      if (meant !== undefined) ({program, lineOf} = meant);
    }
    about.programs.set(file, {lines: order.code.split('\n'), lineOf, columnOf: lineOf ? undefined : program.columnOf});
    if (program.isStrict && !('result' in globalThis)) define('result', undefined); // it is the answer, declared or not
    const {bound} = names;
    const peek = isSession ? '' : '__warder.peek(() => typeof result === "undefined" ? undefined : result);';
    const head = '(function (require, module, exports, __filename, __dirname, __warder) {' +
      `{let {${isSession ? '' : bound.join(', ')}} = context_vars; return async () => {${program.isStrict ? '"use strict";' : ''}${peek}`;
    const script = new vm.Script(`${head}${program.prologue}\n${program.text}\n}}})`, {
      filename: file,
      lineOffset: -1,
      // From Node 20.12 on there is a constant for Node's own loader. Before, a function is needed, which
      // --experimental-vm-modules allows.
      importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? this.modules.load,
    });
    if (isSession) hooks.declare(program.declared, program.constants);
    const warder = {...hooks, import: (...of) => this.modules.import(...of), load: this.modules.load,
      meta: this.modules.meta, reads: (...of) => require('./step_inputs.js').remember(...of)};
    const module = {exports: {}};
    const main = script.runInThisContext().call(module.exports, this.#require, module, module.exports, this.#file,
      this.#workspace, warder);
    return {main, setsResult: program.setsResult};
  }
}

function define(name, value) {
  Object.defineProperty(globalThis, name, {value, configurable: true, writable: true, enumerable: false});
}

function untyped(code, file, about) {
  const {strip, whyNot} = require('./typescript.js');
  about.missing = whyNot();
  return about.missing === undefined ? strip(code, file) : {text: code}; // the code may also be JavaScript
}

// The program, if code that was sent as JavaScript has types; undefined if that is not certain.
function meantAsTypeScript(code, file, constants) {
  const {strip, whyNot} = require('./typescript.js');
  if (whyNot() !== undefined) return undefined;
  try {
    const {text, optional, lineOf} = strip(code, file);
    const program = makeProgram(text, {constants, optional});
    return text !== code && (program.isParsed || isRunnable(text)) ? {program, lineOf} : undefined;
  } catch (e) {
    return undefined;
  }
}

function isRunnable(text) {
  try {
    new vm.Script(`(async () => {${text}\n})`);
    return true;
  } catch (e) {
    return false;
  }
}

function isBindable(name) {
  try {
    new vm.Script(`(async () => {let ${name} = 0;})`); // reserved words are in context_vars only
    return true;
  } catch (e) {
    return false;
  }
}

module.exports = {Stage};
