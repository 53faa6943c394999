// Attention weights as exactly as the page knows them, each with an error bound:
// {values, errors}. Masks and hidden tokens are handled elsewhere.
{
  const decode = Float32Array.from({length: 256}, (_, byte) => (byte / 255) ** 2);
  // The largest error of a decoded byte: half a step of its square root.
  const codingError = value => (255 * Math.sqrt(Math.max(0, value)) + 0.25) / 255 ** 2;

  const ROUNDING = 4e-6;  // of the sum of a row's true weights, in binary32

  // ---- All pairs of a head. ----

  const KEPT = 96 * 1024 * 1024;  // bytes of attention weights

  // Does the page have all attention weights of the head at once?
  const isWhole = head => head.page.coding.kind === 'maps';

  async function load(head, urgent) {
    const {num_queries: queries, num_keys: keys} = head.page;
    if (head.map !== null) {
      return Float32Array.from(await headwise.blocks.bytes(head.map), byte => decode[byte]);
    }
    const [{values}, mask] = await Promise.all([
      headwise.computed.area(head, [0, queries, 0, keys], {urgent, withErrors: false}),
      headwise.mask.of(head)]);
    for (let i = 0, at = 0; i < queries; ++i) {
      for (let j = 0; j < keys; ++j, ++at) {
        if (!mask.full && !mask.visible(i, j)) values[at] = 0;
        else if (values[at] > 1 - ROUNDING) values[at] = 1;  // where colours end, too
      }
    }
    return values;
  }

  const recent = new headwise.Recent(KEPT, load, values => values.byteLength);

  // -> Promise of the attention weights of all pairs, 0 where they are masked; not to be
  // changed. What is not urgent may be forgotten (tiles.js).
  const all = (head, urgent = true) => recent.of(head, urgent);
  const clear = () => recent.clear();

  // Copies cells (queries x keys, by indices) from rows of `width` keys.
  function pick(all, width, queries, keys) {
    const out = new Float32Array(queries.length * keys.length);
    let at = 0;
    for (const i of queries) {
      for (const j of keys) out[at++] = all[i * width + j];
    }
    return out;
  }

  // Cells (queries x keys, ascending indices), from the area that contains them.
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

  async function decoded(head, queries, keys) {
    const values = pick(await all(head), head.page.num_keys, queries, keys);
    return {values, errors: values.map(codingError)};
  }

  const allKeys = head => Int32Array.from({length: head.page.num_keys}, (_, n) => n);

  // What the attention weights of a row sum to, and its error: the sink takes the rest.
  function sumOfRow(head, lse) {
    const rest = Number.isFinite(head.sink) ? Math.exp(head.sink - lse) : 0;
    return [1 - rest, ROUNDING + rest * Math.expm1(head.lse_error)];
  }

  // Narrows the intervals of a row: its attention weights sum to `total` within `off`, so each
  // is bounded by the others. `sees` says which keys count.
  function boundBySum(low, high, count, [total, off], sees) {
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
        Math.max(low[key], total - (most - high[key]) - off),
        Math.min(high[key], total - (least - low[key]) + off)];
    }
  }

  // Whole rows of a head that has q and k. The true weight is within the errors of the pair
  // and of the head, and the sum of its row is known. The value is the middle of the interval
  // that remains.
  async function wholeRows(head, queries) {
    const keys = allKeys(head);
    const [found, mask, lse] = await Promise.all([computed(head, queries, keys),
      headwise.mask.of(head), headwise.blocks.floats(head.lse)]);
    const bound = side => Float64Array.from(found.values, (value, n) =>
        Math.min(1, Math.max(0, value + side * Math.min(found.errors[n], head.error + ROUNDING))));
    const low = bound(-1);
    const high = bound(1);
    queries.forEach((query, r) => {
      const row = [r * keys.length, (r + 1) * keys.length];
      boundBySum(low.subarray(...row), high.subarray(...row), keys.length,
          sumOfRow(head, lse[query]), key => mask.visible(query, key));
    });
    return {values: Float32Array.from(low, (value, n) => (value + high[n]) / 2),
            errors: Float32Array.from(low, (value, n) => Math.max(0, high[n] - value) / 2)};
  }

  // The cells for these keys, from whole rows of `width` keys.
  function columnsOf(rows, width, count, keys) {
    const pick = numbers => Float32Array.from({length: count * keys.length}, (_, n) =>
        numbers[Math.floor(n / keys.length) * width + keys[n % keys.length]]);
    return {values: pick(rows.values), errors: pick(rows.errors)};
  }

  // A page of attention weights alone holds the largest of each query as they were given.
  // Those are exact, and no other is larger.
  async function withLargest(head, queries, keys, {values, errors}) {
    const {of} = await headwise.top.of(head);
    queries.forEach((query, a) => {
      const given = new Map(of(query));
      const most = given.size < head.top.count ? 0 : Math.min(...given.values());
      keys.forEach((key, b) => {
        const n = a * keys.length + b;
        const low = Math.min(most, Math.max(0, values[n] - errors[n]));
        const high = Math.min(most, values[n] + errors[n]);
        values[n] = given.has(key) ? given.get(key) : (low + high) / 2;
        errors[n] = given.has(key) ? 0 : (high - low) / 2;
      });
    });
    return {values, errors};
  }

  // The best known values: computed, or from the bytes if q and k are missing. Masks are
  // handled elsewhere.
  async function raw(head, queries, keys) {
    if (queries.length === 0 || keys.length === 0) {
      return {values: new Float32Array(0), errors: new Float32Array(0)};
    }
    if (head.query === null) {
      const found = await decoded(head, queries, keys);
      return head.top.block === null ? found : withLargest(head, queries, keys, found);
    }
    if (isWhole(head)) {
      return columnsOf(
          await wholeRows(head, queries), head.page.num_keys, queries.length, keys);
    }
    const found = await computed(head, queries, keys);
    // The head's own bound also holds for what the page computes.
    found.errors.forEach((error, n) => { found.errors[n] = Math.min(error, head.error); });
    return found;
  }

  headwise.exact = {decode, codingError, isWhole, all, clear, pick, computed, raw};
}
