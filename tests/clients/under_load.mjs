// A client that keeps calling while its daemon is killed: node under_load.mjs KIND. Talks to test_restart.py in lines:
// says "loaded" once calls flow, is told "restarted", says a summary as JSON, and ends.
import { createInterface } from 'node:readline';
import { connect, execute } from './connect.mjs';

const session = await connect(process.argv[2]);
const summary = { before: 0, after: 0, interrupted: 0, listed: 0, unexpected: [], proxy: session.proxy };
let restarted = false, stop = false;

async function keep_calling(number) {
  while (!stop) {
    try {
      const answer = await execute(session, `import time; time.sleep(0.05); print(${number})`);
      if (answer.success && answer.output?.[0] === String(number)) summary[restarted ? 'after' : 'before']++;
      else if (/may have run|the call did not run/.test(answer.error)) summary.interrupted++;
      else summary.unexpected.push(answer);
    } catch (error) {
      summary.unexpected.push(String(error));
    }
    if (summary.before >= 6 && !restarted) announce();
    if (summary.unexpected.length > 20 || summary.after >= 12) stop = true;
  }
}

let announced = false;
function announce() {
  if (!announced) console.log('loaded');
  announced = true;
}

createInterface({ input: process.stdin }).once('line', () => { restarted = true; });
await Promise.all([0, 1, 2, 3].map(keep_calling));
summary.listed = (await session.list()).length;
console.log(JSON.stringify(summary));
await session.close();
process.exit(0);
