// The current pair in words: the cell, the query's statistics and its top keys.
{
  const {make} = headwise.dom;
  const {MASKED, EMPTY, PENDING, isPattern} = headwise.mask;

  // "0.132", or why there is no number.
  function stateText(value, error) {
    const {t, numbers, measure} = headwise;
    if (value === undefined) return t('\u2013');
    if (value === MASKED) return t('cell.masked');
    if (value === EMPTY) return t('cell.empty');
    if (value === PENDING) return t('computing');
    return error === 0 && !(measure.plain() && numbers.tiny(value)) ? numbers.exact(value) :
        measure.text(value, error);
  }

  // What each matrix shows for the pair: [[value, error]]; the third is the difference.
  function drawn(pair, matrices) {
    const values = matrices.map(matrix => matrix.value(pair));
    const errors = values.map(value => value === undefined || isPattern(value) ? 0 :
        headwise.exact.codingError(value));
    if (errors.length > 2) errors[2] = errors[0] + errors[1];
    return values.map((value, n) => [value, errors[n]]);
  }

  // Whether the head's document has such a pair.
  const has = ({page}, pair) => pair.query < page.num_queries && pair.key < page.num_keys;

  // The same, as exactly as the page knows it, for one head, or for two and their difference.
  async function known(pair, heads) {
    const {weights} = headwise;
    const found = await Promise.all(heads.map(head => has(head, pair) ? weights.known(
        head, Int32Array.of(pair.query), Int32Array.of(pair.key)) : null));
    if (found.length > 1 && headwise.documents.sameSizes(heads[0].page, heads[1].page)) {
      found.push(weights.knownDifference(...found));
    }
    return found.map(one => one === null ? [undefined, 0] :
        [one.values[0], isPattern(one.values[0]) ? 0 : one.errors[0]]);
  }

  // One sentence, for the live region.
  async function sentence(pair, heads) {
    const {t, tokens, page} = headwise;
    const found = await known(pair, heads);
    return t('cell.sentence', pair.query, tokens.visible(page.query_tokens[pair.query]),
        pair.key, tokens.visible(page.key_tokens[pair.key]),
        found.map(one => stateText(...one)).join(', '));
  }

  // "query 3 cat -> key 1 the", or the ranges of the pooled cell that they are in.
  function place(pair, pooled, {small}) {
    const {t, tokens, page} = headwise;
    if (!pooled) {
      return [t('axis.query') + ' ' + pair.query + ' ',
        tokens.node(page.query_tokens[pair.query]),
        ' \u2192 ' + t('axis.key') + ' ' + pair.key + ' ',
        tokens.node(page.key_tokens[pair.key]), ' '];
    }
    const range = (index, cells, all) => {
      const cell = Math.floor(index * cells / all);
      return [Math.ceil(cell * all / cells), Math.ceil((cell + 1) * all / cells) - 1];
    };
    return t('cell.pooled', ...range(pair.query, small.rows, page.num_queries),
        ...range(pair.key, small.columns, page.num_keys),
        t('pool.' + headwise.measure.pool())) + ' ';
  }

  // The tokens of a pair in another document, where they are others.
  function otherTokens(pair, head) {
    const {page, tokens} = headwise;
    if (!head || head.page === page || !has(head, pair)) return null;
    const [query, key] = [head.page.query_tokens[pair.query], head.page.key_tokens[pair.key]];
    if (query === page.query_tokens[pair.query] && key === page.key_tokens[pair.key]) return null;
    return [tokens.node(query), ' \u2192 ', tokens.node(key), ' '];
  }

  // The line above the matrices: first what they show, then the exact numbers.
  function readout(matrices, heads) {
    const {t, numbers, measure} = headwise;
    const node = make('p', {class: 'readout', id: 'readout'});
    let asked = 0;
    const show = (pair, found) => headwise.dom.put(node,
        place(pair, matrices[0].window.pooled, heads[0]),
        found.map(([value, error], n) => [
          found.length > 1 ? ' ' + matrices[n].options.title + ' ' : '',
          otherTokens(pair, heads[n]),
          make('strong', {}, stateText(value, error)),
          error > 0 && !(measure.plain() && numbers.tiny(value)) && make('span', {class: 'quiet'},
              ' ' + t('\u00b1 {0}', numbers.bound(error)))]));
    async function follow() {
      const pair = headwise.pick.active();
      const mine = ++asked;
      if (!pair) {
        headwise.dom.put(node, t('Hover over or tap a cell to read its weight.'));
        return;
      }
      const inside = matrices[0].cellOf(pair);
      // Other measures come with their errors, which need more than the weight.
      if (measure.plain() || !inside) show(pair, drawn(pair, matrices));
      if (matrices[0].window.pooled || !inside) return;
      const found = await known(pair, heads);
      if (mine === asked) show(pair, found);
    }
    headwise.pick.on(follow);
    follow();
    return node;
  }

  async function topList(head, query) {
    const {t, tokens} = headwise;
    const pairs = await headwise.top.list(head, query);
    if (pairs.length === 0) return make('p', {}, t('cell.empty'));
    const largest = Math.abs(pairs[0][1]);
    const full = headwise.measure.plain() ? Math.max(1, largest) : largest || 1;  // of a bar
    return make('ol', {class: 'top'}, pairs.map(([key, weight, error]) => make('li', {},
        make('span', {class: 'top-key'}, key + ' ', tokens.node(head.page.key_tokens[key])),
        make('span', {class: 'bar-box'}, make('span', {
          class: weight < 0 ? 'bar bar-minus' : 'bar', 'aria-hidden': 'true',
          css: {width: Math.max(1, Math.abs(weight) / full * 100) + '%'}})),
        make('span', {class: 'number'}, stateText(weight, error)))));
  }

  function statisticList(pairs) {
    const t = headwise.t;
    return make('dl', {class: 'statistics'}, pairs.map(([name, value, error]) => make('div',
        {title: t('about.' + name)}, make('dt', {}, t('statistic.' + name)),
        make('dd', {}, headwise.numbers.statistic(name, Number.isNaN(value) ? null : value, error)))));
  }

  // The panel of the current query in this head; with the head's name if one is given.
  function panel(head, name) {
    const {t, tokens} = headwise;
    const named = name ? make('span', {class: 'quiet'}, ' ' + name) : null;
    const node = make('section', {class: 'panel', 'aria-label': name ?
      t('Query') + ', ' + name : t('Query')});
    let asked = 0;
    let shown = -1;
    async function follow() {
      const pair = headwise.pick.active();
      if (!pair) {
        shown = -1;
        ++asked;
        headwise.dom.put(node, make('h3', {}, t('Query'), named),
            make('p', {class: 'quiet'}, t('detail.none')));
        return;
      }
      // The texts of two heads may have different lengths.
      if (pair.query === shown || pair.query >= head.page.num_queries) return;
      shown = pair.query;
      const mine = ++asked;
      const [list, statistics, sums] = await Promise.all(
          [topList(head, pair.query), headwise.statistics.ofQuery(head, pair.query),
            headwise.statistics.unevenSums(head)]);
      if (mine !== asked) return;
      headwise.dom.put(node,
          make('h3', {}, t('Query {0}', pair.query), ' ',
              tokens.node(head.page.query_tokens[pair.query]), named),
          sums[pair.query] > 0 && make('p', {class: 'wrong'},
              t('detail.uneven', headwise.numbers.text(sums[pair.query]))),
          statisticList(statistics),
          make('h4', {}, t(headwise.state.get().hide ? 'detail.top_all' : 'Top keys')), list);
    }
    headwise.pick.on(follow);
    follow();
    return node;
  }

  headwise.detail = {readout, panel, sentence, statisticList, stateText};
}
