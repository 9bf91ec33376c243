// Skills: the modules of require('skills/x'). Loaded on first use.
// The supervisor has the tenant's own skills and the shared ones. A folder `skills` of the workspace comes first, as
// for other names.
'use strict';
const fs = require('fs');
const path = require('path');
const {addSource, hasSource} = require('./sources.js');
const {nearest} = require('./words.js');

const FOLDER = '/skills';
const NAME = /^\/?skills\/([A-Za-z0-9_-]+)(?:\.js)?$/;
const FILE = /^\/skills\/([A-Za-z_][A-Za-z0-9_]*)\.(js|py)$/;

// The file for `request`; `usual(request)` is Node's result, or throws.
function resolve(request, workspace, channel, usual) {
  const inWorkspace = path.join(workspace, 'skills');
  for (const place of request.startsWith('/') ? [request] : fs.existsSync(inWorkspace) ? [path.join(workspace, request)] : []) {
    try {
      return usual(place);
    } catch (e) {
      if (e.code !== 'MODULE_NOT_FOUND') throw e;
    }
  }
  const [, name] = NAME.exec(request) ?? [];
  if (name === undefined) return usual(request);
  const file = `${FOLDER}/${name}.js`;
  if (hasSource(file)) return file;
  let skill;
  try {
    skill = channel.callSync('load_skill', {name});
  } catch (e) {
    if (e.code !== 'not_found') throw e;
    const told = new Error(`there is no skill '${name}'${meant(name, channel)}; list_skills() lists all skills`);
    throw Object.assign(told, {code: 'MODULE_NOT_FOUND', isTold: true});
  }
  const {language} = skill.metadata;
  if (language !== 'javascript') throw new Error(`the skill '${name}' is ${language}, and cannot be required here`);
  addSource(file, skill.code);
  return file;
}

function meant(name, channel) {
  try {
    return nearest(name, channel.callSync('list_skills', {}).skills.map((it) => it.name));
  } catch (e) { // advice only, so it may fail
    return '';
  }
}

// The skill of a file directly below /skills: {name, language}; undefined for any other path.
function skillOf(file) {
  const [, name, ending] = FILE.exec(file) ?? [];
  return name === undefined ? undefined : {name, language: ending === 'py' ? 'python' : 'javascript'};
}

module.exports = {resolve, skillOf};
