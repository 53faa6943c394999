// Attention weights of a head: of all pairs at once, or from tiles that a worker computes.
// The shares of special tokens are removed here. Cells, lines and pooled maps are of what
// the page shows (measure.js).
{
  const {MASKED, EMPTY, PENDING, isPattern} = headwise.mask;
  const {decode, isWhole, all, pick, computed, raw} = headwise.exact;

  function fromTiles(head, queries, keys) {
    const {SIDE, ready, areaOf} = headwise.tiles;
    const out = new Float32Array(queries.length * keys.length);
    for (let a = 0; a < queries.length; ++a) {
      const row = Math.floor(queries[a] / SIDE);
      let column = -1;
      let tile = null;
      let area = null;
      for (let b = 0; b < keys.length; ++b) {
        if (Math.floor(keys[b] / SIDE) !== column) {
          column = Math.floor(keys[b] / SIDE);
          tile = ready(head, row, column);
          area = areaOf(head, row, column);
        }
        out[a * keys.length + b] = tile ?
            tile[(queries[a] - area[0]) * (area[3] - area[2]) + keys[b] - area[2]] :
            PENDING;
      }
    }
    return out;
  }

  const distinct = (indices, side) =>
      [...new Set(Array.from(indices, n => Math.floor(n / side)))];

  // A byte holds no weight above 1, but such a weight is among its query's largest.
  async function largeWeights(head, values, queries, keys) {
    if (!head.uneven_rows || head.top.block === null) return;
    const top = await headwise.top.of(head);
    const places = new Map(Array.from(keys, (key, b) => [key, b]));
    queries.forEach((query, a) => {
      for (const [key, weight] of top.of(query)) {
        if (weight > 1 && places.has(key)) values[a * keys.length + places.get(key)] = weight;
      }
    });
  }

  async function finish(head, values, queries, keys) {
    await largeWeights(head, values, queries, keys);
    const mask = await headwise.mask.of(head);
    mask.clear(values, queries, keys);
    await renormalise(head, values, queries, keys.length);
    await headwise.measure.apply(head, queries, keys, values);
    return values;
  }

  // The cells of a window, masked ones marked. `partly` is called with the cells so
  // far while tiles arrive.
  async function cells(head, queries, keys, {partly, urgent = true} = {}) {
    if (isWhole(head)) {
      const values = pick(await all(head, urgent), head.page.num_keys, queries, keys);
      return finish(head, values, queries, keys);
    }
    const {SIDE, tile} = headwise.tiles;
    const wanted = [];
    for (const row of distinct(queries, SIDE)) {
      for (const column of distinct(keys, SIDE)) wanted.push(tile(head, row, column));
    }
    if (partly) partly(await finish(head, fromTiles(head, queries, keys), queries, keys));
    let shown = performance.now();
    for (const one of wanted) {
      await one;
      if (partly && performance.now() - shown > 120) {
        partly(await finish(head, fromTiles(head, queries, keys), queries, keys));
        shown = performance.now();
      }
    }
    return finish(head, fromTiles(head, queries, keys), queries, keys);
  }

  // One query's row over these keys, or one key's column over these queries.
  async function line(head, queries, keys) {
    if (isWhole(head)) return cells(head, queries, keys);
    return finish(head, (await computed(head, queries, keys)).values, queries, keys);
  }

  // ---- Numbers, each with its error. ----

  // The cells of a window, masked ones marked: {values, errors}.
  async function known(head, queries, keys) {
    const found = await raw(head, queries, keys);
    const mask = await headwise.mask.of(head);
    mask.clear(found.values, queries, keys);
    await renormalise(head, found.values, queries, keys.length, found.errors);
    await headwise.measure.apply(head, queries, keys, found.values, found.errors);
    return found;
  }

  // The query's attention weights, whatever is shown, over all keys; 0 where they are masked.
  async function row(head, query) {
    const keys = Int32Array.from({length: head.page.num_keys}, (_, n) => n);
    const found = await raw(head, [query], keys);
    const mask = await headwise.mask.of(head);
    for (const key of keys) {
      if (!mask.visible(query, key)) found.values[key] = found.errors[key] = 0;
    }
    return found;
  }

  const shares = new WeakMap();  // head -> Promise of what each query gives special keys

  async function specialShares(head) {
    const {page} = head;
    const queries = Int32Array.from({length: page.num_queries}, (_, n) => n);
    const total = {values: new Float32Array(queries.length),
                   errors: new Float32Array(queries.length)};
    const mask = await headwise.mask.of(head);
    // All at once if whole rows are computed anyway.
    const together = isWhole(head) ? [page.key_special] : page.key_special.map(key => [key]);
    for (const keys of together) {
      const found = await raw(head, queries, keys);
      queries.forEach((i, a) => keys.forEach((key, b) => {
        if (!mask.visible(i, key)) return;
        total.values[i] += found.values[a * keys.length + b];
        total.errors[i] += found.errors[a * keys.length + b];
      }));
    }
    return total;
  }

  // If special tokens are hidden, rows can be made to sum to 1 again: a row and its error are
  // divided by the sum of what is left.
  async function renormalise(head, values, queries, width, errors) {
    const state = headwise.state.get();
    if (!state.hide || !state.renormalise || !headwise.measure.plain() ||
        head.page.key_special.length === 0) return;
    if (!shares.has(head)) shares.set(head, specialShares(head));
    const special = await shares.get(head);
    const sums = await headwise.statistics.unevenSums(head);
    queries.forEach((i, a) => {
      const rest = (sums[i] > 0 ? sums[i] : 1) - special.values[i];
      const least = rest - special.errors[i];
      for (let b = a * width; b < (a + 1) * width; ++b) {
        if (isPattern(values[b])) continue;
        values[b] = rest > 0 ? Math.min(1, values[b] / rest) : 0;
        if (!errors) continue;
        errors[b] = least > 0 ?
            Math.min(1, (errors[b] + values[b] * special.errors[i]) / least) : 1;
      }
    });
  }

  // a - b of {values, errors}; without a number there is no error.
  function knownDifference(a, b) {
    const values = difference(a.values, b.values);
    return {values, errors: a.errors.map((error, n) =>
        isPattern(values[n]) ? 0 : error + b.errors[n])};
  }

  // ---- Pooled maps. ----

  const POOLED_SIDE = 64;  // cells, at most

  async function carriedSmall({rows, columns, block}, pool) {
    const bytes = await headwise.blocks.bytes(block);
    // With one pair in each cell there are no other means.
    const from = pool === 'mean' ? bytes.length - rows * columns : 0;
    return Float32Array.from(
        bytes.subarray(from, from + rows * columns), byte => decode[byte]);
  }

  async function pooledMap(head, pool) {
    const {num_queries: queries, num_keys: keys} = head.page;
    const {rows, columns} = head.small;
    const weights = await all(head, false);
    const factor = await headwise.measure.factor(head);
    const values = new Float32Array(rows * columns);
    const counts = new Uint32Array(rows * columns);
    for (let i = 0; i < queries; ++i) {
      const row = Math.floor(i * rows / queries) * columns;
      for (let j = 0; j < keys; ++j) {
        const cell = row + Math.floor(j * columns / keys);
        const given = weights[i * keys + j];
        const weight = given === 0 || factor === null ? given : given * factor(i, j);
        values[cell] = pool === 'mean' ? values[cell] + weight : Math.max(values[cell], weight);
        ++counts[cell];
      }
    }
    return pool === 'mean' ? values.map((sum, n) => sum / counts[n]) : values;
  }

  // The pooled map: {rows, columns, values}; masked cells are marked.
  async function small(head, pool) {
    const {rows, columns, block} = head.small;
    const {measure} = headwise;
    const carried = measure.plain() ? block !== null && carriedSmall(head.small, pool) :
        measure.small(head);
    const values = Float32Array.from(await (carried || pooledMap(head, pool)));
    const marks = await pooledMask(head);
    for (let n = 0; n < values.length; ++n) if (marks[n] < 0) values[n] = marks[n];
    return {rows, columns, values};
  }

  // Each is computed once and kept with its mask.
  async function pooledMask(head) {
    const mask = await headwise.mask.of(head);
    if (!mask.pooledCells) {
      mask.pooledCells = mask.pooled(head.small.rows, head.small.columns);
    }
    return mask.pooledCells;
  }

  // The pooled map of what the axes show if they show one sentence of a pair each, otherwise
  // that of all tokens.
  async function thumbnail(head, pool) {
    const {page} = head;
    if (!isWhole(head) || headwise.parts.shown(page, 'query') === null) {
      return small(head, pool);
    }
    const queries = headwise.axes.queries(page);
    const keys = headwise.axes.keys(page);
    const values = await cells(head, queries.slice(0, queries.size), keys.slice(0, keys.size),
                               {urgent: false});
    const factor = size => Math.ceil(size / POOLED_SIDE);
    return headwise.paint.pool({rows: queries.size, columns: keys.size, values},
        factor(queries.size), factor(keys.size), pool);
  }

  // a - b, cell by cell; masked where either is.
  function difference(a, b) {
    return Float32Array.from(a, (value, n) => value === PENDING || b[n] === PENDING ?
        PENDING : value === EMPTY && b[n] === EMPTY ? EMPTY :
        isPattern(value) || isPattern(b[n]) ? MASKED : value - b[n]);
  }

  headwise.weights = {cells, line, known, knownDifference, row, small, thumbnail,
                      difference};
}
