// Modules without a file in this jail: the supervisor sent their text. Loaded on first use.
'use strict';
const Module = require('module');

const sources = new Map();

// Makes `file` a CommonJS module with this text.
function addSource(file, text) {
  if (sources.size === 0) compileThem();
  sources.set(file, text);
}

function compileThem() {
  const js = Module._extensions['.js'];
  Module._extensions['.js'] = (module, file) => {
    if (sources.has(file)) module._compile(sources.get(file), file);
    else js(module, file);
  };
}

module.exports = {addSource, hasSource: (file) => sources.has(file)};
