// Counts the bytes that code reads from files of its workspace with readFile and readFileSync, for the ledger of bytes;
// it is no proof. Not counted: streams, descriptors, other processes.
'use strict';
const process = require('process');
const {Buffer} = require('buffer');
const fs = require('fs');

const own = {readFile: fs.readFile, readFileSync: fs.readFileSync, promised: fs.promises.readFile};

// {bytes}, which increases from here on. The current folder must be the workspace, by its real path.
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
    if (typeof done !== 'function') return own.readFile(name, ...rest, done); // Node throws its error
    return own.readFile(name, ...rest, (error, data) => done(error, error ? data : add(name, data)));
  };
  return reads;
}

module.exports = {countReads};
