// Labels along the axes of a matrix: tokens if there is space, otherwise numbers at
// round steps. The tokens of the current pair always have a label.
{
  const ROOM = 12;  // pixels from one label to the next
  const {make} = headwise.dom;

  const SIDES = {query: 'top', key: 'left'};
  const SIGNS = {empty: ' \u2205', uneven: ' \u2260 1', padding: ' \u00b7'};

  // What is shown of a token besides its text.
  function mark(index, name, {mask, sums}) {
    if (name === 'query' && mask && mask.empty[index]) return 'empty';
    if (name === 'query' && sums[index] > 0) return 'uneven';
    if (name === 'key' && mask && !mask.seen()[index]) return 'padding';
    return '';
  }

  function label(axis, name, index, offset, cell, known) {
    const kind = mark(index, name, known);
    return make('span', {
      class: 'label' + (kind ? ' label-' + kind : ''), 'data-index': index,
      title: index + ' ' + headwise.tokens.visible(axis.tokens[index]) +
          (kind ? ` (${headwise.t('label.' + kind, headwise.numbers.text(known.sums[index]))})` : ''),
      css: {[SIDES[name]]: offset + cell / 2 + 'px'},
    }, headwise.tokens.node(axis.tokens[index]), kind && SIGNS[kind]);
  }

  // 1, 2 or 5 times a power of ten, at least this large.
  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * [1, 2, 5, 10].find(factor => factor * power >= least);
  }

  const tick = (name, index, at) =>
      make('span', {class: 'label tick-label', css: {[SIDES[name]]: at + 'px'}}, String(index));

  // A strip of labels: {node, show(index)}; cell = pixels per token; `known`: the mask, and the
  // sums of queries' weights that are not 1.
  function strip(name, axis, first, count, cell, known) {
    const node = make('div', {class: 'labels labels-' + name, 'aria-hidden': 'true'});
    const step = cell >= ROOM ? 1 : roundStep(2 * ROOM / cell);
    for (let n = 0; n < count; ++n) {
      const index = axis.at(first + n);
      if (index % step !== 0) continue;
      node.append(step === 1 ? label(axis, name, index, n * cell, cell, known) :
          tick(name, index, n * cell + cell / 2));
    }
    let extra = null;
    function show(index) {
      if (extra) extra.remove();
      extra = null;
      if (index === null) return;
      const at = axis.place(index, first, count);
      if (at < 0) return;
      extra = label(axis, name, index, at * cell, cell, known);
      extra.classList.add('label-active');
      node.append(extra);
    }
    return {node, show};
  }

  headwise.labels = {strip, roundStep, ROOM};
}
