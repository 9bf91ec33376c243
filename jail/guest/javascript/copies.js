// What a zygote does before it is copied, and what a copy makes its own: nothing that must be random or new may be what
// another copy has. OpenSSL, and so `crypto`, notices the new process id by itself.
'use strict';
const process = require('process');
const v8 = require('v8');
const vm = require('vm');

// After a collection V8 plans another, for when it is idle: each copy of an older zygote would begin with that.
const ZYGOTES_FLAGS = ['--single-threaded', '--v8-pool-size=1', '--no-memory-reducer'];

// A heap without garbage, which no copy need look through.
function prepareForCopies() {
  delete process.env.LD_PRELOAD;
  v8.setFlagsFromString('--expose-gc');
  const gc = vm.runInNewContext('gc');
  v8.setFlagsFromString('--no-expose-gc');
  gc();
}

// `random`: 53 fresh bits. V8 takes the seed of a context's Math.random(), when that is called first, from --random-seed
// or, by default, from a generator of the isolate's, whose state all copies have inherited. So this context gets 32 bits
// by that flag and 10 by where in the sequence it begins; contexts that code makes later (node:vm) find a generator that
// has gone on by up to 2,048 steps, one for each symbol.
function seed(random) {
  const seedBits = random % 2 ** 32 | 0;
  const skipped = Math.floor(random / 2 ** 32) % 2 ** 10;
  const steps = Math.floor(random / 2 ** 42);
  v8.setFlagsFromString(`--random-seed=${seedBits || 1}`);
  for (let i = 0; i <= skipped; i++) Math.random();
  v8.setFlagsFromString('--random-seed=0');
  for (let i = 0; i < steps; i++) Symbol();
}

function renew(random) {
  v8.setFlagsFromString('--memory-reducer');
  seed(random);
  const pid = Object.getOwnPropertyDescriptor(process, 'pid');
  Object.defineProperty(process, 'pid', {...pid, value: Number(require('fs').readlinkSync('/proc/self'))});
  process.execArgv = process.execArgv.filter((flag) => !ZYGOTES_FLAGS.includes(flag));
}

module.exports = {prepareForCopies, renew};
