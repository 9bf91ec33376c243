// Modules of the workspace in a session: one whose file has changed is forgotten, so that `require` and `import` load it
// again. A module that another module imports as an ECMAScript module stays: Node keeps those until its end.
'use strict';
const fs = require('fs');
const path = require('path');
const Module = require('module');
const {note} = require('./streams.js');

const {statSync} = fs; // a copy, because code may replace it
const MOST_NAMES = 5;

let folder;
const loaded = new Map(); // by file: its identity before it was read
let old = new Map(); // by file: the exports of modules that this order found changed

function identityOf(file) {
  try {
    const {mtimeNs, size, ino} = statSync(file, {bigint: true});
    return `${mtimeNs} ${size} ${ino}`;
  } catch (e) { // deleted
    return 'absent';
  }
}

// Notes the identity of each file of the workspace that require() loads from now on.
function watchModules(workspace) {
  folder = `${fs.realpathSync(workspace)}/`;
  for (const [ending, load] of Object.entries(Module._extensions)) {
    Module._extensions[ending] = (module, file) => {
      if (file.startsWith(folder)) loaded.set(file, identityOf(file));
      return load(module, file);
    };
  }
}

// The URL of a file for import(): another one after each change of the file.
function urlOf(url, file) {
  if (folder === undefined || !file.startsWith(folder)) return url;
  const identity = identityOf(file);
  const first = loaded.get(file);
  if (first === undefined) loaded.set(file, identity);
  return first === undefined || first === identity ? url : `${url}?${encodeURIComponent(identity)}`;
}

// At the begin of an order: removes changed modules, and those that require them, from the cache.
function forgetChanged() {
  old = new Map();
  const gone = new Set();
  for (const [file, identity] of loaded)
    if (Module._cache[file] !== undefined && identityOf(file) !== identity) gone.add(file);
  if (gone.size === 0) return;
  for (let before = -1; before < gone.size;) {
    before = gone.size;
    for (const [file, module] of Object.entries(Module._cache))
      if (file.startsWith(folder) && module.children.some(({filename}) => gone.has(filename))) gone.add(file);
  }
  for (const file of gone) {
    old.set(file, Module._cache[file].exports);
    delete Module._cache[file];
    loaded.delete(file);
  }
  for (const [request, file] of Object.entries(Module._pathCache))
    if (gone.has(file)) delete Module._pathCache[request];
}

// At the end of an order: tells the agent which of the session's variables are of a changed module.
function tellOld() {
  for (const [file, exports] of old) {
    try {
      const parts = new Set([exports, ...Object.values(Object(exports))]);
      const names = Object.keys(globalThis).filter((name) => {
        const {value} = Object.getOwnPropertyDescriptor(globalThis, name) ?? {}; // a getter of Node's would load a module
        return value !== null && ['object', 'function'].includes(typeof value) && parts.has(value);
      });
      if (names.length === 0) continue;
      const some = names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ', ...' : '');
      note(`${path.relative(folder, file)}, or a file that it requires, has changed since it was loaded: load it again; ` +
        `until then ${some} ${names.length === 1 ? 'is' : 'are'} of the old file`);
    } catch (e) { // a getter of the agent threw
    }
  }
  old = new Map();
}

module.exports = {forgetChanged, tellOld, urlOf, watchModules};
