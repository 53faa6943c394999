// What is known of the pair looked at, in words: the cell, the query's statistics
// and the keys that it looks at most.
{
  const {make} = headwise.dom;
  const {MASKED, EMPTY, PENDING} = headwise.mask;

  // "0.132", or why there is no number.
  function stateText(value) {
    const t = headwise.t;
    if (value === undefined) return t('cell.outside');
    if (value === MASKED) return t('cell.masked');
    if (value === EMPTY) return t('cell.empty');
    return value === PENDING ? t('cell.pending') : headwise.numbers.text(value);
  }

  // One sentence, for the live region and the line over the matrix.
  function sentence(pair, values) {
    const {t, tokens, page} = headwise;
    return t('cell.sentence', pair.query, tokens.visible(page.query_tokens[pair.query]),
        pair.key, tokens.visible(page.key_tokens[pair.key]), values.map(stateText).join(', '));
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
        t('pool.' + headwise.state.get().pool)) + ' ';
  }

  // The line over the matrices.
  function readout(matrices, heads) {
    const {t, weights} = headwise;
    const node = make('p', {class: 'readout', id: 'readout'});
    function follow() {
      const pair = headwise.pick.active();
      if (!pair) {
        headwise.dom.put(node, t('cell.none'));
        return;
      }
      headwise.dom.put(node, place(pair, matrices[0].window.pooled, heads[0]),
          matrices.map(matrix => [
            matrices.length > 1 ? ' ' + matrix.options.title + ' ' : '',
            make('strong', {}, stateText(matrix.value(pair)))]),
          make('span', {class: 'quiet'}, ' ' + t(
              weights.divided() ? 'cell.error_before' : 'cell.error',
              headwise.numbers.text(weights.error(heads)))));
    }
    headwise.pick.on(follow);
    follow();
    return node;
  }

  async function topList(head, query) {
    const {t, tokens, page} = headwise;
    const top = await headwise.top.of(head);
    const hidden = headwise.state.get().hide ? new Set(page.key_special) : new Set();
    const pairs = top.of(query).filter(([key]) => !hidden.has(key));
    if (pairs.length === 0) return make('p', {}, t('cell.empty'));
    return make('ol', {class: 'top'}, pairs.map(([key, weight]) => {
      const bar = make('span', {class: 'bar', 'aria-hidden': 'true'});
      bar.style.setProperty('width', Math.max(1, weight * 100) + '%');
      return make('li', {}, make('span', {class: 'top-key'}, key + ' ',
          tokens.node(page.key_tokens[key])),
          make('span', {class: 'bar-box'}, bar),
          make('span', {class: 'number'}, headwise.numbers.text(weight)));
    }));
  }

  function statisticList(pairs) {
    const t = headwise.t;
    return make('dl', {class: 'statistics'}, pairs.map(([name, value]) => make('div',
        {title: t('about.' + name)}, make('dt', {}, t('statistic.' + name)),
        make('dd', {}, headwise.numbers.text(Number.isNaN(value) ? null : value)))));
  }

  // The panel of the query looked at.
  function panel(head) {
    const {t, tokens, page} = headwise;
    const node = make('section', {class: 'panel', 'aria-label': t('detail.title')});
    let asked = 0;
    let shown = -1;
    async function follow() {
      const pair = headwise.pick.active();
      if (!pair) {
        shown = -1;
        ++asked;
        headwise.dom.put(node, make('h3', {}, t('detail.title')),
            make('p', {class: 'quiet'}, t('detail.none')));
        return;
      }
      if (pair.query === shown) return;
      shown = pair.query;
      const mine = ++asked;
      const [list, statistics] = await Promise.all(
          [topList(head, pair.query), headwise.statistics.ofQuery(head, pair.query)]);
      if (mine !== asked) return;
      headwise.dom.put(node,
          make('h3', {}, t('detail.of', pair.query), ' ',
              tokens.node(page.query_tokens[pair.query])),
          statisticList(statistics), make('h4', {}, t('detail.top')), list);
    }
    headwise.pick.on(follow);
    follow();
    return node;
  }

  headwise.detail = {readout, panel, sentence, statisticList, stateText};
}
