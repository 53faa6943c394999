// Queries on the left, keys on the right, and a line for each large attention weight.
{
  const {make, makeSvg} = headwise.dom;
  const {isPattern} = headwise.mask;
  const MOST = 28;     // tokens per side
  const STEP = 17;     // pixels from token to token
  const LEFT = 104;    // where lines begin
  const RIGHT = 236;
  const WIDTH = 340;   // as in viewer.css
  const LEAST = 0.02;  // smaller attention weights get no line,
  const FAINT = 0.1;   // unless none is larger than this: then, as for norms, a fifth of the
                       // largest
  const LETTERS = 14;  // of a token
  const FOLLOWS_AFTER = 60;  // ms that the pointer rests

  // Without its sign; masked pairs have none.
  const sizeOf = value => isPattern(value) ? -1 : Math.abs(value);
  const isLine = (value, least) => sizeOf(value) > 0 && sizeOf(value) >= least;

  // At most MOST positions of the window, around the current one.
  function around(axis, first, count, index) {
    const center = index === null ? first : axis.find(index);
    const from = Math.max(first, Math.min(center - MOST / 2, first + count - MOST));
    return axis.slice(from, Math.min(MOST, count));
  }

  // The keys that these queries attend to most, in order, from their top keys.
  function busiest(top, queries, hidden) {
    const total = new Map();
    for (const query of queries) {
      for (const [key, weight] of top.of(query)) {
        if (!hidden.has(key)) total.set(key, (total.get(key) || 0) + Math.abs(weight));
      }
    }
    const best = [...total].sort((a, b) => b[1] - a[1]).slice(0, MOST);
    return Int32Array.from(best, ([key]) => key).sort();
  }

  // {queries, keys, rows: what is shown of each query, thickest, least: the numbers of the
  // thickest line and of the smallest with a line}
  async function data(head) {
    const window = headwise.zoom.current();
    const active = headwise.pick.active();
    const queries = around(headwise.axes.queries(), window.row, window.rows,
        active ? active.query : null);
    const keyAxis = headwise.axes.keys();
    const few = window.columns <= MOST;
    const top = few ? null : await headwise.top.shown(head);
    const keys = few ? keyAxis.slice(window.column, window.columns) :
        busiest(top, queries, keyAxis.hidden);
    const rows = [];
    for (const query of queries) {
      rows.push(await headwise.weights.line(head, Int32Array.of(query), keys));
    }
    const most = Math.max(0, ...rows.map(row => row.reduce((found, value) =>
      isPattern(value) ? found : Math.max(found, Math.abs(value)), 0)));
    const relative = most < FAINT || !headwise.measure.plain();
    return {queries, keys, rows, least: relative ? most / 5 : LEAST,
            thickest: headwise.measure.plain() ? Math.max(most, FAINT) : most || 1};
  }

  class Lines {
    constructor(head) {
      this.head = head;
      this.node = make('div', {
        id: 'lines', class: 'lines', tabindex: '0', role: 'application',
        'aria-label': headwise.t('Lines from queries to keys'), 'aria-describedby': 'cells-help',
      });
      this.caption = make('figcaption', {});
      this.timer = 0;
      this.node.addEventListener('pointerleave', () => headwise.pick.point(null));
      headwise.pick.on(() => this.follow());
    }

    async load() {
      this.data = await data(this.head);
      headwise.dom.put(this.caption,
          headwise.measure.word('lines.about', headwise.numbers.text(this.data.least)));
      this.draw();
      this.follow();
    }

    token(axis, index, y, side) {
      const left = side === 'query';
      return makeSvg('text', {
        x: left ? LEFT - 8 : RIGHT + 8, y, class: 'line-token', 'data-index': index,
        'text-anchor': left ? 'end' : 'start', 'dominant-baseline': 'central',
        direction: 'ltr', 'unicode-bidi': 'isolate',
        onpointerenter: () => this.point(side, index),
        onclick: () => {
          this.point(side, index);  // a tap points at nothing before
          headwise.pick.fix(headwise.pick.active());
        },
      }, makeSvg('tspan', {'unicode-bidi': 'isolate'},
          headwise.tokens.short(axis.tokens[index], LETTERS)));
    }

    // Pointing at a token selects its strongest pair.
    point(side, index) {
      const {queries, keys, rows} = this.data;
      let best = null;
      let most = -Infinity;
      queries.forEach((query, r) => keys.forEach((key, c) => {
        if ((side === 'query' ? query : key) === index && sizeOf(rows[r][c]) > most) {
          most = sizeOf(rows[r][c]);
          best = {query, key};
        }
      }));
      headwise.pick.point(best);
    }

    draw() {
      const {queries, keys, rows, thickest, least} = this.data;
      const height = Math.max(queries.length, keys.length, 1) * STEP + 28;
      const y = n => 36 + n * STEP - STEP / 2 + 2;
      this.paths = [];
      const lines = makeSvg('g', {class: 'line-set', fill: 'none'});
      queries.forEach((query, r) => keys.forEach((key, c) => {
        const weight = Math.abs(rows[r][c]);
        if (!isLine(rows[r][c], least)) return;
        const middle = (LEFT + RIGHT) / 2;
        const path = makeSvg('path', {
          d: `M${LEFT} ${y(r)} C${middle} ${y(r)} ${middle} ${y(c)} ${RIGHT} ${y(c)}`,
          'stroke-width': (0.6 + 4 * weight / thickest).toFixed(2),
          'stroke-opacity': (0.15 + 0.85 * weight / thickest).toFixed(2),
          class: rows[r][c] < 0 ? 'line line-minus' : 'line',
        });
        this.paths.push({path, query, key});
        lines.append(path);
      }));
      this.texts = [
        ...Array.from(queries, (query, n) =>
            this.token(headwise.axes.queries(), query, y(n), 'query')),
        ...Array.from(keys, (key, n) =>
            this.token(headwise.axes.keys(), key, y(n), 'key'))];
      this.svg = makeSvg('svg', {
        viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, 'aria-hidden': 'true',
      }, makeSvg('text', {x: LEFT - 8, y: 12, class: 'line-head', 'text-anchor': 'end'},
          headwise.t('axis.query')),
      makeSvg('text', {x: RIGHT + 8, y: 12, class: 'line-head'}, headwise.t('axis.key')),
      lines, this.texts);
      headwise.dom.put(this.node, this.svg);
    }

    follow() {
      if (!this.data) return;
      const active = headwise.pick.active();
      const {row, rows} = headwise.zoom.current();
      if (active && !this.data.queries.includes(active.query) &&
          headwise.axes.queries().place(active.query, row, rows) >= 0) {
        clearTimeout(this.timer);  // the tokens shown follow the current pair
        this.timer = setTimeout(() => this.load(), FOLLOWS_AFTER);
        return;
      }
      this.node.classList.toggle('has-active', Boolean(active));
      for (const {path, query, key} of this.paths) {
        path.classList.toggle('line-active', Boolean(active) && query === active.query);
        path.classList.toggle('line-pair', Boolean(active) && query === active.query &&
            key === active.key);
      }
      const numQueries = this.data.queries.length;
      this.texts.forEach((text, n) => text.classList.toggle('active', Boolean(active) &&
          Number(text.dataset.index) === (n < numQueries ? active.query : active.key)));
    }
  }

  headwise.Lines = Lines;
  headwise.lines = {data, isLine, sizeOf};
}
