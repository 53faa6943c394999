// Every head as a point, placed by two statistics: of the current document, or the means
// over all of them.
{
  const {make, makeSvg, colour, svgText: text} = headwise.dom;
  const WIDEST = 1400;  // pixels
  const TALLEST = 560;
  const PICTURE = [760, 480];  // of a file
  const LEFT = 56;     // of the points: numbers and names of the axes
  const BOTTOM = 44;
  const MARGIN = 14;
  const RADIUS = 8;
  const TICKS = 5;

  // The statistics of the two axes.
  function names() {
    const {x, y} = headwise.state.get();
    const known = headwise.statistics.ofHeads();
    return [x || known[0], y || known[1]];
  }

  const value = (head, name) => headwise.state.get().average ?
    headwise.texts.mean(head, name) : headwise.grid.value(head, name);

  // [{head, at: [x, y]}], without heads that lack one of the two.
  function points() {
    const axes = names();
    return headwise.grid.chosenHeads().filter(head => !head.pruned)
        .map(head => ({head, at: axes.map(name => value(head, name))}))
        .filter(({at}) => at.every(one => one !== null));
  }

  // Round ticks that span these values.
  function ticks(values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const step = headwise.labels.roundStep((high - low || Math.abs(high) || 1) / TICKS);
    const first = Math.floor(low / step + 1e-9);
    const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
    return Array.from({length: last - first + 1}, (_, n) => (first + n) * step);
  }

  function layerColour(layer) {
    const {layers} = headwise.page;
    const {shades} = headwise.palette.get(false);
    const at = layers.findIndex(({number}) => number === layer) / Math.max(1, layers.length - 1);
    return shades[Math.round(at * (shades.length - 1))];
  }

  const written = tick => String(Number(tick.toPrecision(6)));

  // Lines, numbers and names of both axes; `place` turns values into pixels.
  function frame(width, height, all, place) {
    const {t} = headwise;
    const [x, y] = names().map(name => t('statistic.' + name));
    const rule = {stroke: colour('--rule'), 'stroke-width': 1};
    const right = width - MARGIN;
    const bottom = height - BOTTOM;
    return [all[0].map(tick => [
      makeSvg('line', {x1: place[0](tick), x2: place[0](tick), y1: MARGIN, y2: bottom, ...rule}),
      text(place[0](tick), bottom + 16, written(tick), {'text-anchor': 'middle'})]),
    all[1].map(tick => [
      makeSvg('line', {x1: LEFT, x2: right, y1: place[1](tick), y2: place[1](tick), ...rule}),
      text(LEFT - 8, place[1](tick) + 4, written(tick), {'text-anchor': 'end'})]),
    text((LEFT + right) / 2, height - 8, x, {'text-anchor': 'middle', 'font-weight': 'bold'}),
    text(0, 0, y, {'text-anchor': 'middle', 'font-weight': 'bold',
                   transform: `translate(12 ${bottom / 2}) rotate(-90)`})];
  }

  function described({head, at}) {
    const {t, numbers} = headwise;
    return t('head.name', head.layer, head.number) + ': ' + names().map((name, n) =>
        t('statistic.' + name) + ' ' + numbers.statistic(name, at[n])).join(', ');
  }

  function point(one, [x, y], current) {
    const fill = layerColour(one.head.layer);
    return makeSvg('g', {
      class: 'point', id: 'point-' + one.head.id.replace('.', '-'), role: 'button',
      tabindex: current ? '0' : '-1', 'aria-label': described(one),
      'data-head': one.head.id,
      'data-name': headwise.t('head.short', one.head.layer, one.head.number),
      onclick: () => headwise.grid.open(one.head),
    }, makeSvg('title', {}, described(one)),
    makeSvg('circle', {cx: x, cy: y, r: RADIUS, fill: `rgb(${fill.join(',')})`,
                       stroke: colour('--ink'), 'stroke-width': 0.75}),
    text(x, y + 3.5, String(one.head.layer), {
      'font-size': 9, 'text-anchor': 'middle', 'aria-hidden': 'true',
      fill: headwise.palette.inkOn(fill)}));
  }

  function plot(list, width, height) {
    const {layer, head} = headwise.state.get();
    const all = [0, 1].map(axis => ticks(list.map(({at}) => at[axis])));
    const part = (values, at) =>
      (at - values[0]) / (values[values.length - 1] - values[0]);
    const place = [
      at => LEFT + RADIUS + part(all[0], at) * (width - MARGIN - LEFT - 2 * RADIUS),
      at => height - BOTTOM - RADIUS - part(all[1], at) * (height - BOTTOM - MARGIN - 2 * RADIUS)];
    const nodes = list.map(one => point(one, one.at.map((at, axis) => place[axis](at)),
        one.head.layer === layer && one.head.number === head));
    return makeSvg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, class: 'scatter',
                           role: 'group', 'aria-label': headwise.t('Heads by two statistics')},
    frame(width, height, all, place), nodes);
  }

  // While a point is pointed at or has the focus: its outline, and next to it which head it is,
  // above all points.
  function nameOnTop(svg, width) {
    const name = text(0, 0, '', {class: 'point-name', 'aria-hidden': 'true'});
    const ring = makeSvg('circle', {class: 'point-ring', r: RADIUS, visibility: 'hidden'});
    svg.append(ring, name);
    const show = point => {
      name.textContent = point ? point.dataset.name : '';
      ring.setAttribute('visibility', point ? 'visible' : 'hidden');
      if (!point) return;
      const circle = point.querySelector('circle');
      const [x, y] = ['cx', 'cy'].map(at => Number(circle.getAttribute(at)));
      ring.setAttribute('cx', x);
      ring.setAttribute('cy', y);
      const left = x > width / 2;
      name.setAttribute('x', left ? x - RADIUS - 5 : x + RADIUS + 5);
      name.setAttribute('y', y + 4);
      name.setAttribute('text-anchor', left ? 'end' : 'start');
    };
    const focused = () => svg.querySelector('.point:focus');
    svg.addEventListener('focusin', ({target}) => show(target.closest('.point')));
    svg.addEventListener('focusout', () => show(null));
    svg.addEventListener('pointerover', ({target}) => show(target.closest('.point') || focused()));
    svg.addEventListener('pointerleave', () => show(focused()));
  }

  // The nearest point in the direction of an arrow key.
  function beside(nodes, from, key) {
    const middle = node => {
      const box = node.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    };
    const [x, y] = middle(from);
    const [right, down] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
                           ArrowDown: [0, 1]}[key];
    let best = null;
    let least = Infinity;
    for (const node of nodes) {
      const [dx, dy] = [middle(node)[0] - x, middle(node)[1] - y];
      const along = dx * right + dy * down;
      const far = along + 3 * Math.abs(dx * down - dy * right);
      if (node !== from && along > 0 && far < least) [best, least] = [node, far];
    }
    return best;
  }

  function moveByKeys(svg) {
    const nodes = [...svg.querySelectorAll('.point')];
    if (nodes.length > 0 && !nodes.some(node => node.getAttribute('tabindex') === '0')) {
      nodes[0].setAttribute('tabindex', '0');
    }
    svg.addEventListener('keydown', event => {
      const from = event.target.closest('.point');
      if (!from || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        from.dispatchEvent(new MouseEvent('click', {bubbles: true}));
      }
      if (!/^Arrow(Left|Right|Up|Down)$/.test(event.key)) return;
      event.preventDefault();
      const next = beside(nodes, from, event.key);
      if (!next) return;
      for (const node of nodes) node.setAttribute('tabindex', node === next ? '0' : '-1');
      next.focus();
    });
  }

  function tools() {
    const {t, documents} = headwise;
    const axis = (name, value) => headwise.chooser(name, t('scatter.' + name),
        headwise.statistics.choices(), {id: 'scatter-' + name, value});
    const [x, y] = names();
    return headwise.foldTools('fold-scatter', t('Axes and filter'), axis('x', x), axis('y', y),
        documents.several && headwise.toggler('average', t('Mean over all texts')),
        headwise.filterField());
  }

  function table(list) {
    const {t, numbers} = headwise;
    return headwise.tables.table(t('Heads by two statistics'),
        [t('head'), ...names().map(name => t('statistic.' + name))],
        list.map(({head, at}) => [
          headwise.tables.headLink(head, () => headwise.grid.open(head)),
          ...at.map((value, n) => numbers.statistic(names()[n], value))]), null, true);
  }

  function figure(list) {
    const width = Math.min(WIDEST, document.documentElement.clientWidth - 40);
    const svg = plot(list, width, Math.max(300, Math.min(TALLEST, Math.round(width * 0.65))));
    moveByKeys(svg);
    nameOnTop(svg, width);
    return svg;
  }

  function view() {
    const {t, state} = headwise;
    const list = points();
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'},
        make('h2', {id: 'view-title', tabindex: '-1'}, t('Heads by two statistics')),
        tools(),
        make('p', {class: 'note', id: 'scatter-note'},
            t('grid.count', list.length, headwise.heads.kept.length), ' ',
            t('scatter.about'), ' ', state.get().average && t('Means over all texts.')),
        list.length > 0 && (state.get().table ? table(list) : figure(list)));
  }

  // For files.
  function data() {
    return {header: ['layer', 'head', ...names()],
            rows: points().map(({head, at}) => [head.layer, head.number, ...at])};
  }

  headwise.scatter = {view, data, picture: () => plot(points(), ...PICTURE)};
}
