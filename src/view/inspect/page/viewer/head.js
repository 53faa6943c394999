// One head: matrix and lines, or the matrices of two heads and their difference. The panels
// of the query and of the pair are next to the matrix if there is space.
{
  const {make} = headwise.dom;
  const LARGEST = 640;  // pixels of a matrix
  const LINES = 340 + 24;  // of the lines next to it, with their margin
  const PANELS = 300 + 24; // of the panels next to those
  // Windows up to these widths have the panels below, and the lines too, as in viewer.css.
  const TWO_COLUMNS = 1199;
  const STACKED = 899;
  const ABOVE = 390;    // of everything above it and the labels of its keys
  // In a narrow window: its margins with the labels of the queries, as in viewer.css; the
  // profile on the right of a single matrix.
  const NARROW_LABELS = 108;
  const NARROW_PROFILE = 44;

  // The space for the cells of a matrix if this many are in a row.
  function room(inRow) {
    const wide = document.documentElement.clientWidth;
    if (headwise.narrow()) {
      return Math.max(160, wide - NARROW_LABELS - (inRow === 1 ? NARROW_PROFILE : 0));
    }
    const free = wide - 48;
    const labels = 96 + (inRow === 1 ? 56 : 24);
    const beside = (wide > STACKED ? LINES : 0) + (wide > TWO_COLUMNS ? PANELS : 0);
    const each = inRow > 1 ? free / inRow : free - beside;
    const high = Math.max(360, document.documentElement.clientHeight - ABOVE);
    return Math.max(160, Math.min(LARGEST, high, Math.floor(each - labels)));
  }

  // With what sets its document apart, if heads of two documents are compared.
  function nameOf(head, key = 'head.short') {
    const {documents, state, t, tokens} = headwise;
    const others = state.documents().filter(number => number !== head.document);
    return [t(key, head.layer, head.number), ...others.map(
        other => tokens.isolated(documents.beside(head.document, other)))].join(', ');
  }

  // A single matrix has a corner for the minimap; of two, `title` says which one it is.
  function matrixOf(head, id, title, width, scale, corner) {
    return new headwise.Matrix({
      id, title, corner, scale, page: head.page, room: width, mask: headwise.mask.of(head),
      sums: headwise.statistics.unevenSums(head), caption: title && title + ': ' + nameOf(head),
      label: headwise.measure.word('matrix.label', head.layer, head.number),
      cells: (queries, keys, partly) => headwise.weights.cells(head, queries, keys, {partly}),
      small: () => headwise.weights.small(head, headwise.measure.pool()),
    });
  }

  // A minus B; of one head in two documents, what sets these apart.
  function captionOfDifference(a, b) {
    const {documents, t, tokens} = headwise;
    return a.id === b.id && a.document !== b.document ?
        t('A \u2212 B: {0} minus {1}', tokens.isolated(documents.beside(a.document, b.document)),
            tokens.isolated(documents.beside(b.document, a.document))) :
        t('A \u2212 B: {0} minus {1}', nameOf(a), nameOf(b));
  }

  function differenceOf(a, b, width, scale) {
    const {weights, t} = headwise;
    return new headwise.Matrix({
      scale, page: a.page, id: 'cells-difference', title: 'A \u2212 B',
      caption: captionOfDifference(a, b), room: width, difference: true,
      mask: headwise.mask.of(a), label: t('Difference of the two heads, A minus B'),
      cells: async (queries, keys) => {
        const both = await Promise.all([a, b].map(
            head => weights.cells(head, queries, keys)));
        return weights.difference(...both);
      },
      small: async () => {
        const both = await Promise.all([a, b].map(
            head => weights.small(head, headwise.measure.pool())));
        return {...both[0], values: weights.difference(both[0].values, both[1].values)};
      },
    });
  }

  function figure(matrix, caption) {
    return make('figure', {class: 'figure'},
        caption && make('figcaption', {}, caption), matrix.node);
  }

  // Which queries and keys the window shows.
  function range({window, queries, keys, page}) {
    return headwise.t('zoom.window', queries.at(window.row),
        queries.at(window.row + window.rows - 1), page.num_queries, keys.at(window.column),
        keys.at(window.column + window.columns - 1), page.num_keys);
  }

  // The same of each of these matrices, and how much one pixel represents.
  function windowNote(matrix, ...others) {
    const {t, page, state} = headwise;
    const {window, place} = matrix;
    const parts = [matrix, ...others].map(
        one => (others.length > 0 ? one.options.title + ': ' : '') + range(one));
    const {small} = state.head() || headwise.heads.kept[0];
    if (window.pooled) {
      parts.push(t('zoom.pooled', Math.ceil(page.num_queries / small.rows),
          Math.ceil(page.num_keys / small.columns), t('pool.' + headwise.measure.pool())));
      if (state.get().hide) parts.push(t('Pooled cells still include the special tokens.'));
    } else if (place.x.pooled > 1 || place.y.pooled > 1) {
      parts.push(headwise.measure.word('zoom.pixel', place.y.pooled, place.x.pooled,
          t('pool.' + headwise.measure.pool())));
    }
    if (matrix.tooSmall()) parts.push(t('Click, tap or press Enter to zoom in.'));
    const error = Math.max(...headwise.current.heads.map(head => head.error));
    if (error > 0 && headwise.measure.plain()) parts.push(t('head.error', headwise.numbers.bound(error)));
    return make('p', {class: 'note'}, parts.join(' '));
  }

  // Of the pair and the query; the query in both heads if two are compared.
  const panels = (head, other) => make('div', {class: other ? 'panels panels-both' : 'panels'},
      headwise.elements.panel(head), headwise.detail.panel(head, other && 'A: ' + nameOf(head)),
      other && headwise.detail.panel(other, 'B: ' + nameOf(other)));

  function oneHead(head) {
    const t = headwise.t;
    const {node: legend, scale} = headwise.legend.following(
        limit => headwise.legend.weights([head], limit));
    const zoomed = headwise.zoom.current().size !== headwise.zoom.sizes()[0];
    const matrix = matrixOf(
        head, 'cells', '', room(1), scale, zoomed && headwise.minimap(head));
    const row = new headwise.Profile(matrix, head, 'row');
    const column = new headwise.Profile(matrix, head, 'column');
    const lines = new headwise.Lines(head);
    matrix.load().then(() => matrix.node.append(column.node, row.node));
    lines.load();
    headwise.current = {heads: [head], matrices: [matrix], lines};
    return [
      new headwise.Sentence(head).node,
      headwise.detail.readout([matrix], [head]),
      legend,
      make('div', {class: 'beside'},
          make('div', {class: 'picture'}, figure(matrix, null), windowNote(matrix)),
          make('figure', {class: 'figure figure-lines'}, lines.caption, lines.node),
          panels(head))];
  }

  // What to know of two documents whose tokens differ.
  function tokensNote(a, b) {
    const {documents, t} = headwise;
    const {list} = documents;
    if (list[a.document].same_tokens === list[b.document].same_tokens) return null;
    return make('p', {class: 'note'}, t(documents.sameSizes(a.page, b.page) ?
      'compare.positions' : 'compare.lengths'));
  }

  function twoHeads(a, b) {
    const width = room(3);
    const weights = headwise.legend.following(limit => headwise.legend.weights([a, b], limit));
    const difference = headwise.legend.following(
        limit => headwise.legend.difference('A', 'B', limit));
    const matrices = [matrixOf(a, 'cells', 'A', width, weights.scale),
      matrixOf(b, 'cells-b', 'B', width, weights.scale)];
    const same = headwise.documents.sameSizes(a.page, b.page);
    if (same) matrices.push(differenceOf(a, b, width, difference.scale));
    for (const matrix of matrices) matrix.load();
    headwise.current = {heads: [a, b], matrices, lines: null};
    return [
      headwise.detail.readout(matrices, [a, b]),
      weights.node, same && difference.node,
      make('div', {class: 'figures'},
          matrices.map(matrix => figure(matrix, matrix.options.caption))),
      tokensNote(a, b),
      windowNote(matrices[0], ...(same ? [] : [matrices[1]])),
      panels(a, b)];
  }

  // Of the head; of both, with their names, if two are compared.
  function statistics(head, other) {
    const listOf = one => headwise.detail.statisticList(one.page.statistics.map(
        ({name}) => [name, headwise.grid.value(one, name)]));
    if (!other) return listOf(head);
    return make('div', {class: 'of-both'}, [['A', head], ['B', other]].map(
        ([letter, one]) => [make('strong', {}, letter, make('span', {class: 'hidden'},
            ': ' + nameOf(one))), listOf(one)]));
  }

  function header(head, other) {
    const {t, heads, page} = headwise;
    const group = heads.group(head);
    return make('div', {class: 'headline'},
      make('h2', {id: 'view-title', tabindex: '-1'}, t('head.name', head.layer, head.number)),
      make('p', {class: 'note about-head'}, headwise.parts.note(),
          group.length > 1 && t('head.group_of', head.kv_head,
              group.map(other => other.number).join(', ')) + ' ',
          t('Mask: {0}.', headwise.mask.nameOf(head)), ' ',
          head.empty_rows > 0 && t('Fully masked rows: {0}', head.empty_rows) + '. ',
          head.uneven_rows > 0 &&
            t('head.uneven', head.uneven_rows, headwise.numbers.text(head.farthest_sum)) + ' ',
          page.query_start !== 0 && t('head.query_start', page.query_start) + ' ',
          head.t5 ? t('T5 relative-position bias.') + ' ' : null,
          head.alibi ? t('ALiBi slope {0}.', headwise.numbers.text(head.alibi)) + ' ' : null,
          Number.isFinite(head.sink) ?
            t('Sink {0}; rows sum to less than 1.', headwise.numbers.text(head.sink)) + ' ' : null),
      statistics(head, other));
  }

  function body(head, other) {
    if (headwise.state.get().table) {
      return [headwise.tables.head(head, other), panels(head, other)];
    }
    return other ? twoHeads(head, other) : oneHead(head);
  }

  function view() {
    const {state, t} = headwise;
    const head = state.head();
    headwise.tiles.forgetWaiting();
    headwise.current = {heads: [], matrices: [], lines: null};
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'},
        header(head, state.compared()), headwise.headTools(head), headwise.measure.note(),
        make('p', {id: 'cells-help', class: 'hidden'}, t('matrix.help')),
        body(head, state.compared()));
  }

  headwise.headView = view;
  headwise.headName = nameOf;
}
