// The steps of the forward pass with their shapes.
{
  const {make} = headwise.dom;

  function shape(step) {
    return step.axes.map((axis, n) => axis + ' ' + step.shape[n]).join(' \u00d7 ') ||
        headwise.t('scalar');
  }

  const columns = () => ['step', 'layer', 'formula', 'shape',
    'min', 'max', 'NaN/infinite count'].map(name => headwise.t(name));

  // In the page's language, as "hidden" has words in it.
  function formula({step, layer, formula: text}) {
    if (step !== 'hidden') return headwise.tokens.visible(text);
    return layer > 0 ? headwise.t('trace.hidden', layer - 1) : headwise.t('trace.hidden_first');
  }

  function cells(step) {
    const n = headwise.numbers.text;
    const {visible} = headwise.tokens;
    return [visible(step.step), step.layer === null ? '\u2013' : String(step.layer),
      formula(step),
      shape(step), n(step.min), n(step.max), String(step.not_finite)];
  }

  function view() {
    const {t, page} = headwise;
    const title = make('h2', {id: 'view-title', tabindex: '-1'}, t('Steps of the forward pass'));
    if (page.trace.length === 0) {
      return make('section', {class: 'view'}, title, make('p', {}, t('This page has no steps.')));
    }
    const rows = page.trace.map(step => make('tr',
        {class: step.not_finite > 0 ? 'alarm' : null},
        cells(step).map((text, n) => make(n === 0 ? 'th' : 'td', {
          scope: n === 0 ? 'row' : null, class: n > 3 ? 'number' : n === 2 ? 'formula' : null,
        }, n === 6 && step.not_finite > 0 ? '\u26a0 ' + text : text))));
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'}, title,
        make('p', {class: 'note'}, t('trace.axes')),
        headwise.tables.scrolled(t('Steps of the forward pass'), make('table', {},
            make('caption', {class: 'hidden'}, t('Steps of the forward pass')),
            make('thead', {}, make('tr', {}, columns().map((name, n) =>
                make('th', {scope: 'col', class: n > 3 ? 'number' : null}, name)))),
            make('tbody', {}, rows)), true));
  }

  headwise.trace = {view, columns, cells};
}
