// Blocks are inflated on demand.
{
  const LIMIT = 96 * 1024 * 1024;  // bytes kept

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

  const kept = new headwise.Recent(LIMIT, inflate, data => data.byteLength);

  // -> Promise of the block's ArrayBuffer; not to be changed.
  const buffer = number => kept.of(number);

  // All numbers are little endian, as are all machines that run browsers.
  const bytes = async number => new Uint8Array(await buffer(number));
  const floats = async number => new Float32Array(await buffer(number));
  const integers = async number => new Int32Array(await buffer(number));

  const clear = () => kept.clear();
  const bytesKept = () => kept.bytes();

  headwise.blocks = {buffer, bytes, floats, integers, bytesKept, inflate, clear};
}
