// Tools of other servers: the modules of require('servers/x'). The daemon may still write their files while it serves;
// a jail sees the files that existed when it was built. The supervisor sends each missing file on request. Also the
// advice for an unknown server or tool. Loaded on first use.
'use strict';
const fs = require('fs');
const path = require('path');
const Module = require('module');
const {addSource, hasSource} = require('./sources.js');
const {listed, nearest} = require('./words.js');

const FOLDER = '/servers';
const REQUEST = /^\/?servers\/?([^/]*)\/?(.*)$/;
const FILE_ENDING = /\.[mc]?[jt]s$/; // `./servers/mail/send.ts` is a usual way to write it
const ASKED = /^(?:\w+\/)?\w+\.js$/;
const ABSENT = ['not_found', 'not_available', 'gone'];

let ask; // calls the supervisor: (name, arguments) to its answer

// A name as the stubs' folders and files spell it.
function spelt(name) {
  return name.replace(/[^\w.]/g, '_');
}

// The file for `request`; `usual(request)` is Node's result, or throws. `workspace`: its own folder `servers` comes
// first.
function resolve(request, workspace, channel, usual) {
  ask = (name, args) => channel.callSync(name, args);
  const [, server, file] = REQUEST.exec(request);
  const tool = file.replace(FILE_ENDING, '');
  const isOwn = !request.startsWith('/') && fs.existsSync(path.join(workspace, 'servers'));
  const places = isOwn ? [path.join(workspace, request)] : [];
  for (const place of [...places, path.join('/', request), path.join(FOLDER, spelt(server), spelt(tool))]) {
    try {
      return usual(place.replace(/\/+$/, ''));
    } catch (e) {
      if (e.code !== 'MODULE_NOT_FOUND') throw e;
    }
  }
  const written = told(path.join(spelt(server), spelt(tool)));
  if (written !== undefined) return written;
  throw Object.assign(new Error(absent(request, server, tool)), {code: 'MODULE_NOT_FOUND', isTold: true});
}

// Asks the supervisor for a missing file, by its path below /servers; undefined if the catalog does not have it.
function told(place) {
  const name = place.endsWith('.js') ? place : place.includes('/') ? `${place}.js` : `${place}/index.js`;
  const file = `${FOLDER}/${name}`;
  if (!ASKED.test(name) || hasSource(file)) return hasSource(file) ? file : undefined;
  try {
    addSource(file, ask('stub_file', {path: name}).content);
  } catch (e) {
    if (ABSENT.includes(e.code)) return undefined;
    throw e;
  }
  return file;
}

function absent(request, server, tool) {
  const there = askNearest(server, tool);
  if (there.servers.length === 0) return `there is no module '${request}': no upstream server has tools`;
  if (server === '') return `'${request}' is the folder of all servers: write servers/NAME; there are: ${listed(there.servers)}`;
  if (there.server === null || spelt(there.server).toLowerCase() !== spelt(server).toLowerCase()) {
    const meant = there.server === null ? '' : ` (did you mean '${spelt(there.server)}'?)`;
    return `there is no server '${server}'${meant}; there are: ${listed(there.servers)}`;
  }
  return absentTool(server, path.basename(tool, '.js'), there);
}

function absentTool(server, tool, {tools}) {
  const names = tools.map(({name}) => spelt(name));
  const near = names.length > 0 ? `; the nearest are: ${names.join(', ')}` : '';
  return `server '${server}' has no tool '${tool}'${nearest(tool, names)}${near}`;
}

function askNearest(server, tool) {
  const nothing = {server: null, servers: [], tools: []};
  try {
    return {...nothing, ...ask('nearest_tools', {server, tool})};
  } catch (e) { // advice only, so it may fail
    return nothing;
  }
}

// Advice if `callee`, as V8 writes it, is not a function: the server that it was meant from, and the server's tools; or
// an empty text.
function adviseOnFunction(callee, code) {
  const words = callee.match(/[\w$]+/g) ?? [];
  const name = words.at(-1);
  const loaded = loadedServers();
  if (name === undefined || loaded.size === 0) return '';
  const server = importedFrom(code, words) ?? [...loaded.keys()].find((it) => nearest(name, loaded.get(it)) !== '');
  if (server === undefined || loaded.get(server)?.includes(name)) return '';
  const there = askNearest(server, name);
  return there.tools.length > 0 ? absentTool(server, name, there) : '';
}

// The names of the loaded functions of each server, by the server's folder.
function loadedServers() {
  const all = new Map();
  for (const [file, {exports}] of Object.entries(Module._cache)) {
    const [, server, name] = /^\/servers\/(\w+)\/(\w+)\.js$/.exec(file) ?? [];
    if (server === undefined) continue;
    const names = name === 'index' ? Object.keys(exports) : [name];
    all.set(server, [...all.get(server) ?? [], ...names]);
  }
  return all;
}

// The server in the first statement that names a server and one of `words`.
function importedFrom(code, words) {
  for (const statement of code.split(/;|\n(?=\s*(?:const|let|var|import|await|return)\b)/)) {
    const [, server] = /['"`](?:\.?\/)?servers\/([\w.-]+)/.exec(statement) ?? [];
    if (server !== undefined && statement.match(/[\w$]+/g).some((word) => words.includes(word) && word !== 'require'))
      return spelt(server);
  }
  return undefined;
}

// Advice if `name`, which is not defined, is a tool as other tools write it, server__tool; or an empty text.
function adviseOnName(name, call) {
  ask = call;
  const [, server, tool] = /^([A-Za-z0-9]\w*?)__(\w+)$/.exec(name) ?? [];
  if (server === undefined) return '';
  const there = askNearest(server, tool);
  if (there.server === null || spelt(there.server).toLowerCase() !== server.toLowerCase()) return '';
  return `tools are functions of their server: const {${tool}} = require('servers/${server}'); or await callMCPTool('${name}', {...})`;
}

module.exports = {adviseOnFunction, adviseOnName, resolve};
