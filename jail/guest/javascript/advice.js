// Advice: one sentence about an error that agents often make, or an empty text. The error's text may be the agent's
// own.
'use strict';
const process = require('process');
const {absentPackage, adviseOnName, layerWith} = require('./imports.js');
const {BY_PROXY, hasProxy} = require('./proxy.js');
const {hasParser} = require('./syntax.js');

const PYTHON_NAMES = {print: 'console.log', len: '.length', None: 'null', True: 'true', False: 'false', str: 'String',
  int: 'Number', range: 'a for loop', dict: 'an object', self: 'this', elif: 'else if'};
const BROWSER = ['window', 'document', 'localStorage', 'sessionStorage', 'alert', 'XMLHttpRequest', 'navigator'];
const PYTHON = /^[ \t]*(?:def \w+\(.*\).*:|from [\w.]+ import |import \w+(?:\.\w+)*(?: as \w+)?[ \t]*$|(?:if|elif|for|while|with|else|try|except)\b[^{]*:[ \t]*$|print\(f["'])/m;
const SHELL = /^[ \t]*(?:#!\/.*sh\b|\$ |(?:ls|cd|cat|echo|grep|curl|npm|npx|pip|pip3|git|mkdir|python3?|node|wget|apt-get|apt|sudo)(?:[ \t]+[\w./~-]|[ \t]*$))/m;
const TYPES = /^[ \t]*(?:export )?(?:interface|enum|namespace|abstract class|declare|type \w+(?:<[^>]*>)? ?=)|[\w)\]}?]\s*:\s*(?:string|number|boolean|any|unknown|void|never|Record<|Array<|Promise<|Map<|Set<|[A-Z]\w*(?:\[\])?\s*[=,;)])| as (?:const|any|unknown|string|number|[A-Z]\w*)|\w<\w+(?:\[\])?>\(|\bsatisfies [A-Z]|\bimport type\b|!\.\w/m;
const NETWORK = ['ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'ENETDOWN', 'EHOSTUNREACH'];
const NO_NETWORK = "this jail has no network: search_tools finds upstream tools, which reach other machines";

const TYPOGRAPHIC = /[\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u2026×÷≤≥≠]/;
const FENCE = /^[ \t]*(?:```|~~~)/m;

function looksLikeTypeScript(code) {
  return TYPES.test(code);
}

function causesOf(error) {
  const all = [];
  for (let at = error; at instanceof Error && !all.includes(at) && all.length < 20; at = at.cause) all.push(at);
  return all.flatMap((it) => [it, ...(Array.isArray(it.errors) ? it.errors.slice(0, 20) : [])]);
}

function aboutName(name, code, unbound) {
  if (PYTHON.test(code)) return inPython();
  if (Object.hasOwn(PYTHON_NAMES, name))
    return `in JavaScript it is ${PYTHON_NAMES[name]}; for Python give language="python"`;
  const [command] = SHELL.exec(code) ?? [];
  if (command?.trim().startsWith(name)) return inShell();
  if (name === 'Deno' || name === 'Bun')
    return `this is Node.js ${process.version}: use fs.readFile, fs.writeFile, process.env, require("child_process")`;
  if (BROWSER.includes(name)) return `this is Node.js ${process.version}, not a browser`;
  if (name === 'prompt' || name === 'confirm') return 'no person can be asked here: give values in context_vars';
  const tool = adviseOnName(name);
  if (tool) return tool;
  const near = unbound.find((it) => it.split(/[^\p{ID_Continue}$]/u).includes(name));
  if (near !== undefined) return inDictionary(near);
  return '';
}

function inDictionary(name) {
  return `the name of this context variable is not valid in JavaScript: write context_vars[${JSON.stringify(name)}]`;
}

function inShell() {
  return 'this looks like a shell command: give language="shell"';
}

function inPython() {
  return 'this looks like Python: give language="python"';
}

function aboutSyntax({code, language, missing, unbound}, message) {
  if (missing !== undefined) return missing;
  const [typographic] = /Invalid or unexpected token|[Ii]nvalid character|Unexpected character/.test(message) && TYPOGRAPHIC.exec(code) || [];
  if (typographic) return `the code has ${typographic}: write plain quotes and signs`;
  if (FENCE.test(code)) return 'leave out the fences of Markdown and the text around the program';
  if (PYTHON.test(code)) return inPython();
  if (SHELL.test(code)) return inShell();
  const hidden = unbound?.find((name) => code.includes(name));
  if (hidden !== undefined) return inDictionary(hidden);
  if (language !== 'typescript' && looksLikeTypeScript(code)) return 'this looks like TypeScript: give language="typescript"';
  return '';
}

function aboutModule(error) {
  if (error.isTold) return '';
  const [, name] = /Cannot find (?:module|package) '([^']*)'/.exec(error.message) ?? [];
  if (name === undefined) return '';
  if (/^\.{0,2}\//.test(name)) return 'paths are relative to the workspace';
  const layer = layerWith(name);
  return layer === null ? absentPackage(name)
    : `the package layer ${layer} of this machine has '${name}', and the policy of this tenant does not name that layer: ` +
      'ask the administrator to add it';
}

// Words that only modules may use, in a program that is not a module.
function aboutModuleWords(error) {
  if (/Unexpected token 'export'|import statement|'import\.meta'/.test(error.message)) {
    return hasParser() ? 'in a file of the workspace, that needs the ending .mjs'
      : 'use require() or await import(): the package node-acorn is not installed';
  }
  return '';
}

// `about`: {code, language, unbound: context variables that JavaScript cannot spell, missing: why TypeScript
// cannot be read}.
function advise(error, about) {
  if (!(error instanceof Error)) return '';
  try {
    if (error instanceof SyntaxError && !/<execution[^>]*>:\d+:\d+/.test(error.stack)) {
      const advice = aboutSyntax(about, error.message);
      if (advice) return advice;
    }
    if (error instanceof SyntaxError) return aboutModuleWords(error);
    const [, name] = error instanceof ReferenceError && /^(\S+) is not defined/.exec(error.message) || [];
    if (name !== undefined) return aboutName(name, about.code, about.unbound ?? []);
    const [, callee] = error instanceof TypeError && /^(.{1,200}) is not a function$/s.exec(error.message) || [];
    if (callee !== undefined) return require('./servers.js').adviseOnFunction(callee, about.code);
    if (error instanceof TypeError && error.message === 'Assignment to constant variable.')
      return 'declare a variable that changes with `let`; a later call of a session may declare the name again';
    if (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND') return aboutModule(error);
    if (error.code === 'ERR_UNSUPPORTED_ESM_URL_SCHEME' || error.code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING')
      return 'only installed packages can be imported: nothing is fetched for an import';
    const lost = causesOf(error).find((it) => NETWORK.includes(it.code));
    if (lost !== undefined) return hasProxy(process.env) ? BY_PROXY : NO_NETWORK;
  } catch (e) { // a getter of the agent threw
  }
  return '';
}

// The reason of a failed fetch(); the error's own message does not say it.
function hiddenCause(error) {
  if (!(error instanceof TypeError) || error.message !== 'fetch failed' || !(error.cause instanceof Error)) return '';
  return error.cause.message || error.cause.code || '';
}

module.exports = {advise, hiddenCause, looksLikeTypeScript};
