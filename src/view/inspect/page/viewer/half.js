// Converts binary16 to binary32 exactly, with a table.
{
  // Also sent to the worker as text, so it uses nothing from outside.
  function halfTable() {
    const table = new Float32Array(65536);
    for (let bits = 0; bits < 65536; ++bits) {
      const sign = bits & 0x8000 ? -1 : 1;
      const exponent = bits >> 10 & 31;
      const fraction = bits & 1023;
      table[bits] = sign * (exponent === 0 ? fraction * 2 ** -24 :
          exponent === 31 ? (fraction ? NaN : Infinity) :
          (1 + fraction / 1024) * 2 ** (exponent - 15));
    }
    return table;
  }

  let table = null;
  function widen(halves) {
    table = table || halfTable();
    return Float32Array.from(halves, bits => table[bits]);
  }

  headwise.half = {halfTable, widen};
}
