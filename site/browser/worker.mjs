/* Runs the engine beside the page, which stays usable. Whoever wants to stop it ends the worker. */
import { compiled, started } from "./engine.mjs";

/* Milliseconds between two messages of progress. */
const BETWEEN = 50;

let told = 0;
function progress(done, total) {
  if (performance.now() - told < BETWEEN) return;
  told = performance.now();
  postMessage({ done, total });
}
const engine = fetch("engine.gzip").then(compiled).then(module => started(module, progress));

onmessage = async ({ data: { id, call, request } }) => {
  try {
    const ask = await engine;
    postMessage({ id, answer: ask(call, request) });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};
