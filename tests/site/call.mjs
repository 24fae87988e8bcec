/* Calls the engine of the playground: call.mjs ENGINE, and on the standard input a list of [call, request]. It prints the answers, each
   with the seconds that it took. */
import { readFileSync } from "node:fs";
import { compiled, started } from "../../site/browser/engine.mjs";

const module = await compiled(new Response(readFileSync(process.argv[2])));
const ask = await started(module, () => {});
const answered = (call, request) => {
  try {
    return { answer: ask(call, request) };
  } catch (error) {
    return { error: error.message };
  }
};
const answers = JSON.parse(readFileSync(0, "utf8")).map(([call, request]) => {
  const begin = performance.now();
  return { ...answered(call, request), seconds: (performance.now() - begin) / 1000 };
});
process.stdout.write(JSON.stringify(answers));
