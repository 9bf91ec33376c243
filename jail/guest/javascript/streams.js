// The process's streams, synchronous: no output is lost at an exit, and lines keep their order with other programs'
// lines.
'use strict';
const {Buffer} = require('buffer');
const process = require('process');
const {Writable} = require('stream');
const {writeAll} = require('./channel.js');

let isMuted = false;

function ownStreams() {
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    const stream = new Writable({
      decodeStrings: true,
      write(chunk, encoding, done) {
        try {
          if (!isMuted) writeAll(fd, chunk);
        } catch (e) { // the reader is gone; the execution continues without output
        }
        done();
      },
    });
    stream.fd = fd;
    stream.destroy = () => stream;
    Object.defineProperty(process, name, {value: stream, configurable: true, enumerable: true, writable: true});
  }
}

// For a rehearsal: drops its output.
function mute(is) {
  isMuted = is;
}

// Tells the agent a sentence about its program or its answer.
function note(sentence) {
  try {
    writeAll(2, Buffer.from(`warder: ${sentence}\n`));
  } catch (e) { // the reader is gone
  }
}

module.exports = {mute, note, ownStreams};
