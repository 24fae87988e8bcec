/* The engine: a request goes in as JSON, and an answer comes out as JSON. For a worker of the playground, and for Node. */

const LENGTH_BYTES = 4;

/* The compiled engine from its file, which is packed by gzip. */
export async function compiled(response) {
  if (!response.ok) throw new Error(`the engine cannot be loaded: ${response.status} ${response.statusText}`);
  const unpacked = response.body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

/* A function that calls the engine. `progress` hears how much is done, and of how much. */
export async function started(module, progress) {
  let exports, failed = null;
  const text = (at, bytes) => new TextDecoder().decode(new Uint8Array(exports.memory.buffer, at, bytes));
  const counterpoint = { progress, panicked: (at, bytes) => { failed = text(at, bytes); } };
  ({ exports } = await WebAssembly.instantiate(module, { counterpoint }));
  return (call, request) => {
    const asked = new TextEncoder().encode(JSON.stringify({ call, request }));
    const room = exports.counterpoint_allocate(asked.length);
    new Uint8Array(exports.memory.buffer, room, asked.length).set(asked);
    let answer;
    try {
      answer = exports.counterpoint_call(room, asked.length);
    } catch (trap) {
      throw new Error(failed === null ? `the engine has stopped: ${trap.message}` : `the engine has failed: ${failed}`);
    }
    const length = new DataView(exports.memory.buffer).getUint32(answer, true);
    const told = JSON.parse(text(answer + LENGTH_BYTES, length));
    exports.counterpoint_release(answer);
    if (told.error !== undefined) throw new Error(told.error);
    return told.answer;
  };
}
