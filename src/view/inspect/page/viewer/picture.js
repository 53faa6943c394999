// The current view as one self-contained SVG; a PNG is drawn from it.
{
  const {makeSvg, colour, svgText: text, FONT} = headwise.dom;
  const {isPattern, MASKED, EMPTY} = headwise.mask;
  const MOST_RECTANGLES = 4096;

  function patterns() {
    const {patternText} = headwise.palette.get(false);
    return makeSvg('defs', {}, ['masked', 'empty'].map(kind => makeSvg('pattern',
        {id: kind, width: 6, height: 6, patternUnits: 'userSpaceOnUse'},
        makeSvg('rect', {width: 6, height: 6, fill: patternText[kind][0]}),
        makeSvg('path', {d: kind === 'masked' ? 'M0 6L6 0' : 'M0 6L6 0M0 0L6 6',
                         stroke: patternText[kind][1]}))));
  }

  // Cells as rectangles if there are few, otherwise as an image.
  function cells(matrix, x, y) {
    const {grid, place, canvas} = matrix;
    const [width, height] = [place.x.length, place.y.length];
    if (grid.rows * grid.columns > MOST_RECTANGLES) {
      return makeSvg('image', {x, y, width, height, href: canvas.toDataURL('image/png')});
    }
    const palette = headwise.palette.get(matrix.look().diverging);
    const group = makeSvg('g', {'shape-rendering': 'crispEdges'});
    grid.values.forEach((value, n) => {
      const fill = value === EMPTY ? 'url(#empty)' : isPattern(value) ? 'url(#masked)' :
          'rgb(' + palette.shades[palette.index(value, matrix.look().limit)].join(',') + ')';
      group.append(makeSvg('rect', {
        x: x + n % grid.columns * width / grid.columns,
        y: y + Math.floor(n / grid.columns) * height / grid.rows,
        width: width / grid.columns, height: height / grid.rows, fill}));
    });
    return group;
  }

  // The labels that are next to it on the page.
  function labels(matrix, x, y) {
    const {window, place, page, queries, keys} = matrix;
    const {tokens} = headwise;
    const {ROOM, roundStep} = headwise.labels;
    const group = makeSvg('g', {});
    const add = (axis, names, first, count, length, put) => {
      const cell = length / count;
      const step = cell >= ROOM ? 1 : roundStep(2 * ROOM / cell);
      for (let n = 0; n < count; ++n) {
        const index = axis.at(first + n);
        if (index % step !== 0) continue;
        group.append(put((n + 0.5) * cell,
            step === 1 ? tokens.short(names[index]) : String(index)));
      }
    };
    const isolated = {direction: 'ltr', 'unicode-bidi': 'isolate'};
    add(queries, page.query_tokens, window.row, window.rows, place.y.length,
        (at, words) => text(x - 5, y + at + 4, words, {'text-anchor': 'end', ...isolated}));
    add(keys, page.key_tokens, window.column, window.columns, place.x.length,
        (at, words) => text(0, 0, words,
            {transform: `translate(${x + at + 4} ${y - 5}) rotate(-90)`, ...isolated}));
    return group;
  }

  // The lines as they are drawn, with their colours as attributes.
  function linesPart(lines, x, y) {
    const copy = lines.svg.cloneNode(true);
    copy.setAttribute('x', x);
    copy.setAttribute('y', y);
    for (const path of copy.querySelectorAll('path')) {
      path.setAttribute('stroke',
          colour(path.classList.contains('line-minus') ? '--minus' : '--accent'));
    }
    for (const words of copy.querySelectorAll('text')) {
      words.setAttribute('fill', colour('--ink'));
      words.setAttribute('font-family', FONT);
      words.setAttribute('font-size', '12');
    }
    return copy;
  }

  // ---- The legend. ----

  const SCALE = 34;  // pixels from one line of the legend to the next
  const LEGEND_WIDTH = 960;
  const SHADES = 50;  // rectangles per scale

  // Words, the scale with its ticks, and more words.
  function scale(y, before, diverging, limit, after) {
    const {WIDTH, ticks} = headwise.legend;
    const {shades} = headwise.palette.get(diverging);
    const left = 150;
    const part = WIDTH / SHADES;
    const colours = Array.from({length: SHADES}, (_, n) => makeSvg('rect', {
      x: left + n * part, y, width: part + 0.5, height: 10,
      fill: 'rgb(' + shades[Math.round(n / (SHADES - 1) * (shades.length - 1))].join(',') + ')',
    }));
    return makeSvg('g', {class: 'legend'}, text(16, y + 9, before), colours,
        ticks(diverging, limit).map(([place, words]) => text(left + place * WIDTH, y + 21, words,
            {'font-size': 9, 'text-anchor': 'middle'})),
        text(left + WIDTH + 16, y + 9, after));
  }

  function patternKeys(y, kinds) {
    return kinds.map((kind, n) => [
      makeSvg('rect', {x: 16 + n * 180, y, width: 18, height: 12, fill: `url(#${kind})`,
                       stroke: colour('--rule')}),
      text(40 + n * 180, y + 10, headwise.t('legend.' + kind))]);
  }

  // -> {parts, height}: the scales, one below another, the patterns that `heads` have, and
  // what rows and columns are.
  async function legend(y, scales, heads, sentence = headwise.t('axis.sentence')) {
    const kinds = await headwise.legend.patterns(heads);
    const parts = scales.map((one, n) => scale(y + n * SCALE, ...one));
    let height = scales.length * SCALE;
    if (kinds.length > 0) {
      parts.push(patternKeys(y + height, kinds));
      height += 20;
    }
    parts.push(text(16, y + height + 12, sentence));
    return {parts, height: height + 24};
  }

  function page(width, height, title, parts) {
    return makeSvg('svg', {xmlns: 'http://www.w3.org/2000/svg', width, height,
                           viewBox: `0 0 ${width} ${height}`},
        makeSvg('title', {}, title), patterns(),
        makeSvg('rect', {width, height, fill: colour('--paper')}),
        text(16, 24, title, {'font-size': 14, 'font-weight': 'bold'}), parts);
  }

  // What a matrix's colours mean, as scale() takes it.
  function scaleOf(matrix) {
    const {legend, t} = headwise;
    const {limit} = matrix.look();
    return matrix.options.difference ?
      [t('{0} larger', 'B'), true, limit, t('{0} larger', 'A')] : legend.row(limit);
  }

  async function headPicture() {
    const {current} = headwise;
    let x = 16;
    let tallest = 0;
    const parts = [];
    for (const matrix of current.matrices.filter(one => one.grid)) {
      parts.push(text(x + 96, 46, matrix.options.caption), labels(matrix, x + 96, 130),
          cells(matrix, x + 96, 130));
      tallest = Math.max(tallest, matrix.place.y.length + 150);
      x += 96 + matrix.place.x.length + 24;
    }
    if (current.lines && current.lines.svg) {
      parts.push(text(x + 16, 46, current.lines.caption.textContent, {'font-size': 10}),
          linesPart(current.lines, x, 56));
      x += 400;
      tallest = Math.max(tallest, Number(current.lines.svg.getAttribute('height')) + 70);
    }
    const [first, , difference] = current.matrices;
    const found = await legend(tallest + 12,
        [first, difference].filter(Boolean).map(scaleOf), current.heads);
    const names = current.heads.map(head => headwise.headName(head, 'head.name'));
    return page(Math.max(x + 16, LEGEND_WIDTH), tallest + 12 + found.height,
        [current.heads.length === 1 ? titleOfDocument() : visibleTitle(), ...names].join(' \u00b7 '),
        [parts, found.parts]);
  }

  const visibleTitle = () => headwise.tokens.visible(headwise.file.title);

  // With what sets the document apart.
  function titleOfDocument() {
    const {documents, state, tokens} = headwise;
    return documents.several ? visibleTitle() + ' \u00b7 ' + tokens.short(
        documents.about(documents.list[state.get().document]), 60) : visibleTitle();
  }

  // Draws the thumbnails of heads, none of those that were pruned: {canvases, limit}, where their
  // colours end, null if each has its own scale. `headOf` finds the head of one of the list.
  async function thumbnails(list, headOf) {
    const scale = headwise.measure.own() ? undefined : new headwise.Scale();
    const canvases = [];
    const tiles = [];
    for (const one of list) {
      const head = await headOf(one);
      const canvas = head.pruned ? null : headwise.dom.make('canvas');
      if (canvas) tiles.push(await headwise.grid.thumbnail(canvas, head, scale));
      canvases.push(canvas);
    }
    if (scale) scale.show(tiles); else for (const tile of tiles) tile.scale.show([tile]);
    return {canvases, limit: scale ? scale.limit || 1 : null};
  }

  const TILE = [100, 116];  // pixels from one thumbnail to the next

  function thumbnail(canvas, column, row, top, name) {
    const [x, y] = [16 + column * TILE[0], top + row * TILE[1]];
    return makeSvg('g', {}, canvas ?
      makeSvg('image', {x, y, width: 90, height: 90, href: canvas.toDataURL('image/png')}) :
      [makeSvg('rect', {x, y, width: 90, height: 90, fill: 'url(#masked)'}),
        text(x + 20, y + 48, headwise.t('pruned'))], text(x, y + 104, name));
  }

  async function gridPicture() {
    const {t, page: {layers}} = headwise;
    const heads = headwise.grid.chosenHeads();
    const byLayer = headwise.state.get().sort === '';
    const wide = byLayer ? Math.max(1, ...layers.map(layer => layer.heads.length)) : 12;
    const {canvases, limit} = await thumbnails(heads, head => head);
    const found = await legend(
        44, [headwise.legend.row(limit)], heads.filter(head => !head.pruned));
    const top = 52 + found.height;
    const lines = new Map(layers.map((layer, n) => [layer.number, n]));
    let last = 0;
    const parts = heads.map((head, n) => {
      const row = byLayer ? lines.get(head.layer) : Math.floor(n / wide);
      const column = byLayer ? layers[row].heads.findIndex(one => one.number === head.number) :
        n % wide;
      last = Math.max(last, row);
      return thumbnail(canvases[n], column, row, top, t('head.short', head.layer, head.number));
    });
    return page(Math.max(32 + wide * TILE[0], LEGEND_WIDTH), top + (last + 1) * TILE[1],
        titleOfDocument(), [found.parts, parts]);
  }

  // One head in all documents.
  async function textsPicture() {
    const {t, state, documents, texts} = headwise;
    const head = state.head();
    const list = texts.ordered(head);
    const wide = Math.floor((LEGEND_WIDTH - 32) / TILE[0]);
    const {canvases, limit} = await thumbnails(list, async ({number}) =>
      (await documents.visit(number)).heads.find(head.layer, head.number));
    const found = await legend(44, [headwise.legend.row(limit)], []);
    const top = 52 + found.height;
    const parts = list.map(({number}, n) => thumbnail(
        canvases[n], n % wide, Math.floor(n / wide), top, documents.label(number)));
    return page(LEGEND_WIDTH, top + Math.ceil(list.length / wide) * TILE[1],
        visibleTitle() + ' \u00b7 ' + t('texts.title', head.layer, head.number),
        [found.parts, parts]);
  }

  function scatterPicture() {
    const {t, scatter} = headwise;
    const svg = scatter.picture();
    const [width, height] = ['width', 'height'].map(name => Number(svg.getAttribute(name)));
    svg.setAttribute('x', 16);
    svg.setAttribute('y', 40);
    return page(width + 32, height + 72, visibleTitle() + ' \u00b7 ' + t('Heads by two statistics'),
        [svg, text(16, height + 60, t('scatter.about'))]);
  }

  async function throughPicture() {
    const {parts, height, title, scale: shares} = await headwise.through.picture(
        LEGEND_WIDTH - 32);
    const moved = makeSvg('g', {transform: 'translate(16 62)'}, parts);
    const found = await legend(height + 76, [shares], [], '');
    return page(LEGEND_WIDTH, height + 76 + found.height, visibleTitle(),
        [text(16, 46, title), moved, found.parts]);
  }

  function tracePicture() {
    const rows = [headwise.trace.columns(), ...headwise.page.trace.map(headwise.trace.cells)];
    const at = [16, 150, 200, 430, 640, 720, 800];
    return page(900, 60 + rows.length * 18, visibleTitle(), rows.map((row, r) =>
        row.map((words, c) => text(at[c], 52 + r * 18, words,
            r === 0 ? {'font-weight': 'bold'} : {}))));
  }

  async function svg() {
    const {view, table} = headwise.state.get();
    if (['head', 'through'].includes(view) && table || view === 'changes') return null;  // a table
    const pictures = {grid: gridPicture, scatter: scatterPicture, head: headPicture,
                      texts: textsPicture, through: throughPicture, trace: tracePicture};
    const made = await pictures[view]();
    return new XMLSerializer().serializeToString(made);
  }

  async function png() {
    const source = await svg();
    if (source === null) return null;
    const address = URL.createObjectURL(new Blob([source], {type: 'image/svg+xml'}));
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = headwise.dom.make('canvas', {width: image.width * 2,
                                                height: image.height * 2});
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    return new Promise(done => canvas.toBlob(done, 'image/png'));
  }

  headwise.picture = {svg, png};
}
