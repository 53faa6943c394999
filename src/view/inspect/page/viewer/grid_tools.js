// Sorting, filtering and pooling in the overview.
{
  const {make, field} = headwise.dom;

  headwise.filterField = () => {
    const t = headwise.t;
    const {filter} = headwise.state.get();
    const {wrong} = headwise.expression.parse(filter);
    const {statistics} = headwise.page;
    const example = t(statistics.some(({name}) => name === 'previous') ?
      'statistic.previous' : 'statistic.first');
    return field('filter', t('Show heads where'),
        make('input', {
          id: 'filter', type: 'search', value: filter, size: '22', spellcheck: 'false',
          autocomplete: 'off', placeholder: example + ' > 0.5',
          'aria-invalid': wrong === undefined ? null : 'true',
          'aria-describedby': wrong === undefined ? null : 'filter-wrong',
          onchange: event => headwise.state.set({filter: event.target.value}),
          onsearch: event => headwise.state.set({filter: event.target.value}),
        }),
        wrong !== undefined && make('span', {id: 'filter-wrong', class: 'wrong', role: 'alert'},
            t('grid.filter_wrong', wrong, example)));
  };

  headwise.gridTools = () => {
    const t = headwise.t;
    return headwise.foldTools('fold-grid', t('Sort and filter'),
        headwise.sortTools(t('layer and head')), headwise.measure.tools(), headwise.filterField(),
        headwise.parts.tools(), headwise.poolChoice(), headwise.fitToggle(),
        headwise.ownToggle());
  };

  // Colours end at the largest weight, because most weights are small, or at 1.
  headwise.fitToggle = () => headwise.measure.plain() &&
      headwise.toggler('fit', headwise.t('Fit colours to the data'), headwise.t('fit.about'));

  // Norms and gradients differ much in size: each tile may have a scale of its own.
  headwise.ownToggle = () => !headwise.measure.plain() &&
      headwise.toggler('own', headwise.t('Separate colour scales'), headwise.t('own.about'));

  // What a pixel shows if it represents many cells.
  headwise.poolChoice = () => {
    const {t, page} = headwise;
    const [{small}] = headwise.heads.kept.concat({small: null});
    if (headwise.measure.meanOnly() || !small || (small.rows === page.num_queries && small.columns === page.num_keys)) {
      return null;  // every picture shows every cell
    }
    return headwise.chooser(
        'pool', t('Pool cells by'), [['max', t('pool.max')], ['mean', t('pool.mean')]]);
  };
}
