// Token labels along the axes of a matrix. Only those that have room are made;
// the ones of the pair looked at always are.
{
  const ROOM = 12;  // pixels from one label to the next
  const {make} = headwise.dom;

  // What is said of a token beside its text.
  function mark(index, name, mask) {
    if (name === 'query' && mask && mask.empty[index]) return 'empty';
    if (name === 'key' && mask && !mask.seen()[index]) return 'padding';
    return '';
  }

  function label(axis, name, index, offset, cell, mask) {
    const kind = mark(index, name, mask);
    const node = make('span', {
      class: 'label' + (kind ? ' label-' + kind : ''), 'data-index': index,
      title: index + ' ' + headwise.tokens.visible(axis.tokens[index]) +
          (kind ? ' (' + headwise.t('label.' + kind) + ')' : ''),
    }, headwise.tokens.node(axis.tokens[index]),
       kind === 'empty' ? ' \u2205' : kind === 'padding' ? ' \u00b7' : null);
    node.style.setProperty(name === 'query' ? 'top' : 'left', offset + cell / 2 + 'px');
    return node;
  }

  // A strip of labels: {node, show(index)}; cell = pixels a token.
  function strip(name, axis, first, count, cell, mask) {
    const node = make('div', {class: 'labels labels-' + name, 'aria-hidden': 'true'});
    const every = Math.max(1, Math.ceil(ROOM / cell));
    for (let n = 0; n < count; n += every) {
      node.append(label(axis, name, axis.at(first + n), n * cell, cell, mask));
    }
    let extra = null;
    function show(index) {
      if (extra) extra.remove();
      extra = null;
      if (index === null) return;
      const at = axis.find(index) - first;
      if (at < 0 || at >= count || axis.at(at + first) !== index) return;
      extra = label(axis, name, index, at * cell, cell, mask);
      extra.classList.add('label-active');
      node.append(extra);
    }
    return {node, show};
  }

  headwise.labels = {strip};
}
