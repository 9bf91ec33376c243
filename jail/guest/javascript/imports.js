// Modules that `import` and `require` find besides Node's own modules and packages: the servers' tools and the skills,
// with or without a leading '/'. Also the advice for a missing module.
'use strict';
const fs = require('fs');
const path = require('path');
const Module = require('module');
const {pathToFileURL} = require('url');
const {urlOf} = require('./changed.js');
const {listed, nearest} = require('./words.js');

const SERVERS = '/servers/';
const PACKAGES = '/usr/share/nodejs';
const LAYERS = '/usr/share/warder/node_modules'; // of package layers; /node_modules leads there
const OURS = /^(?:\.?\/)?(servers|skills)(?:\/|$)/;
let ask; // calls the supervisor: (name, arguments) to its answer; set by findModules()
const TYPED = /\.[mc]?ts$/;

function namesIn(folder) {
  try {
    return fs.readdirSync(folder).filter((name) => /^[A-Za-z0-9_-]+$/.test(name) && !name.startsWith('__'));
  } catch (e) {
    return [];
  }
}

// Makes require() and require.resolve() find them. `workspace`: its files with the same names come first.
function findModules(workspace, channel) {
  const usual = Module._resolveFilename;
  ask = (name, args) => channel.callSync(name, args);
  Module._extensions['.ts'] ??= (module, file) => {
    module._compile(require('./typescript.js').commonJs(fs.readFileSync(file, 'utf8'), file), file);
  };
  Module._resolveFilename = function (given, parent, ...rest) {
    const find = (name) => usual.call(this, name, parent, ...rest);
    const request = amongServers(given, parent);
    const [, kind] = OURS.exec(request) ?? [];
    if (kind === undefined || request.startsWith('./') && has(request, find)) return find(request);
    const name = request.replace(/^\.\//, '');
    if (kind === 'skills') return require('./skills.js').resolve(name, workspace, channel, find);
    return require('./servers.js').resolve(name, workspace, channel, find);
  };
}

// Modules that a file of /servers requires are in /servers, too; the supervisor may have sent both.
function amongServers(request, parent) {
  const isNear = typeof request === 'string' && /^\.\.?\//.test(request) && parent?.filename?.startsWith(SERVERS);
  return isNear ? path.join(path.dirname(parent.filename), request) : request;
}

function has(request, find) {
  try {
    return find(request) !== undefined;
  } catch (e) {
    return false;
  }
}

// One sentence: why a package is missing, and which modules there are.
function absentPackage(name) {
  if (/^(?:https?|npm|jsr):/.test(name)) {
    return `'${name}' cannot be fetched: this jail has no network for imports; there are node's own modules (fs, path, crypto, ...), ` +
      'files of the workspace, servers/NAME and skills/NAME';
  }
  const packages = Module.globalPaths.includes(PACKAGES) ? namesIn(PACKAGES).filter((it) => !it.startsWith('acorn-')) : [];
  packages.unshift(...namesIn(LAYERS));
  const installed = packages.length > 0 ? `, the packages ${listed(packages)}` : '';
  return `'${name}' is not installed and cannot be: this jail has no network. There are node's own modules (fs, path, crypto, ` +
    `url, zlib, ...)${installed}, files of the workspace, servers/NAME and skills/NAME`;
}

// Advice for a name that is not defined; or an empty text.
function adviseOnName(name) {
  return ask !== undefined && name.includes('__') ? require('./servers.js').adviseOnName(name, ask) : '';
}

// A package layer of this machine that has the package, and that the tenant's policy does not name; or null.
function layerWith(request) {
  const name = request.split('/', request.startsWith('@') ? 2 : 1).join('/');
  try {
    return ask('layer_of', {module: name, kind: 'node'}).layer;
  } catch (e) { // advice only, so it may fail
    return null;
  }
}

// Modules: the imports of one program.
class Modules {
  #workspace;
  #require;
  program = '<execution>'; // the program's name in tracebacks
  meta;

  // `file`: the path that the program gets as its own.
  constructor(workspace, file, require) {
    this.#workspace = workspace;
    this.#require = require;
    this.meta = {url: pathToFileURL(file).href, filename: file, dirname: workspace, main: true,
      resolve: (specifier) => this.#url(specifier)};
  }

  // A promise of the values that `import specifier` binds to `names`: {name: value}. `line`: the line of the import.
  // `isOptional`: all names may be types only, and missing.
  async import(specifier, names, line, isOptional = false) {
    try {
      const module = await this.load(specifier);
      const hidden = names.filter((name) => !(name in module));
      if (hidden.length === 0) return module;
      // A CommonJS module may have names that Node does not detect as exports.
      const inside = Object(module.default), asked = {};
      for (const name of hidden) {
        if (name in inside) continue;
        const tools = this.#serverOf(specifier);
        if (tools !== undefined) { // the tool may be newer than this jail
          asked[name] = this.#require(`${tools}/${name}`);
          continue;
        }
        const there = Object.keys(module).filter((key) => key !== 'default');
        throw new SyntaxError(`'${specifier}' has no export '${name}'${nearest(name, there)}` +
          (there.length > 0 ? `; it has: ${listed(there)}` : ''));
      }
      return {...module, ...Object.fromEntries(hidden.map((name) => [name, asked[name] ?? inside[name]]))};
    } catch (error) {
      if (isOptional && (error?.code === 'MODULE_NOT_FOUND' || error?.code === 'ERR_MODULE_NOT_FOUND')) return {};
      if (error instanceof Error) error.stack = `${withoutPrologue(error.stack)}\n    at ${this.program}:${line}:1`;
      throw error;
    }
  }

  // The result of import(specifier).
  load = async (specifier) => {
    const name = String(specifier);
    if (OURS.test(name) || name.endsWith('.json')) return namespaceOf(this.#require(name.replace(/^file:\/\//, '')));
    const file = /^\.{0,2}\//.test(name) ? this.#fileOf(name) : undefined;
    if (TYPED.test(file ?? '')) return namespaceOf(this.#require(file));
    const url = file === undefined ? this.#url(name) : urlOf(pathToFileURL(file).href, file);
    return import(url).catch(rethrowWithoutUs);
  };

  // The file of a path. Its ending may be missing, and .js may stand for .ts, as in compiled TypeScript.
  #fileOf(name) {
    for (const spelling of [name, name.replace(/\.js$/, '.ts')]) {
      try {
        return this.#require.resolve(spelling);
      } catch (e) { // import() reports the error
      }
    }
    return undefined;
  }

  // The folder of the server if `specifier` is a server's index.
  #serverOf(specifier) {
    if (!OURS.test(specifier)) return undefined;
    const file = this.#require.resolve(specifier);
    return file.startsWith(SERVERS) && file.endsWith('/index.js') ? path.dirname(file) : undefined;
  }

  #url(specifier) {
    if (/^\.{0,2}\//.test(specifier)) return pathToFileURL(path.resolve(this.#workspace, specifier)).href;
    if (/^(?:file|node|data):/.test(specifier)) return specifier;
    const found = this.#require.resolve(specifier);
    return path.isAbsolute(found) ? pathToFileURL(found).href : found;
  }
}

// Removes this file's name from Node's error: the agent did not write this file.
function rethrowWithoutUs(error) {
  const us = ` imported from ${__filename}`;
  if (error instanceof Error && error.message.includes(us)) {
    error.stack = String(error.stack).replace(us, '');
    error.message = error.message.replace(us, '');
  }
  throw error;
}

// Removes frames on line 0, which is the runner's prologue.
function withoutPrologue(stack) {
  return String(stack).split('\n').filter((line) => !/<execution[^>]*>:0:/.test(line)).join('\n');
}

// The exports of a CommonJS module as import() gives them.
function namespaceOf(exports) {
  const names = Object.create(null);
  if (typeof exports === 'object' && exports !== null || typeof exports === 'function') {
    for (const key of Object.keys(exports))
      Object.defineProperty(names, key, {get: () => exports[key], enumerable: true, configurable: true});
  }
  if (!('default' in names)) Object.defineProperty(names, 'default', {value: exports, enumerable: true, configurable: true});
  return names;
}

module.exports = {absentPackage, adviseOnName, findModules, layerWith, Modules, OURS};
