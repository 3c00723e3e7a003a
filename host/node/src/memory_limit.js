/**
 * Limits the memory of the component: the memory of a core module gets the limit as its maximum before compilation,
 * because JavaScript has no other way to stop `memory.grow`.
 */

const PAGE = 65_536;
const MAX_PAGES = 65_536;
const MEMORY_SECTION = 5;
const HEADER = 8;

/**
 * Returns the module with a maximum for each memory that it defines.
 *
 * @param {Uint8Array} module
 * @param {number} maxBytes In bytes.
 * /
 */
export function limitMemory(module, maxBytes) {
  let at = HEADER;
  while (at < module.length) {
    const size = readNumber(module, at + 1);
    const end = size.end + size.value;
    if (module[at] === MEMORY_SECTION) {
      const section = limited(module.subarray(size.end, end), Math.floor(maxBytes / PAGE));
      const parts = [module.subarray(0, at + 1), writeNumber(section.length), section, module.subarray(end)];
      return concat(parts);
    }
    at = end;
  }
  return module;
}

/** @param {Uint8Array} section @param {number} pages */
function limited(section, pages) {
  let { value: count, end: at } = readNumber(section, 0);
  const parts = [section.subarray(0, at)];
  for (; count > 0; count -= 1) {
    const flags = section[at];
    const least = readNumber(section, at + 1);
    const own = flags & 1 ? readNumber(section, least.end) : undefined;
    at = (own ?? least).end;
    const maximum = Math.max(least.value, Math.min(own?.value ?? MAX_PAGES, pages));
    parts.push(Uint8Array.of(flags | 1), writeNumber(least.value), writeNumber(maximum));
  }
  return concat(parts);
}

/** @param {Uint8Array} bytes @param {number} at An unsigned number in LEB128. */
function readNumber(bytes, at) {
  let [value, scale] = [0, 1];
  for (;;) {
    const byte = bytes[at];
    at += 1;
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 0x80) return { value, end: at };
  }
}

/** @param {number} value */
function writeNumber(value) {
  const bytes = [];
  do {
    const rest = Math.floor(value / 128);
    bytes.push((value % 128) | (rest > 0 ? 0x80 : 0));
    value = rest;
  } while (value > 0);
  return Uint8Array.from(bytes);
}

/** @param {Uint8Array[]} parts */
function concat(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
