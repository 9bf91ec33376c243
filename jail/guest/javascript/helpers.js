// Names that jailed code finds bound besides Node's own: tools, skills, files of the workspace, and small helpers. The
// check of paths that leave the workspace gives a clear message; the kernel enforces the limit.
'use strict';
const process = require('process');
const {Buffer} = require('buffer');
const nodeFs = require('fs');
const path = require('path');
const {promises} = nodeFs; // Node loads it at the first use: here, ahead of time

const SKILLS = '/skills';

// Writes the whole file or leaves it: if the workspace is full, the old file stays. Keeps the permission bits.
async function writeWhole(file, data, options) {
  const was = await promises.stat(file).catch(() => undefined);
  const writable = was === undefined || (await promises.access(file, nodeFs.constants.W_OK).then(() => true, () => false));
  const isPlain = (options?.flag ?? 'w') === 'w' && (was === undefined || was.isFile()) && writable;
  if (!isPlain) return promises.writeFile(file, data, options);
  const target = was ? await promises.realpath(file) : file;
  const beside = path.join(path.dirname(target), `.${process.hrtime.bigint().toString(36)}.part`);
  try {
    await promises.writeFile(beside, data, options);
    if (was) await promises.chmod(beside, was.mode & 0o7777);
    await promises.rename(beside, target);
  } catch (error) {
    await promises.unlink(beside).catch(() => {});
    throw error;
  }
}

// The text of kept output, exec:///<execution_id>/stdout, or of a result.
async function keptText(filename, call) {
  const parts = [];
  for (let offset = 0, more = true; more;) {
    const part = await call('read_workspace_file', {filename, offset, limit: 1 << 18, encoding: 'base64'});
    if (part.content === undefined) return JSON.stringify(part); // the execution still runs
    const gap = part.left_out;
    if (gap && offset <= gap.offset && gap.offset < part.offset)
      parts.push(Buffer.from(`\n[... ${gap.bytes} bytes left out ...]\n`));
    parts.push(Buffer.from(part.content, 'base64'));
    offset = part.offset + part.length;
    more = part.more;
  }
  return Buffer.concat(parts).toString();
}

// `fs`: promises for the names below, relative to the workspace; every other name is Node's own fs.
// A call with a callback goes to Node's own, too, so that code written for `require('fs')` works.
// A program's file directly below /skills is a skill: read and written through `call`.
function makeFiles(workspace, call) {
  const root = nodeFs.realpathSync(workspace);

  function inside(name) {
    if (typeof name !== 'string') throw new TypeError(`a file's name is a string, not ${typeof name}`);
    const [first, ...rest] = path.normalize(name).split('/').filter((part) => part !== '');
    let file = path.resolve(root, name);
    // `/skills` is the mount. `skills` is the mount, too, unless the workspace has a folder `skills`. Likewise
    // `workspace`.
    const isMount = path.isAbsolute(name) || !nodeFs.existsSync(path.join(root, first ?? '.'));
    if (isMount && first === 'workspace') file = path.join(root, ...rest);
    if (isMount && first === 'skills') file = path.join(SKILLS, ...rest);
    for (const mount of [root, workspace, SKILLS])
      if (file === mount || file.startsWith(`${mount}/`)) return file;
    const error = new Error(`EACCES: this path is outside the workspace, '${name}'`);
    throw Object.assign(error, {code: 'EACCES', errno: -13, path: name});
  }

  const skillOf = (file) => (file.startsWith(`${SKILLS}/`) ? require('./skills.js').skillOf(file) : undefined);

  const named = {
    async readFile(name, options = 'utf8') {
      if (typeof name === 'string' && name.startsWith('exec:///')) return keptText(name, call);
      const file = inside(name);
      const skill = skillOf(file);
      return skill ? (await call('load_skill', {name: skill.name})).code : promises.readFile(file, options);
    },
    async writeFile(name, data, options) {
      const file = inside(name);
      const skill = skillOf(file);
      if (skill) {
        await call('save_skill', {...skill, code: String(data)});
        return true;
      }
      await promises.mkdir(path.dirname(file), {recursive: true});
      await writeWhole(file, data, options);
      return true;
    },
    async appendFile(name, data, options) {
      await promises.appendFile(inside(name), data, options);
      return true;
    },
    async readdir(name = '.', options) {
      return (await promises.readdir(inside(name), options)).sort();
    },
    async listFiles(name = '.') {
      return (await promises.readdir(inside(name))).sort();
    },
    async exists(name) {
      return promises.access(inside(name)).then(() => true, () => false);
    },
    async stat(name, options) {
      return promises.stat(inside(name), options);
    },
    async mkdir(name, options = {recursive: true}) {
      return promises.mkdir(inside(name), options);
    },
    async rm(name, options) {
      return promises.rm(inside(name), options);
    },
    async unlink(name) {
      return promises.unlink(inside(name));
    },
    async deleteFile(name) {
      await promises.unlink(inside(name));
      return true;
    },
    async rename(from, to) {
      return promises.rename(inside(from), inside(to));
    },
    async copyFile(from, to) {
      return promises.copyFile(inside(from), inside(to));
    },
  };
  const files = Object.create(nodeFs);
  for (const [name, helper] of Object.entries(named)) {
    files[name] = (...args) => {
      const isCallback = typeof args[args.length - 1] === 'function' && typeof nodeFs[name] === 'function';
      return isCallback ? nodeFs[name](...args) : helper(...args);
    };
  }
  return files;
}

