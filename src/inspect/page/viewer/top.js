// Each query's largest attention weights: as the forward pass found them, or from the
// attention weights that the page holds.
{
  const {decode} = headwise.exact;

  // -> query => [[key, attention weight]], the largest first.
  async function carried({page, top: {count, block}}) {
    const data = await headwise.blocks.buffer(block);
    const number = page.num_queries * count;
    const keys = new Int32Array(data, 0, number);
    const weights = new Float32Array(data, 4 * number, number);
    return query => {
      const pairs = [];
      for (let n = query * count; n < (query + 1) * count; ++n) {
        if (keys[n] >= 0) pairs.push([keys[n], weights[n]]);
      }
      return pairs;
    };
  }

  // By the attention weights of the map, or by these times the factors of their keys.
  async function fromMap(head, factors) {
    const {num_keys: width} = head.page;
    const map = await headwise.blocks.bytes(head.map);
    return query => {
      const row = map.subarray(query * width, (query + 1) * width);
      const shown = key => decode[row[key]] * (factors === null ? 1 : factors[key]);
      const best = [];  // keys, the largest first, the lowest key among equals
      for (let key = 0; key < width; ++key) {
        if (row[key] === 0) continue;
        let at = best.length;
        while (at > 0 && shown(best[at - 1]) < shown(key)) --at;
        if (at < head.top.count) best.splice(at, 0, key);
        if (best.length > head.top.count) best.pop();
      }
      return best.map(key => [key, shown(key)]);
    };
  }

  const of = async head =>
      ({of: await (head.top.block === null ? fromMap(head, null) : carried(head))});

  // The same by what the page shows.
  async function shown(head) {
    const factors = await headwise.measure.factors(head);
    return factors === null ? of(head) : {of: await fromMap(head, factors)};
  }

  // Those of one query: [[key, what is shown, error]], as exactly as the page knows them.
  async function list(head, query) {
    if (head.top.block !== null && !headwise.measure.isNorm()) {
      return (await carried(head))(query).map(([key, weight]) => [key, weight, 0]);
    }
    const {values, errors} = await headwise.weights.row(head, query);
    const keys = Array.from(values.keys()).filter(key => values[key] > 0);
    await headwise.measure.apply(head, Array.from(values.keys()), values, errors);
    return keys
        .sort((a, b) => values[b] - values[a] || a - b).slice(0, head.top.count)
        .map(key => [key, values[key], errors[key]]);
  }

  headwise.top = {of, shown, list};
}
