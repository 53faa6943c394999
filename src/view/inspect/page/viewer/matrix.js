// One matrix of queries x keys: cells, token labels, crosshair, edge of the mask.
{
  const {make, colour} = headwise.dom;
  const LARGEST_CELL = 40;

  // Pixels and pooling along one axis: `count` cells in `room` pixels.
  function fit(count, room) {
    const cell = Math.min(LARGEST_CELL, Math.floor(room / count));
    if (cell >= 1) return {cell, pooled: 1, length: cell * count};
    const pooled = Math.ceil(count / room);
    return {cell: 1 / pooled, pooled, length: Math.ceil(count / pooled)};
  }

  // Pixels of the window; a matrix of few rows gets cells taller than wide.
  function layout(window, room) {
    let x = fit(window.columns, room);
    let y = fit(window.rows, room);
    const across = Math.min(y.cell, Math.max(x.cell, 18));
    const up = Math.min(x.cell, Math.max(y.cell, 18));
    if (y.cell > x.cell) y = fit(window.rows, Math.max(window.rows * across, 1));
    else if (x.cell > y.cell) x = fit(window.columns, Math.max(window.columns * up, 1));
    return {x, y};
  }

  // The cells of the pooled map in the window, one per pixel.
  function sampled(small, page, window, place) {
    const queries = headwise.axes.queries(page);
    const keys = headwise.axes.keys(page);
    const {num_queries: allQueries, num_keys: allKeys} = page;
    const rows = place.y.length;
    const columns = place.x.length;
    const values = new Float32Array(rows * columns);
    const columnOf = Int32Array.from({length: columns}, (_, x) => Math.floor(
        keys.at(window.column + Math.floor(x * window.columns / columns)) *
        small.columns / allKeys));
    for (let y = 0; y < rows; ++y) {
      const query = queries.at(window.row + Math.floor(y * window.rows / rows));
      const row = Math.floor(query * small.rows / allQueries);
      for (let x = 0; x < columns; ++x) {
        values[y * columns + x] = small.values[row * small.columns + columnOf[x]];
      }
    }
    return {rows, columns, values};
  }

  // A line over the cells, where the visible keys of each row begin and end.
  function drawEdge(context, mask, page, window, place) {
    if (!mask.hasEdge()) return;
    const queries = headwise.axes.queries(page);
    const keys = headwise.axes.keys(page);
    context.strokeStyle = colour('--edge');
    context.lineWidth = 1.5;
    const step = place.y.length / window.rows;
    const inside = index => index >= page.num_keys ? keys.size : keys.find(index);
    for (const side of ['begin', 'end']) {
      context.beginPath();
      for (let r = 0; r < window.rows; ++r) {
        const query = queries.at(window.row + r);
        if (mask.empty[query]) {
          context.moveTo(-2, (r + 1) * step);
          continue;
        }
        const at = inside(mask[side](query)) - window.column;
        const x = Math.max(-2, Math.min(window.columns + 2, at)) *
            place.x.length / window.columns;
        context.lineTo(x, r * step);
        context.lineTo(x, (r + 1) * step);
      }
      context.stroke();
    }
  }

  // The end of the colours, which pictures shown together share.
  class Scale {
    // `drawn(limit)` is called when the end changes.
    constructor(drawn = () => {}) {
      this.limit = headwise.measure.fitted() ? 0 : 1;
      this.pictures = new Set();
      this.drawn = drawn;
    }

    // Paints pictures, each {limit, paint()}; all earlier ones, too, if this changes their end.
    show(pictures) {
      for (const one of pictures) this.pictures.add(one);
      const limit = Math.max(...pictures.map(one => one.limit));
      const changed = limit > this.limit;
      if (changed) {
        this.limit = limit;
        this.drawn(limit);
      }
      for (const one of changed ? this.pictures : pictures) one.paint();
    }
  }

  class Matrix {
    // options: page (its document), id, title, caption (of its figure), label, room (pixels),
    // difference, cells(queries, keys, partly), small(), mask and sums (Promises), corner (its
    // contents), scale (a Scale).
    constructor(options) {
      this.options = options;
      this.page = options.page;
      this.queries = headwise.axes.queries(this.page);
      this.keys = headwise.axes.keys(this.page);
      this.window = headwise.zoom.current(this.page);
      this.place = layout(this.window, options.room);
      this.raw = null;  // the window's values, row by row; null if it is pooled
      const css = {width: this.place.x.length + 'px', height: this.place.y.length + 'px'};
      this.canvas = make('canvas', {'aria-hidden': 'true', css});
      this.rowBand = make('div', {class: 'band'});
      this.columnBand = make('div', {class: 'band'});
      this.pinBox = make('div', {class: 'pin-box'});
      this.box = make('div', {
        id: options.id, class: 'cells', tabindex: '0', role: 'application',
        'aria-label': options.label, 'aria-describedby': 'cells-help',
        'aria-roledescription': headwise.measure.word('matrix.role'), css,
      }, this.canvas, this.rowBand, this.columnBand, this.pinBox);
      this.listen();
      this.corner = make('div', {class: 'corner'}, options.corner ||
          make('span', {'aria-hidden': 'true'}, headwise.t('query \\ key')));
      this.node = make('div', {class: 'matrix'}, this.box);
    }

    async load() {
      const {options, window, place} = this;
      [this.mask, this.sums] = await Promise.all([options.mask, options.sums || []]);
      this.addLabels();
      if (window.pooled) {
        this.draw(sampled(await options.small(), this.page, window, place));
        return;
      }
      const queries = this.queries.slice(window.row, window.rows);
      const keys = this.keys.slice(window.column, window.columns);
      const show = values => {
        this.raw = values;
        const grid = {rows: window.rows, columns: window.columns, values};
        this.draw(headwise.paint.pool(grid, place.y.pooled, place.x.pooled,
            headwise.measure.pool()));
        headwise.pick.tell();
      };
      show(await options.cells(queries, keys, show));
    }

    addLabels() {
      const {window, place, mask, sums} = this;
      this.queryLabels = headwise.labels.strip('query', this.queries,
          window.row, window.rows, place.y.length / window.rows, {mask, sums});
      this.keyLabels = headwise.labels.strip('key', this.keys,
          window.column, window.columns, place.x.length / window.columns, {mask, sums});
      this.node.classList.add('matrix-labelled');
      // The cells are not removed, because they would lose the focus.
      this.node.prepend(this.corner, this.keyLabels.node, this.queryLabels.node);
      this.follow();
    }

    draw(grid) {
      this.grid = grid;
      this.limit = headwise.paint.limitOf(grid);
      this.options.scale.show([this]);
    }

    // What the colours mean here.
    look() {
      return {diverging: this.options.difference || headwise.measure.signed(),
              limit: this.options.scale.limit || 1};
    }

    paint() {
      const {x, y} = this.place;
      const context = headwise.paint.paint(
          this.canvas, this.grid, x.length, y.length, this.look());
      if (!this.window.pooled) {
        headwise.paint.annotate(
            context, this.grid, x.length, y.length, this.look(), colour('--paper'));
      }
      drawEdge(context, this.mask, this.page, this.window, this.place);
    }

    // The pair of indices under a point of the page; null if the current document, which all
    // other figures show, has no such pair.
    pairAt(event) {
      const pair = this.indicesAt(event);
      const {num_queries: queries, num_keys: keys} = headwise.page;
      return pair.query < queries && pair.key < keys ? pair : null;
    }

    indicesAt(event) {
      const {window, place} = this;
      const box = this.canvas.getBoundingClientRect();
      const at = (offset, length, count) => Math.max(0, Math.min(count - 1,
          Math.floor(offset / length * count)));
      return {
        query: this.queries.at(
            window.row + at(event.clientY - box.top, place.y.length, window.rows)),
        key: this.keys.at(
            window.column + at(event.clientX - box.left, place.x.length, window.columns)),
      };
    }

    listen() {
      this.box.addEventListener('pointermove',
          event => headwise.pick.point(this.pairAt(event)));
      this.box.addEventListener('pointerleave', () => headwise.pick.point(null));
      this.box.addEventListener('click', event => {
        this.box.focus({preventScroll: true});
        const pair = this.pairAt(event);
        if (pair) this.enter(pair);
      });
      this.box.addEventListener('dblclick', event => {
        headwise.zoom.step(1, this.pairAt(event));
      });
      headwise.pick.on(() => this.follow());
    }

    // Pins the pair; also zooms in if cells are too small to point at.
    enter(pair) {
      if (this.tooSmall()) {
        headwise.state.set({query: pair.query, key: pair.key});
        headwise.zoom.to(headwise.zoom.POINTABLE, pair);
      } else {
        headwise.pick.fix(pair);
      }
    }

    tooSmall() {
      const {zoom} = headwise;
      return this.window.pooled ||
          (Math.min(this.place.x.cell, this.place.y.cell) < zoom.TOO_SMALL &&
           this.window.size > zoom.POINTABLE);
    }

    // Row and column of a pair in the window; null if it is outside or hidden.
    cellOf(pair) {
      const {window} = this;
      const row = this.queries.place(pair.query, window.row, window.rows);
      const column = this.keys.place(pair.key, window.column, window.columns);
      return row < 0 || column < 0 ? null : {row, column};
    }

    // The value shown for a pair (that of its pooled cell, if the window is pooled), or
    // undefined if there is none.
    value(pair) {
      const cell = this.cellOf(pair);
      if (!cell) return undefined;
      const {window, place} = this;
      if (this.raw) return this.raw[cell.row * window.columns + cell.column];
      if (!this.grid) return undefined;
      const row = Math.floor(cell.row * place.y.length / window.rows);
      const column = Math.floor(cell.column * place.x.length / window.columns);
      return this.grid.values[row * place.x.length + column];
    }

    setBand(band, style) {
      band.hidden = style === null;
      for (const [name, value] of Object.entries(style || {})) {
        band.style.setProperty(name, value + 'px');
      }
    }

    // Pixels of a pair's cell, or null if it is outside the window.
    rectangle(pair) {
      const cell = pair && this.cellOf(pair);
      if (!cell) return null;
      const {window, place} = this;
      const height = place.y.length / window.rows;
      const width = place.x.length / window.columns;
      return {left: cell.column * width, top: cell.row * height,
              width: Math.max(width, 2), height: Math.max(height, 2)};
    }

    follow() {
      const active = headwise.pick.active();
      const cell = this.rectangle(active);
      this.setBand(this.rowBand, cell && {top: cell.top, height: cell.height});
      this.setBand(this.columnBand, cell && {left: cell.left, width: cell.width});
      this.setBand(this.pinBox, this.rectangle(headwise.pick.pin()));
      if (this.queryLabels) {
        const {num_queries: queries, num_keys: keys} = this.page;
        this.queryLabels.show(active && active.query < queries ? active.query : null);
        this.keyLabels.show(active && active.key < keys ? active.key : null);
      }
    }
  }

  Object.assign(headwise, {Matrix, Scale});
}