const utils = {
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),

  // For a text that is not JSON: null, and a line on stderr.
  parseJSON(text) {
    try {
      return JSON.parse(text);
    } catch (e) {
      console.error(`utils.parseJSON: ${e.message}`);
      return null;
    }
  },

  timestamp: () => new Date().toISOString(),
};

// The text with its tokens replaced by their originals from `tokens`. In one pass: inserted text is not searched again.
function putBack(text, tokens) {
  const names = Object.keys(tokens).sort((a, b) => b.length - a.length);
  if (names.length === 0) return text;
  const any = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
  return text.replace(new RegExp(any, 'g'), (name) => tokens[name]);
}

// `order`: counts the orders of a session.
function makeTools(call, order) {
  const {CallError} = require('./channel.js');

  const step = {announce: null, order}; // set while a workflow's step runs (workflow.js)

  // A promise of the tool's answer. A failure of the tool rejects with the tool's code, message and data.
  async function callTool(name, input = {}, server) {
    if (step.announce !== null) await step.announce();
    const asked = {name, arguments: input};
    const {value, failure} = await call('call_tool', server === undefined ? asked : {...asked, server});
    if (failure !== undefined) throw new CallError(failure);
    return value;
  }

  return {
    // A promise of the text with tokens in place of personal data, and of an object from each token to its original.
    async tokenize_pii(text) {
      const answer = await call('tokenize_pii', {text});
      return [answer.text, answer.tokens];
    },
    // The way back: by the given tokens, else by all the tenant's tokens if its policy allows that.
    async detokenize_pii(text, tokens) {
      if (tokens !== undefined && tokens !== null) return putBack(text, tokens);
      return (await call('detokenize_pii', {text})).text;
    },
    callMCPTool: (name, input = {}) => callTool(name, input),
    list_mcp_tools: () => call('list_tools', {}),
    save_skill: (name, code, description = '', language = 'javascript') =>
      call('save_skill', {name, code, description, language}).then(({message}) => message),
    load_skill: (name) => call('load_skill', {name}).then(({code}) => code),
    list_skills: () => call('list_skills', {}).then(({skills}) => skills),
    get_mcp_tool_details: (name) => call('get_tool_definition', {tool_name: name}),
    warder: {
      call: (name, args) => call(name, args),
      call_tool: callTool,
      search_tools: (query, filters = {}) => call('search_tools', {...filters, query}),
      get_tool_definition: (name, filters = {}) => call('get_tool_definition', {...filters, tool_name: name}),
      workflow: (name) => new (require('./workflow.js').Workflow)(name, call, step),
      get StepFailed() { return require('./workflow.js').StepFailed; },
      get StepTimeout() { return require('./workflow.js').StepTimeout; },
    },
  };
}

module.exports = {makeFiles, makeTools, utils};
