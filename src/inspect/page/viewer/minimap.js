// Where the window is in the whole matrix.
{
  const {make} = headwise.dom;
  const SIDE = 44;  // with its name, as high as the labels of the keys

  headwise.minimap = head => {
    const window = headwise.zoom.current();
    const queries = headwise.axes.queries().size;
    const keys = headwise.axes.keys().size;
    const longer = Math.max(queries, keys);
    const width = Math.max(12, SIDE * keys / longer);
    const height = Math.max(12, SIDE * queries / longer);
    const canvas = make('canvas', {'aria-hidden': 'true'});
    canvas.style.setProperty('width', width + 'px');
    canvas.style.setProperty('height', height + 'px');
    const frame = make('span', {class: 'frame'});
    for (const [name, part, all, length] of [
      ['left', window.column, keys, width], ['width', window.columns, keys, width],
      ['top', window.row, queries, height], ['height', window.rows, queries, height]]) {
      frame.style.setProperty(name, part / all * length + 'px');
    }
    headwise.weights.small(head, headwise.measure.pool()).then(small =>
        headwise.paint.paint(canvas, small, width, height,
            {limit: headwise.paint.limitOf(small) || 1,
             diverging: headwise.measure.signed()}));
    const node = make('div', {
      class: 'minimap', role: 'img', 'aria-label': headwise.t('zoom.minimap'),
      title: headwise.t('zoom.minimap_about'),
      onclick: event => {
        const box = canvas.getBoundingClientRect();
        const part = (offset, length, axis) => axis.at(Math.max(0, Math.min(axis.size - 1,
            Math.floor(offset / length * axis.size))));
        headwise.zoom.to(window.size, {
          query: part(event.clientY - box.top, box.height, headwise.axes.queries()),
          key: part(event.clientX - box.left, box.width, headwise.axes.keys()),
        });
      },
    }, canvas, frame);
    node.style.setProperty('width', width + 'px');
    return make('div', {class: 'minimap-box'},
        make('span', {class: 'quiet', 'aria-hidden': 'true'}, headwise.t('zoom.minimap')), node);
  };
}
