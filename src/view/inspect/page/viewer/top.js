// Each query's largest attention weights: as the forward pass found them, or from the
// attention weights that the page holds.
{
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

  // The largest of these keys by their numbers without sign, the largest first, the lowest key
  // among equals.
  function largest(keys, number, count) {
    const best = [];
    for (const key of keys) {
      const size = Math.abs(number(key));
      let at = best.length;
      while (at > 0 && Math.abs(number(best[at - 1])) < size) --at;
      if (at < count) best.splice(at, 0, key);
      if (best.length > count) best.pop();
    }
    return best.map(key => [key, number(key)]);
  }

  // By the attention weights of all pairs, or by these times a factor.
  async function found(head, factor) {
    const {num_keys: width} = head.page;
    const all = await headwise.exact.all(head);
    return query => {
      const row = all.subarray(query * width, (query + 1) * width);
      const shown = factor === null ? row :
          row.map((weight, key) => weight === 0 ? 0 : weight * factor(query, key));
      return largest([...row.keys()].filter(key => row[key] !== 0), key => shown[key],
          head.top.count);
    };
  }

  const of = async head =>
      ({of: await (head.top.block === null ? found(head, null) : carried(head))});

  // The same by what the page shows; of a page that has tiles alone, for the keys of the largest
  // attention weights.
  async function shown(head) {
    const factor = await headwise.measure.factor(head);
    if (factor === null) return of(head);
    if (headwise.exact.isWhole(head)) return {of: await found(head, factor)};
    const known = await carried(head);
    return {of: query => known(query).map(([key, weight]) => [key, weight * factor(query, key)])};
  }

  // Those of one query: [[key, what is shown, error]], as exactly as the page knows them.
  async function list(head, query) {
    if (head.top.block !== null && headwise.measure.plain()) {
      return (await carried(head))(query).map(([key, weight]) => [key, weight, 0]);
    }
    const {values, errors} = await headwise.weights.row(head, query);
    const all = Array.from(values.keys());
    await headwise.measure.apply(head, [query], all, values, errors);
    return largest(all.filter(key => values[key] !== 0), key => values[key], head.top.count)
        .map(([key, value]) => [key, value, errors[key]]);
  }

  headwise.top = {of, shown, list};
}
