// One execution: its names, its code, its answer and its end. It reports when the event loop has nothing left to do, as Node
// ends: work that was started and not awaited is part of the execution.
'use strict';
const vm = require('vm');
const path = require('path');
const Module = require('module');
const {pathToFileURL} = require('url');
const {makeFiles, makeTools, utils} = require('./helpers.js');
const {countReads} = require('./reads.js');
const {describe, FILE} = require('./errors.js');
const {plain} = require('./values.js');

const OWN_FOLDERS = ['/skills', '/servers'];
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

// From its order to the exit of the process.
class Execution {
  #order;
  #channel;
  #end;
  #message = {type: 'result'};
  #peek = () => undefined;
  #reads;
  #returned;
  #isSettled = false;
  #exitCode;

  // `end(status)` ends the process, as nothing else here does.
  constructor(order, channel, end) {
    this.#order = order;
    this.#channel = channel;
    this.#end = end;
  }

  run() {
    this.#watchTheEnd();
    try {
      const names = this.#bind();
      this.#findSkills();
      process.chdir(this.#order.workspace);
      this.#reads = countReads(this.#order.workspace);
      const main = this.#compile(names);
      main().then((value) => {
        this.#returned = value;
        this.#isSettled = true;
      }, (error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  // Makes the helpers global and checks the context variables; returns those that can be bound as constants.
  #bind() {
    const call = (name, args) => this.#channel.call(name, args);
    const context = this.#order.context_vars;
    if (typeof context !== 'object' || Array.isArray(context))
      throw new Refused('context_vars is not an object of names and values');
    const helpers = {...makeTools(call), fs: undefined, utils, context_vars: context};
    const local = ['require', 'module', 'exports', '__filename', '__dirname', 'result', 'arguments'];
    for (const name of Object.keys(context)) {
      if (name in helpers || Object.hasOwn(globalThis, name) || local.includes(name) || name.startsWith('__'))
        throw new Refused(`context_vars: the name '${name}' is taken by JavaScript or a helper; give it another name`);
    }
    helpers.fs = makeFiles(this.#order.workspace, call);
    for (const [name, value] of Object.entries(helpers))
      Object.defineProperty(globalThis, name, {value, configurable: true, writable: true, enumerable: false});
    return Object.keys(context).filter((name) => IDENTIFIER.test(name) && isBindable(name));
  }

  #findSkills() {
    const usual = Module._resolveFilename;
    const {workspace} = this.#order;
    const channel = this.#channel;
    Module._resolveFilename = function (request, ...rest) {
      if (!/^\/?skills\//.test(request)) return usual.call(this, request, ...rest);
      return require('./skills.js').resolve(request, workspace, channel, (name) => usual.call(this, name, ...rest));
    };
  }

  // The code stands in a function of its own, below one that holds the constants, so that it may declare any name. Its
  // first line is line 1: what is before it is on line 0.
  #compile(names) {
    const {workspace, code} = this.#order;
    const file = path.join(workspace, 'execution.js');
    const require = Module.createRequire(file);
    const toUrl = (specifier) => {
      if (/^(?:\.{0,2}\/)/.test(specifier)) return pathToFileURL(path.resolve(workspace, specifier)).href;
      if (/^[a-z][a-z+.-]*:/.test(specifier)) return specifier;
      const found = require.resolve(specifier);
      return path.isAbsolute(found) ? pathToFileURL(found).href : found;
    };
    const script = new vm.Script(
      '(function (require, module, exports, __filename, __dirname, __peek) {' +
      `const {${names.join(', ')}} = context_vars; return async () => {` +
      '__peek(() => typeof result === "undefined" ? undefined : result);\n' +
      `${code}\n}})`,
      {
        filename: FILE,
        lineOffset: -1,
        // Node 20.12 on has a constant for its own loader. Before, a function, which --experimental-vm-modules allows.
        importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((name) => import(toUrl(name))),
      });
    const module = {exports: {}};
    const peek = (read) => { this.#peek = read; };
    return script.runInThisContext().call(module.exports, require, module, module.exports, file, workspace, peek);
  }

  #watchTheEnd() {
    const isAlone = (event) => process.listenerCount(event) === 1; // else the code handles these itself
    process.on('uncaughtException', (error) => {
      if (isAlone('uncaughtException')) this.#fail(error);
    });
    process.on('unhandledRejection', (reason) => {
      if (isAlone('unhandledRejection')) this.#fail(reason);
    });
    process.on('beforeExit', () => {
      if (!this.#isSettled) this.#fail(new Error('the code awaits a promise that nothing is left to settle'));
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
    if (this.#message.error !== undefined) return; // the first is the cause
    const {code, workspace} = this.#order;
    if (error instanceof Refused) this.#message.error = error.message;
    else Object.assign(this.#message, describe(error, code, [workspace, process.cwd(), ...OWN_FOLDERS]));
    process.exitCode = 1;
    process.exit();
  }

  #leave(status) {
    let text;
    try {
      const isExit = this.#exitCode !== undefined || status !== 0;
      if (this.#message.error === undefined && isExit) this.#message.exit = status & 255;
      this.#answer();
      this.#message.status = this.#message.error === undefined ? status & 255 : status & 255 || 1;
      text = this.#encoded();
    } catch (e) {
      text = JSON.stringify({type: 'result', error: `the result could not be told: ${headOf(e)}`});
      status = 1;
    }
    try {
      this.#channel.send(text);
      this.#channel.linger();
    } catch (e) { // nobody is left to hear
    }
    this.#end(this.#message.error === undefined ? status & 255 : status & 255 || 1);
  }

  #answer() {
    let value = this.#returned;
    if (value === undefined) {
      try {
        value = this.#peek();
      } catch (e) { // declared further down than the code came
      }
    }
    const mime = Buffer.isBuffer(value) ? mimeOf(value) : undefined;
    if (mime !== undefined && value.length <= 1 << 20) {
      this.#message.images = [{mime, data: value.toString('base64')}];
      return;
    }
    try {
      const {value: json, asText} = plain(value, this.#channel.maxMessage);
      if (json !== undefined) this.#message.value = json;
      if (asText !== undefined) this.#message.value_type = asText;
    } catch (e) {
      this.#cannotAnswer(headOf(e));
    }
  }

  #cannotAnswer(why) {
    delete this.#message.value;
    delete this.#message.value_type;
    delete this.#message.images;
    if (this.#message.status === 0) this.#message.status = 1;
    this.#message.error ??=
      `the result cannot be returned: ${why}; write it to a file in the workspace, or return a summary of it`;
  }

  #encoded() {
    const limit = this.#channel.maxMessage;
    if (this.#reads?.bytes > 0) this.#message.read_bytes = this.#reads.bytes;
    let text = JSON.stringify(this.#message);
    if (Buffer.byteLength(text) > limit) {
      this.#cannotAnswer(`it is more than ${limit} bytes of JSON, the most that can be sent`);
      text = JSON.stringify(this.#message);
    }
    for (const key of ['traceback', 'error']) {
      if (Buffer.byteLength(text) <= limit || this.#message[key] === undefined) continue;
      this.#message[key] = this.#message[key].slice(0, Math.max(0, (limit >> 3) - 64));
      text = JSON.stringify(this.#message);
    }
    return text;
  }
}

class Refused extends Error {}

function isBindable(name) {
  try {
    new vm.Script(`(async () => {const ${name} = 0;})`); // a reserved word is in context_vars alone
    return true;
  } catch (e) {
    return false;
  }
}

function headOf(error) {
  return error?.constructor?.name === 'Unanswerable' ? error.message : String(error);
}

function mimeOf(buffer) {
  if (buffer.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return 'image/png';
  if (buffer.subarray(0, 3).equals(Buffer.from('\xff\xd8\xff', 'latin1'))) return 'image/jpeg';
  return undefined;
}

module.exports = {Execution};
