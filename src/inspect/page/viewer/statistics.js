// A query's statistics and the mean that each key receives: as the page holds them or, if
// it holds the head's attention weights, computed from those.
{
  const largest = row => row.reduce((best, weight, key) => weight > row[best] ? key : best, 0);

  // The keys whose attention weights a statistic adds up; `place` is the query's position
  // among the keys of `page`.
  const keysOf = {
    largest: row => [largest(row)],
    first: (row, place, page) => [page.first_key],
    previous: (row, place) => [place - 1],
    self: (row, place) => [place],
    next: (row, place) => [place + 1],
    separator: (row, place, page) => page.separators,
  };

  function ofRow(name, {values, errors}, place, page) {
    const keys = keysOf[name](values, place, page).filter(key => key >= 0 && key < values.length);
    const sum = numbers => keys.reduce((total, key) => total + numbers[key], 0);
    return [sum(values), sum(errors)];
  }

  // The sum of weight times norm.
  function ofNorms({values, errors}, norms) {
    const sum = numbers => numbers.reduce((total, number, key) => total + number * norms[key], 0);
    return [sum(values), sum(errors)];
  }

  // -> [[name, number, error]]; numbers that the page holds have no error; NaN for a query
  // with no key.
  async function ofQuery(head, query) {
    const {blocks, weights} = headwise;
    const {page} = head;
    const carried = await blocks.floats(head.rows);
    const at = n => carried[n * page.num_queries + query];
    const row = head.map === null ? null : await weights.row(head, query);
    return Promise.all(page.statistics.map(async ({name}) => {
      const n = page.row_statistics.indexOf(name);
      if (n >= 0) return [name, at(n)];
      if (Number.isNaN(at(0))) return [name, NaN];
      return [name, ...(name === 'norm' ? ofNorms(row, await blocks.floats(head.norms)) :
        ofRow(name, row, query + page.query_start, page))];
    }));
  }

  // The mean over the queries of what is shown for each key.
  async function means(head) {
    const found = await meanWeights(head);
    const norms = await headwise.measure.factors(head);
    return norms === null ? found : found.map((mean, key) => mean * norms[key]);
  }

  // The mean attention weight that each key receives.
  async function meanWeights(head) {
    const {blocks, weights} = headwise;
    const {page} = head;
    if (head.columns !== null) return blocks.floats(head.columns);
    const sums = new Float32Array(page.num_keys);
    for (let query = 0; query < page.num_queries; ++query) {
      (await weights.codedRow(head, query)).forEach((weight, key) => { sums[key] += weight; });
    }
    const counted = Math.max(1, page.num_queries - head.empty_rows);
    return sums.map(sum => sum / counted);
  }

  headwise.statistics = {ofQuery, means};
}
