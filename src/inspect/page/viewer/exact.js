// Attention weights as exactly as the page knows them, each with a bound of its error:
// {values, errors}. Masks, and what is hidden, are no matter of them.
{
  const decode = Float32Array.from({length: 256}, (_, byte) => (byte / 255) ** 2);
  // How far a decoded byte may be from what it was made of: half a step of its root.
  const codingError = value => (255 * Math.sqrt(Math.max(0, value)) + 0.25) / 255 ** 2;

  // Copies the cells (queries x keys, indices) that `source` has.
  function fromMap(map, queries, keys) {
    const {num_keys: width} = headwise.page;
    const out = new Float32Array(queries.length * keys.length);
    let at = 0;
    for (const i of queries) {
      for (const j of keys) out[at++] = decode[map[i * width + j]];
    }
    return out;
  }

  // Cells (queries x keys, ascending indices) of the area that they are in.
  async function computed(head, queries, keys) {
    const first = [queries[0], keys[0]];
    const last = [queries[queries.length - 1] + 1, keys[keys.length - 1] + 1];
    const all = await headwise.computed.area(head, [first[0], last[0], first[1], last[1]]);
    const width = last[1] - first[1];
    const values = new Float32Array(queries.length * keys.length);
    const errors = new Float32Array(values.length);
    let at = 0;
    for (const i of queries) {
      for (const j of keys) {
        values[at] = all.values[(i - first[0]) * width + j - first[1]];
        errors[at++] = all.errors[(i - first[0]) * width + j - first[1]];
      }
    }
    return {values, errors};
  }

  function decoded(map, queries, keys) {
    const values = fromMap(map, queries, keys);
    return {values, errors: values.map(codingError)};
  }

  const allKeys = () => Int32Array.from({length: headwise.page.num_keys}, (_, n) => n);

  // Narrows the intervals of a row: its attention weights sum to 1, which bounds each by the
  // others. `sees` tells the keys that count.
  function boundBySum(low, high, count, sees) {
    const ROUNDING = 4e-6;  // of binary32, in the sum of the true ones
    let least = 0;
    let most = 0;
    for (let key = 0; key < count; ++key) {
      if (!sees(key)) continue;
      least += low[key];
      most += high[key];
    }
    for (let key = 0; key < count; ++key) {
      if (!sees(key)) continue;
      [low[key], high[key]] = [
        Math.max(low[key], 1 - (most - high[key]) - ROUNDING),
        Math.min(high[key], 1 - (least - low[key]) + ROUNDING)];
    }
  }

  // Whole rows of a head that has both a map and q and k. The true weight is within the errors
  // of byte and computed number, and its row sums to 1: the middle of what that leaves.
  async function wholeRows(head, queries) {
    const keys = allKeys();
    const [map, found, mask] = await Promise.all([headwise.blocks.bytes(head.map),
      computed(head, queries, keys), headwise.mask.of(head)]);
    const bytes = decoded(map, queries, keys);
    const bound = (side, inner) => Float64Array.from(found.values, (value, n) => inner(
        value + side * found.errors[n], bytes.values[n] + side * bytes.errors[n]));
    const low = bound(-1, Math.max);
    const high = bound(1, Math.min);
    queries.forEach((query, r) => {
      const row = [r * keys.length, (r + 1) * keys.length];
      boundBySum(low.subarray(...row), high.subarray(...row), keys.length,
          key => mask.visible(query, key));
    });
    return {values: Float32Array.from(low, (value, n) => (value + high[n]) / 2),
            errors: Float32Array.from(low, (value, n) => Math.max(0, high[n] - value) / 2)};
  }

  // The cells of these keys in whole rows.
  function columnsOf(rows, count, keys) {
    const pick = numbers => Float32Array.from({length: count * keys.length}, (_, n) =>
        numbers[Math.floor(n / keys.length) * headwise.page.num_keys + keys[n % keys.length]]);
    return {values: pick(rows.values), errors: pick(rows.errors)};
  }

  // As the page knows them best: computed, or the byte where q and k are missing. What is
  // masked is no matter of it.
  async function raw(head, queries, keys) {
    if (queries.length === 0 || keys.length === 0) {
      return {values: new Float32Array(0), errors: new Float32Array(0)};
    }
    if (head.query === null) {
      return decoded(await headwise.blocks.bytes(head.map), queries, keys);
    }
    if (head.map !== null) {
      return columnsOf(await wholeRows(head, queries), queries.length, keys);
    }
    const found = await computed(head, queries, keys);
    // The head's own bound is of what the page computes, too.
    found.errors.forEach((error, n) => { found.errors[n] = Math.min(error, head.error); });
    return found;
  }

  headwise.exact = {decode, codingError, fromMap, computed, raw};
}
