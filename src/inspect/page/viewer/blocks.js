// Blocks are inflated on demand; the most recent ones are kept, up to a limit, so that a
// page with many heads never holds all of them.
{
  const LIMIT = 96 * 1024 * 1024;  // bytes kept
  const kept = new Map();          // number -> Promise; in order of last use
  const sizes = new Map();

  function decode(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let n = 0; n < binary.length; ++n) bytes[n] = binary.charCodeAt(n);
    return bytes;
  }

  // -> Promise of the block's ArrayBuffer, which is not kept.
  async function inflate(number) {
    const {Failure} = headwise.failure;
    if (!window.DecompressionStream) throw new Failure('failure.browser');
    try {
      const text = document.getElementById('block-' + number).textContent;
      const stream = new Blob([decode(text)]).stream()
          .pipeThrough(new DecompressionStream('deflate'));
      return await new Response(stream).arrayBuffer();
    } catch (error) {
      throw new Failure('failure.block', number);
    }
  }

  const bytesKept = () => [...sizes.values()].reduce((total, size) => total + size, 0);

  function forget() {
    let total = bytesKept();
    for (const [number, size] of sizes) {
      if (total <= LIMIT || sizes.size === 1) return;
      total -= size;
      sizes.delete(number);
      kept.delete(number);
    }
  }

  // -> Promise of the block's ArrayBuffer; not to be changed.
  function buffer(number) {
    let found = kept.get(number);
    if (found) {
      kept.delete(number);  // to the end of the order
    } else {
      found = inflate(number);
    }
    kept.set(number, found);
    found.then(data => {
      if (kept.get(number) !== found) return;
      sizes.delete(number);
      sizes.set(number, data.byteLength);
      forget();
    }, () => {  // the caller gets the error; the next call tries again
      if (kept.get(number) === found) kept.delete(number);
    });
    return found;
  }

  // All numbers are little endian, as are all machines that run browsers.
  const bytes = async number => new Uint8Array(await buffer(number));
  const floats = async number => new Float32Array(await buffer(number));
  const integers = async number => new Int32Array(await buffer(number));

  function clear() {
    kept.clear();
    sizes.clear();
  }

  headwise.blocks = {buffer, bytes, floats, integers, bytesKept, inflate, clear};
}
