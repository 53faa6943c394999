// A query's numbers and what each key receives: as the page carries them or, where it
// carries the head's attention weights, from those.
{
  // One statistic of a query from its row of attention weights; `place` is where the
  // query stands among the keys.
  const ofRow = {
    largest: row => row.reduce((most, weight) => Math.max(most, weight), 0),
    first: row => row[headwise.page.first_key],
    previous: (row, place) => row[place - 1] || 0,
    self: (row, place) => row[place] || 0,
    next: (row, place) => row[place + 1] || 0,
    separator: row => headwise.page.separators.reduce((sum, key) => sum + row[key], 0),
  };

  // -> [[name, number]]; NaN for a query with no key.
  async function ofQuery(head, query) {
    const {page, blocks, weights} = headwise;
    const carried = await blocks.floats(head.rows);
    const at = n => carried[n * page.num_queries + query];
    const row = head.map === null ? null : await weights.codedRow(head, query);
    return page.statistics.map(({name}) => {
      const n = page.row_statistics.indexOf(name);
      if (n >= 0) return [name, at(n)];
      return [name, Number.isNaN(at(0)) ? NaN :
        ofRow[name](row, query + page.query_start)];
    });
  }

  // The mean attention weight that each key receives.
  async function means(head) {
    const {page, blocks, weights} = headwise;
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
