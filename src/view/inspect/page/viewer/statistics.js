// A query's statistics and what each key receives: as the page holds them, or computed from
// the head's attention weights.
{
  const OF_HEADS = ['integrated', 'integrated-by-layer'];
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

  // The sum of gradient times attention.
  async function ofGradients({values, errors}, head, query) {
    const of = await headwise.gradient.known(head);
    let [sum, off] = [0, 0];
    values.forEach((weight, key) => {
      const [by, error] = of(query, key);
      sum += weight * by;
      off += errors[key] * (Math.abs(by) + error) + weight * error;
    });
    return [sum, off];
  }

  async function computed(name, head, query) {
    const row = await headwise.weights.row(head, query);
    if (name === 'norm') return ofNorms(row, await headwise.blocks.floats(head.norms));
    if (name === 'gradient') return ofGradients(row, head, query);
    return ofRow(name, row, query + head.page.query_start, head.page);
  }

  // The statistics that a query has: others belong to whole heads.
  const namesOf = page => page.statistics.map(({name}) => name)
      .filter(name => !OF_HEADS.includes(name));

  // The statistics by which heads can be ordered and placed: those that some head has. Without
  // any number at all they are all the same.
  function ofHeads() {
    const {page, documents} = headwise;
    const names = page.statistics.map(({name}) => name);
    const found = names.filter(name => documents.list.some(
        ({pooled}) => (pooled[name] || []).some(number => number !== null)));
    return found.length > 1 ? found : names;
  }

  // The same as choices of a menu.
  const choices = () => ofHeads().map(name => [name, headwise.t('statistic.' + name)]);

  // -> [[name, number, error]]; numbers that the page holds have no error; NaN for a query
  // with no key, null where the whole head has none.
  async function ofQuery(head, query) {
    const {page} = head;
    const carried = await headwise.blocks.floats(head.rows);
    const at = n => carried[n * page.num_queries + query];
    return Promise.all(namesOf(page).map(async name => {
      if (Number.isNaN(at(0))) return [name, NaN];
      if (head.pooled[name] === null) return [name, null];
      const n = page.row_statistics.indexOf(name);
      if (n >= 0) return [name, at(n)];
      return [name, ...await computed(name, head, query)];
    }));
  }

  // -> Promise of the sum of the weights of each query where it is not 1, NaN elsewhere.
  const unevenSums = async head => head.uneven_sums === undefined ? [] :
      headwise.blocks.floats(head.uneven_sums);

  // What each key gets from all queries.
  const ofKeys = head => headwise.measure.keys(head, () => meanWeights(head));

  // The mean attention weight that each key receives.
  async function meanWeights(head) {
    const {page} = head;
    if (head.columns !== null) return headwise.blocks.floats(head.columns);
    const sums = new Float32Array(page.num_keys);
    (await headwise.exact.all(head)).forEach((weight, n) => { sums[n % page.num_keys] += weight; });
    const counted = Math.max(1, page.num_queries - head.empty_rows);
    return sums.map(sum => sum / counted);
  }

  // The statistics that are the share of certain keys.
  const shares = Object.keys(keysOf).filter(name => name !== 'largest');

  headwise.statistics = {namesOf, ofHeads, choices, ofQuery, ofKeys, unevenSums, shares};
}
