// Every figure as a table. For a long input, the part around the pinned pair is shown, and
// the table says which part it is.
{
  const {make, button} = headwise.dom;
  const ROWS = 24;
  const COLUMNS = 16;
  const UP_AND_DOWN = ['ArrowUp', 'ArrowDown', 'Home', 'End'];

  // A table that may be wider than the window scrolls by itself, also with the keyboard; so
  // does a long one, unless it is `tall`.
  function scrolled(name, table, tall) {
    return make('div', {class: 'scrolled' + (tall ? ' tall' : ''), tabindex: '0',
                        role: 'group', 'aria-label': name}, table);
  }

  // What opens a row: a button in its first cell. The tab key reaches the current one, the
  // arrow keys the others.
  const link = (id, current, pressed, ...words) => make('button', {
    type: 'button', class: 'link', id, tabindex: current ? '0' : '-1', onclick: pressed}, words);

  // The same of a head.
  function headLink({layer, number}, pressed) {
    const {layer: current, head} = headwise.state.get();
    return link(`row-${layer}-${number}`, layer === current && number === head, pressed,
        headwise.t('head.name', layer, number));
  }

  // `titled`: the caption is already seen above the table.
  function table(caption, head, body, feet, titled) {
    const rows = list => list.map(([name, ...cells]) => make('tr', {},
        make('th', {scope: 'row'}, name),
        cells.map(text => make('td', {class: 'number'}, text))));
    const node = make('table', {},
        make('caption', {class: titled ? 'hidden' : null}, caption),
        make('thead', {}, make('tr', {}, head.map((text, n) =>
            make('th', {scope: 'col', class: n > 0 ? 'number' : null}, text)))),
        make('tbody', {}, rows(body)), feet && make('tfoot', {}, rows(feet)));
    headwise.grid.moveByKeys(node, 'button.link', UP_AND_DOWN);
    return scrolled(caption, node);
  }

  function heads(list) {
    const {t, page} = headwise;
    const names = page.statistics.map(({name}) => name);
    const body = list.map(head => head.pruned ?
      [t('head.name', head.layer, head.number), '', ...names.map(() => t('pruned'))] : [
      headLink(head, () => headwise.grid.open(head)),
      String(head.kv_head),
      ...names.map(name => headwise.numbers.statistic(name, headwise.grid.value(head, name)))]);
    return table(t('Heads and their statistics'), [t('head'), t('kv head'),
      ...names.map(name => make('abbr', {title: t('about.' + name)},
          t('statistic.' + name)))], body);
  }

  // The part of the two axes that a table shows, in the current document or in another one.
  function part(page = headwise.page) {
    const {row, column} = headwise.state.get();
    const queries = headwise.axes.queries(page);
    const keys = headwise.axes.keys(page);
    const rows = Math.min(ROWS, queries.size);
    const columns = Math.min(COLUMNS, keys.size);
    const first = Math.min(row, queries.size - rows);
    const left = Math.min(column, keys.size - columns);
    return {page, queries: queries.slice(first, rows), keys: keys.slice(left, columns),
            first, left, rows, columns};
  }

  const move = (id, text, disabled, patch) =>
      button(id, text, () => headwise.state.set(patch), {disabled});

  const range = ({page, queries, keys, rows, columns}) => headwise.t('zoom.window', queries[0],
      queries[rows - 1], page.num_queries, keys[0], keys[columns - 1], page.num_keys);

  // Which part it is, also of B if that is another one, and buttons for the other parts.
  function partTools(shown, ofB) {
    const t = headwise.t;
    const queries = headwise.axes.queries().size;
    const keys = headwise.axes.keys().size;
    const {first, left, rows, columns} = shown;
    const far = (at, count, all) => Math.max(0, Math.min(all - count, at));
    return make('div', {class: 'tools'},
        make('p', {class: 'note', role: 'status'},
            ofB ? `A: ${range(shown)} B: ${range(ofB)}` : range(shown)),
        rows < queries && [
          move('rows-before', t('Previous queries'), first === 0,
              {row: far(first - rows, rows, queries), column: left}),
          move('rows-after', t('Next queries'), first + rows >= queries,
              {row: far(first + rows, rows, queries), column: left})],
        columns < keys && [
          move('columns-before', t('Previous keys'), left === 0,
              {column: far(left - columns, columns, keys), row: first}),
          move('columns-after', t('Next keys'), left + columns >= keys,
              {column: far(left + columns, columns, keys), row: first})]);
  }

  const named = (index, tokens) => [index + ' ', headwise.tokens.node(tokens[index])];

  // {values, errors}, row by row -> the table of a window.
  function weightTable(caption, shown, {values, errors}, foot) {
    const {t} = headwise;
    const {page} = shown;
    const cell = n => headwise.detail.stateText(values[n], errors[n]);
    return table(caption, [t('query \\ key'),
      ...Array.from(shown.keys, key => named(key, page.key_tokens))],
    Array.from(shown.queries, (query, r) => [named(query, page.query_tokens),
      ...Array.from(shown.keys, (_, c) => cell(r * shown.columns + c))]), foot && [foot]);
  }

  async function fillOne(node, head, shown) {
    const {t, page, statistics, numbers} = headwise;
    const [weights, means, rows, sums] = await Promise.all([
      headwise.weights.known(head, shown.queries, shown.keys), statistics.ofKeys(head),
      Promise.all(Array.from(shown.queries, query => statistics.ofQuery(head, query))),
      statistics.unevenSums(head)]);
    headwise.dom.put(node,
        weightTable(headwise.measure.word('tables.weights', head.layer, head.number), shown, weights,
            [headwise.measure.word('tables.mean'), ...Array.from(shown.keys, key => headwise.measure.text(means[key]))]),
        table(t('Statistics per query, layer {0}, head {1}', head.layer, head.number),
            [t('axis.query'), ...statistics.namesOf(page).map(name => t('statistic.' + name))],
            Array.from(shown.queries, (query, r) => [[named(query, page.query_tokens),
              sums[query] > 0 && ` (${t('weights sum to {0}', numbers.text(sums[query]))})`],
              ...rows[r].map(([name, value, error]) =>
                Number.isNaN(value) ? t('cell.empty') : numbers.statistic(name, value, error))])));
    node.append(await lineTable(head));
  }

  async function lineTable(head) {
    const {t, page, numbers} = headwise;
    const {queries, keys, rows, least} = await headwise.lines.data(head);
    const found = [];
    for (let r = 0; r < queries.length; ++r) {
      const near = keys.filter((_, c) => headwise.lines.isLine(rows[r][c], least));
      if (near.length === 0) continue;
      const {values, errors} = await headwise.weights.known(head, queries.slice(r, r + 1), near);
      near.forEach((key, c) => found.push([queries[r], key, numbers.known(values[c], errors[c])]));
    }
    return table(headwise.measure.word('tables.lines', numbers.text(least)),
        [t('axis.query'), t('axis.key'), headwise.measure.word('legend.weight')],
        found.map(([query, key, weight]) => [named(query, page.query_tokens),
          named(key, page.key_tokens), weight]));
  }

  // `ofB` is the part of b, null if that has the sizes of a.
  async function fillTwo(node, a, b, shown, ofB) {
    const {t, weights} = headwise;
    const parts = [shown, ofB || {...shown, page: b.page}];
    const [left, right] = await Promise.all([a, b].map(
        (head, n) => weights.known(head, parts[n].queries, parts[n].keys)));
    const names = [a, b].map(head => headwise.headName(head));
    headwise.dom.put(node, weightTable('A: ' + names[0], parts[0], left),
        weightTable('B: ' + names[1], parts[1], right),
        !ofB && weightTable(t('A \u2212 B: {0} minus {1}', ...names), shown,
            weights.knownDifference(left, right)));
  }

  function head(one, other) {
    const shown = part();
    const ofB = !other || headwise.documents.sameSizes(one.page, other.page) ? null :
      part(other.page);
    const node = make('div', {class: 'twins'});
    headwise.current = {heads: [one], matrices: [], lines: null};
    if (other) fillTwo(node, one, other, shown, ofB); else fillOne(node, one, shown);
    return make('div', {}, partTools(shown, ofB), node);
  }

  function elements(found) {
    const {t, numbers} = headwise;
    return table(t('elements.title'), [t('component'), 'q', 'k', 'q \u00d7 k'],
        found.products.map((product, d) => [String(d), numbers.text(found.q[d]),
          numbers.text(found.k[d]), numbers.text(product)]), null, true);
  }

  headwise.tables = {scrolled, table, link, headLink, heads, head, elements};
}
