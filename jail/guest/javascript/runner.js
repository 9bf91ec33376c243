// The JavaScript runner: `node --no-warnings --experimental-vm-modules /warder/javascript/runner.js`, the guest
// socket on descriptor 3.
'use strict';
const process = require('process');
const began = process.hrtime.bigint();
const {live, warm} = require('./life.js');

live(began, warm, process.reallyExit.bind(process));
