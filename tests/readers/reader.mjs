// Read release files without suffice:  node reader.mjs KEY.pub FILE...
//
// The seal is checked with WebCrypto before a byte of the payload is interpreted. What comes out is a JSON list with
// one object per file: `header` and `columns`, every number of a column as text since JSON readers round int64, or
// `refused`, with the step that refused it. The exit status is 1 if any was refused. docs/reference/format.md is all
// that this file was written from.
import { RecordBatchReader } from "apache-arrow";
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";

const TYPE = "application/vnd.suffice.release+arrow";
const COLUMNS = new Set(["Int64", "Float64", "Utf8", "Bool"]);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const sha256 = async (bytes) => hex(await webcrypto.subtle.digest("SHA-256", bytes));
const same = (object, names) => JSON.stringify(Object.keys(object).sort()) === JSON.stringify(names);

function insist(holds, step, why) {
  if (!holds) throw Object.assign(new Error(why), { step });
}

function base64(text) {
  const bytes = Buffer.from(String(text), "base64");
  insist(bytes.toString("base64") === text, "envelope", "a member is not base64 in its one spelling");
  return bytes;
}

async function trusted(path) {
  const spki = Buffer.from((await readFile(path, "ascii")).replace(/-----[A-Z ]+-----|\s/g, ""), "base64");
  return { id: await sha256(spki.subarray(-32)), key: await webcrypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]) };
}

async function verified(file, owner) {
  const envelope = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(file));
  insist(same(envelope, ["payload", "payloadType", "sha256", "signatures"]), "envelope", "its members are others");
  insist(envelope.payloadType === TYPE, "envelope", "it holds something else");
  const payload = base64(envelope.payload);
  insist((await sha256(payload)) === envelope.sha256, "envelope", "the content does not fit its hash");
  insist(envelope.signatures.every((one) => same(one, ["keyid", "sig"])), "envelope", "a signature has other members");
  const own = envelope.signatures.filter((one) => one.keyid === owner.id);
  insist(own.length > 0, "seal", "no seal of this key");
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `), payload]);
  for (const one of own)
    insist(await webcrypto.subtle.verify("Ed25519", owner.key, base64(one.sig), signed), "seal", "the seal does not fit");
  return payload;
}

function unpacked(payload) {
  const stream = RecordBatchReader.from(payload).open();
  const { metadata, fields } = stream.schema;
  const [batch, ...further] = [...stream];
  insist(batch && further.length === 0, "payload", "it has not one batch");
  insist(metadata.size === 1 && metadata.has("suffice"), "payload", "its metadata is not the one entry");
  const header = JSON.parse(metadata.get("suffice"));
  insist(header.format === 1, "payload", `format ${header.format} is not read here`);
  insist(fields.every((field) => COLUMNS.has(String(field.type))), "payload", "a column of another type");
  if (header.shape) {
    const cells = header.shape.reduce((product, side) => product * side, 1);
    insist(fields.length === 1 && fields[0].name === "values" && cells === batch.numRows, "payload", "the shape does not fit");
  }
  const text = (value) => (typeof value === "string" || typeof value === "boolean" ? value : Object.is(value, -0) ? "-0" : `${value}`);
  const columns = fields.map((field, at) => [field.name, Array.from(batch.getChildAt(at), text)]);
  insist(batch.data.children.every((column) => column.nullCount === 0), "payload", "a value is missing");
  return `"header":${metadata.get("suffice")},"columns":${JSON.stringify(Object.fromEntries(columns))}`;
}

const [key, ...paths] = process.argv.slice(2);
const owner = await trusted(key);
const lines = [];
for (const path of paths) {
  let said, step = "envelope";
  try {
    const payload = await verified(await readFile(path), owner);
    step = "payload";
    said = unpacked(payload);
  } catch (error) {
    said = `"refused":${JSON.stringify(error.step ?? step)},"why":${JSON.stringify(error.message)}`;
    process.exitCode = 1;
  }
  lines.push(`{"file":${JSON.stringify(path)},${said}}`);
}
process.stdout.write(`[${lines.join(",\n")}]\n`);
