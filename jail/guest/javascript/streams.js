// The process's streams, synchronous: nothing is lost at an exit, and lines keep their order with other programs'.
'use strict';
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
        } catch (e) { // whoever read this is gone; the execution goes on without
        }
        done();
      },
    });
    stream.fd = fd;
    stream.destroy = () => stream;
    Object.defineProperty(process, name, {value: stream, configurable: true, enumerable: true, writable: true});
  }
}

// For a rehearsal: what it prints goes nowhere.
function mute(is) {
  isMuted = is;
}

module.exports = {mute, ownStreams};
