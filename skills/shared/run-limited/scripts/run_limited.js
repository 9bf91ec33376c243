// Many tasks, a few at a time.
'use strict';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function attempt(work, item, index, tries, pause) {
  for (let left = tries; ; left--) {
    try {
      return {ok: true, value: await work(item, index)};
    } catch (e) {
      if (left <= 1) return {ok: false, error: String(e?.message ?? e)};
      await sleep(pause * 2 ** (tries - left));
    }
  }
}

module.exports = async function runLimited(items, work, {atOnce = 4, tries = 1, pause = 50} = {}) {
  const all = [...items];
  const answers = new Array(all.length);
  let next = 0;
  async function lane() {
    while (next < all.length) {
      const at = next++;
      answers[at] = await attempt(work, all[at], at, tries, pause);
    }
  }
  await Promise.all(Array.from({length: Math.min(Math.max(1, atOnce), all.length)}, lane));
  return answers;
};
