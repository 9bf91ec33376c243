// How much code reads of the files of its workspace with readFile and readFileSync: for the ledger of bytes, and
// nobody's proof. Not counted: streams, descriptors, other processes.
'use strict';
const process = require('process');
const {Buffer} = require('buffer');
const fs = require('fs');

const own = {readFile: fs.readFile, readFileSync: fs.readFileSync, promised: fs.promises.readFile};

// {bytes}, which grows from here on. The current folder is the workspace, by its real name.
function countReads(workspace) {
  const reads = {bytes: 0};
  const insides = [workspace, process.cwd()].map((folder) => `${folder.replace(/\/+$/, '')}/`);
  const isInside = (name) => typeof name === 'string' &&
      (name[0] !== '/' || insides.some((inside) => name.startsWith(inside)));
  const add = (name, data) => {
    if (isInside(name)) reads.bytes += Buffer.byteLength(data);
    return data;
  };
  fs.readFileSync = (name, options) => add(name, own.readFileSync(name, options));
  fs.promises.readFile = async (name, options) => add(name, await own.promised(name, options));
  fs.readFile = (name, ...rest) => {
    const done = rest.pop();
    if (typeof done !== 'function') return own.readFile(name, ...rest, done); // refuses it
    return own.readFile(name, ...rest, (error, data) => done(error, error ? data : add(name, data)));
  };
  return reads;
}

module.exports = {countReads};
