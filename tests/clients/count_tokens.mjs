// The number of tokens of each text: a JSON string on a line of stdin, a number on a line of stdout. OpenAI's o200k_base,
// which is public; other models' differ by some percent.
import {createInterface} from 'node:readline';
import {Tiktoken} from 'js-tiktoken/lite';
import ranks from 'js-tiktoken/ranks/o200k_base';

const tokenizer = new Tiktoken(ranks);
for await (const line of createInterface({input: process.stdin})) console.log(tokenizer.encode(JSON.parse(line), [], []).length);
