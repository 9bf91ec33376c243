// What `import` and `require` find besides node's own modules and packages: the servers' tools and the skills, with or without
// a leading '/'. And what an agent is told when there is no such module.
'use strict';
const fs = require('fs');
const path = require('path');
const Module = require('module');
const {pathToFileURL} = require('url');
const {listed, nearest} = require('./words.js');

const SERVERS = '/servers/';
const PACKAGES = '/usr/share/nodejs';
const OURS = /^(?:\.?\/)?(servers|skills)(?:\/|$)/;
const TYPED = /\.[mc]?ts$/;

function namesIn(folder) {
  try {
    return fs.readdirSync(folder).filter((name) => /^[A-Za-z0-9_-]+$/.test(name) && !name.startsWith('__'));
  } catch (e) {
    return [];
  }
}

// From now on require() and require.resolve() find them. `workspace`: its own files of the same names come first.
function findModules(workspace, channel) {
  const usual = Module._resolveFilename;
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

// What a file of /servers requires is there, too; both may have been asked for.
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

// Why a package is not there, and what is: a sentence.
function absentPackage(name) {
  if (/^(?:https?|npm|jsr):/.test(name)) {
    return `'${name}' cannot be fetched: this jail has no network; there are node's own modules (fs, path, crypto, ...), ` +
      'files of the workspace, servers/NAME and skills/NAME';
  }
  const packages = Module.globalPaths.includes(PACKAGES) ? namesIn(PACKAGES).filter((it) => !it.startsWith('acorn-')) : [];
  const installed = packages.length > 0 ? `, the packages ${listed(packages)}` : '';
  return `'${name}' is not installed and cannot be: this jail has no network. There are node's own modules (fs, path, crypto, ` +
    `url, zlib, ...)${installed}, files of the workspace, servers/NAME and skills/NAME`;
}

// The modules of one program: what its imports mean.
class Modules {
  #workspace;
  #require;
  program = '<execution>'; // as tracebacks call it
  meta;

  // `file`: the path that the program is said to have.
  constructor(workspace, file, require) {
    this.#workspace = workspace;
    this.#require = require;
    this.meta = {url: pathToFileURL(file).href, filename: file, dirname: workspace, main: true,
      resolve: (specifier) => this.#url(specifier)};
  }

  // A promise of what `import specifier` of `names` binds: {name: value}. `line`: where it stands. `isOptional`: all
  // of it may be types only, and absent.
  async import(specifier, names, line, isOptional = false) {
    try {
      const module = await this.load(specifier);
      const hidden = names.filter((name) => !(name in module));
      if (hidden.length === 0) return module;
      // What node does not see in a CommonJS module is in it nevertheless.
      const inside = Object(module.default), asked = {};
      for (const name of hidden) {
        if (name in inside) continue;
        const tools = this.#serverOf(specifier);
        if (tools !== undefined) { // this jail may be older than the tool
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

  // What import(specifier) answers.
  load = async (specifier) => {
    const name = String(specifier);
    if (OURS.test(name) || name.endsWith('.json')) return namespaceOf(this.#require(name.replace(/^file:\/\//, '')));
    const file = /^\.{0,2}\//.test(name) ? this.#fileOf(name) : undefined;
    if (TYPED.test(file ?? '')) return namespaceOf(this.#require(file));
    return import(file === undefined ? this.#url(name) : pathToFileURL(file).href).catch(rethrowWithoutUs);
  };

  // The file that a path means, also without its ending, and of TypeScript with that of what a compiler makes of it.
  #fileOf(name) {
    for (const spelling of [name, name.replace(/\.js$/, '.ts')]) {
      try {
        return this.#require.resolve(spelling);
      } catch (e) { // told by import()
      }
    }
    return undefined;
  }

  // The folder of the server whose tools it imports.
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

// Node says who imports: this file, which is no agent's.
function rethrowWithoutUs(error) {
  const us = ` imported from ${__filename}`;
  if (error instanceof Error && error.message.includes(us)) {
    error.stack = String(error.stack).replace(us, '');
    error.message = error.message.replace(us, '');
  }
  throw error;
}

// Line 0 is ours, and no agent's.
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

module.exports = {absentPackage, findModules, Modules, OURS};
