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
    const canvas = make('canvas', {
      'aria-hidden': 'true', css: {width: width + 'px', height: height + 'px'}});
    const across = part => part / keys * width + 'px';
    const down = part => part / queries * height + 'px';
    const frame = make('span', {class: 'frame', css: {
      left: across(window.column), width: across(window.columns),
      top: down(window.row), height: down(window.rows)}});
    headwise.weights.small(head, headwise.measure.pool()).then(small =>
        headwise.paint.paint(canvas, small, width, height,
            {limit: headwise.paint.limitOf(small) || 1,
             diverging: headwise.measure.signed()}));
    const node = make('div', {
      class: 'minimap', role: 'img', 'aria-label': headwise.t('Whole matrix'),
      title: headwise.t('zoom.minimap_about'), css: {width: width + 'px'},
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
    return make('div', {class: 'minimap-box'},
        make('span', {class: 'quiet', 'aria-hidden': 'true'}, headwise.t('Whole matrix')), node);
  };
}
