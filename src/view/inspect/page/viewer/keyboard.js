// Keyboard control. Single-letter shortcuts can be switched off (in the help), and
// do not work while something is typed.
{
  const FAR = 10;  // cells that the page keys move
  const SPEAK_AFTER = 150;  // ms without another key
  const WITH_MEASURES = new Set(['grid', 'head', 'texts']);

  const shortcuts = {
    '[': () => go(headwise.heads.above, -1), ']': () => go(headwise.heads.above, 1),
    h: () => go(headwise.heads.beside, -1), l: () => go(headwise.heads.beside, 1),
    '+': () => zoom(1), '=': () => zoom(1), '-': () => zoom(-1),
    '/': () => headwise.dialogs.search(),
    g: () => view('grid'), s: () => view('trace'), x: () => view('scatter'),
    m: () => headwise.changes.any && view('changes'),
    r: () => headwise.through.names(headwise.page).length > 0 && view('through'),
    p: () => anotherDocument(-1), n: () => anotherDocument(1),
    d: () => headwise.documents.several && view('texts'),
    t: () => headwise.state.set({table: !headwise.state.get().table}),
    c: compare,
    v: () => WITH_MEASURES.has(headwise.state.get().view) && headwise.measure.next(),
    e: () => headwise.dialogs.exporting(),
    '?': () => headwise.dialogs.help(),
  };

  // The keys that come next work in the view.
  function view(name) {
    headwise.state.set({view: name});
    if (headwise.state.get().view === name) headwise.enterView();
  }

  function go(where, step) {
    const head = headwise.state.head();
    if (!head) return;
    const next = where(head, step);
    headwise.state.set({layer: next.layer, head: next.number});
    headwise.live.say(headwise.t('head.name', next.layer, next.number));
    const card = document.getElementById('head-' + next.id.replace('.', '-'));
    if (card) card.focus();
  }

  function anotherDocument(step) {
    if (headwise.documents.several) headwise.documentTools.move(step);
  }

  function compare() {
    const node = document.getElementById('compare-layer');
    if (!node) return;
    const fold = node.closest('details');
    if (fold) fold.open = true;
    node.focus();
  }

  function zoom(direction) {
    if (headwise.state.get().view !== 'head') return;
    headwise.zoom.step(direction, headwise.pick.active());
    const {size} = headwise.zoom.current();
    headwise.live.say(headwise.t('{0} tokens', size));
  }

  // Back one step: the pin, then the head.
  function escape() {
    const {state, pick} = headwise;
    if (state.get().view === 'through' && state.get().input !== null) {
      state.set({input: null});
    } else if (pick.pin()) {
      pick.forget();
      pick.fix(null);
    } else {
      view('grid');
    }
  }

  const MOVES = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    PageUp: [-FAR, 0], PageDown: [FAR, 0], Home: [0, -Infinity], End: [0, Infinity],
  };

  // If cells are pooled, an arrow key moves by one pooled cell.
  function stride() {
    const {page} = headwise;
    const {small} = headwise.state.head();
    const [matrix] = headwise.current.matrices;
    if (headwise.zoom.current().pooled) {
      return [Math.ceil(page.num_queries / small.rows), Math.ceil(page.num_keys / small.columns)];
    }
    return matrix ? [matrix.place.y.pooled, matrix.place.x.pooled] : [1, 1];
  }

  function move(by) {
    const {pick, zoom: zooming} = headwise;
    const queries = headwise.axes.queries();
    const keys = headwise.axes.keys();
    const window = zooming.current();
    const now = pick.active();
    const limit = (value, size) => Math.max(0, Math.min(size - 1, value));
    let pair;
    if (now) {
      const [up, across] = stride();
      pair = {query: queries.at(limit(queries.find(now.query) + by[0] * up, queries.size)),
              key: keys.at(limit(by[1] === 0 ? keys.find(now.key) :
                  keys.find(now.key) + by[1] * across, keys.size))};
    } else {
      pair = {query: queries.at(window.row), key: keys.at(window.column)};
    }
    pick.point(pair);
    const change = zooming.follow(pair);
    if (change) headwise.state.set(change);
    speak();
  }

  let timer = 0;
  function speak() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const pair = headwise.pick.active();
      const {heads} = headwise.current;
      if (pair && heads.length > 0) {
        headwise.live.say(await headwise.detail.sentence(pair, heads));
      }
    }, SPEAK_AFTER);
  }

  function onCells(event) {
    const {current, pick} = headwise;
    if (MOVES[event.key]) {
      move(MOVES[event.key]);
    } else if (event.key === 'Enter' || event.key === ' ') {
      const pair = pick.active();
      if (pair && current.matrices.length > 0) current.matrices[0].enter(pair);
    } else {
      return false;
    }
    return true;
  }

  // What had the focus may be gone, or nothing had it: the keys that come next work in the view.
  function stayInView() {
    if (document.activeElement === document.body) headwise.enterView();
  }

  const typing = node => node.matches('input:not([type=button]), textarea, select');

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector('dialog[open]')) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.key === 'Escape') {
      if (typing(target)) target.blur(); else escape();
      return;
    }
    if (typing(target)) return;
    if (target.closest('.cells, .lines') && onCells(event)) {
      event.preventDefault();
      return;
    }
    const action = headwise.state.get().shortcuts || event.key === '?' ?
        shortcuts[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
    stayInView();
  }

  headwise.keyboard = {begin: () => document.addEventListener('keydown', onKey)};
}
