/* The bytes of the chosen line: how it was encrypted, and what a boot makes of what is durable. */
const xor = (one, other) => Array.from(one, (digit, place) => (parseInt(digit, 16) ^ parseInt(other[place], 16)).toString(16)).join("");
const ZEROS = "0".repeat(128);

/* Rows of 64 bytes each: a name, the bytes, and those with which they are compared. */
function bytesOf(design, address, n) {
  const place = design.places.get(address), round = storyOf(design, address, n);
  const row = place === undefined ? undefined : rowAt(design, place, n);
  const counter = of => of ? ` of counter ${counterText(design, of)}` : "";
  const plaintext = round && round.arrival && round.arrival.n <= n ? round.arrival.bytes : undefined;
  const durable = design.scene.marks.findLast(mark => mark.kind === "data persists" && mark.line === address && mark.n <= n);
  const own = round && round.durable && round.durable.n <= n ? round.durable : undefined;
  const rows = { written: [], read: [] };
  if (plaintext !== undefined) {
    rows.written.push({ name: design.scene.cipher === "none" ? "written" : "plaintext", bytes: plaintext });
    if (own && design.scene.cipher === "counter-mode") rows.written.push({ name: `⊕ pad${counter(round.counter)}`, bytes: xor(plaintext, own.bytes) });
    if (own && design.scene.cipher !== "none") rows.written.push({ name: "= ciphertext", bytes: own.bytes });
  }
  if (!row) return rows;
  const found = { name: "a boot finds", bytes: row.bytes, against: plaintext };
  const aside = row.restored || row.state === 5 || row.state === 6;
  if (durable && !aside && design.scene.cipher !== "none") {
    rows.read.push({ name: "durable ciphertext", bytes: durable.bytes });
    if (design.scene.cipher === "counter-mode" && row.durable && !never(row.durable)) {
      rows.read.push({ name: `⊕ pad${counter(row.durable)}`, bytes: xor(durable.bytes, row.bytes) });
      found.name = "= a boot finds";
    }
  }
  if (never(row.durable) && row.bytes === ZEROS && design.scene.cipher === "counter-mode") found.note = "counter 0: no pad, zeros instead";
  rows.read.push(found);
  return rows;
}

/* 16 bytes a line, as AES has them; bytes that are not those that were written are marked. */
function hexDump(row) {
  const code = make("code", undefined, "dump");
  for (let block = 0; block < 128; block += 32) {
    const line = make("span", undefined, "block");
    for (let at = block; at < block + 32; at += 2) {
      const byte = row.bytes.slice(at, at + 2), other = row.against !== undefined && byte !== row.against.slice(at, at + 2);
      line.append(make("span", byte, other ? "other" : byte === "00" ? "zero" : ""), at + 2 === block + 16 ? "  " : " ");
    }
    code.append(line);
  }
  return code;
}

function showBytes(design, address) {
  const { written, read } = address === null ? { written: [], read: [] } : bytesOf(design, address, design.now);
  const body = part(design, "bytes-body");
  const group = (title, rows) => rows.length === 0 ? [] : [make("p", title, "label"), ...rows.map(row => {
    const box = make("div", undefined, "bytes-row"), name = make("b", row.name);
    if (row.note) name.append(make("small", row.note));
    const differ = row.against === undefined ? 0 : row.bytes.match(/../g).filter((byte, place) => byte !== row.against.slice(2 * place, 2 * place + 2)).length;
    if (row.against !== undefined) name.append(make("small", differ ? `${differ} of 64 bytes are not those written` : "the bytes that were written"));
    box.append(name, hexDump(row));
    return box;
  })];
  body.replaceChildren(...group("The controller writes", written), ...group("After a power failure now", read));
  part(design, "bytes").hidden = written.length + read.length === 0;
}
