// Sorting, filtering and pooling in the overview.
{
  const {make, choice, toggle} = headwise.dom;

  function filterField() {
    const t = headwise.t;
    const {filter} = headwise.state.get();
    const {wrong} = headwise.expression.parse(filter);
    const {statistics} = headwise.page;
    const example = t(statistics.some(({name}) => name === 'previous') ?
      'statistic.previous' : 'statistic.first');
    return make('span', {class: 'field'},
        make('label', {for: 'filter'}, t('grid.filter')),
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
  }

  headwise.filterField = filterField;
  headwise.gridTools = () => {
    const t = headwise.t;
    const {state} = headwise;
    const {sort, descending, pool} = state.get();
    return headwise.fold('fold-grid', t('grid.tools'), make('div',
        {class: 'tools', role: 'group', 'aria-label': t('grid.tools')},
        make('span', {class: 'field'},
            make('label', {for: 'sort'}, t('grid.sort')),
            choice({id: 'sort'}, sort,
                [['', t('grid.by_layer')]].concat(headwise.statistics.choices()),
                value => state.set({sort: value}))),
        sort !== '' && toggle({id: 'descending'}, descending, t('grid.descending'),
            () => state.set({descending: !descending})),
        headwise.measure.tools(), filterField(), headwise.parts.tools(),
        headwise.poolChoice(pool), headwise.fitToggle(), headwise.ownToggle()));
  };

  // Colours end at the largest weight, because most weights are small, or at 1.
  headwise.fitToggle = () => {
    if (!headwise.measure.plain()) return null;
    const {fit} = headwise.state.get();
    return toggle({id: 'fit', title: headwise.t('fit.about')}, fit, headwise.t('fit.label'),
        () => headwise.state.set({fit: !fit}));
  };

  // Norms and gradients differ much in size: each tile may have a scale of its own.
  headwise.ownToggle = () => {
    if (headwise.measure.plain()) return null;
    const {own} = headwise.state.get();
    return toggle({id: 'own', title: headwise.t('own.about')}, own, headwise.t('own.label'),
        () => headwise.state.set({own: !own}));
  };

  // What a pixel shows if it represents many cells.
  headwise.poolChoice = pool => {
    const {t, page} = headwise;
    const [{small}] = headwise.heads.kept.concat({small: null});
    if (headwise.measure.meanOnly() || !small || (small.rows === page.num_queries && small.columns === page.num_keys)) {
      return null;  // every picture shows every cell
    }
    return make('span', {class: 'field'}, make('label', {for: 'pool'}, t('pool.label')),
        choice({id: 'pool'}, pool, [['max', t('pool.max')], ['mean', t('pool.mean')]],
            value => headwise.state.set({pool: value})));
  };
}
