// The overview: a thumbnail for every head of every layer.
{
  const {make} = headwise.dom;
  const SIDE = 128;      // pixels of a thumbnail's longer side, at most
  const MOST_A_ROW = 16;
  const ALL_KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'];

  // Of keys of another sequence, positions are not compared.
  const isOnPage = statistic => headwise.page.statistics.some(({name}) => name === statistic);

  // null if the head has none.
  const value = (head, name) => {
    const found = head.pruned ? undefined : head.pooled[name];
    return found === undefined ? null : found;
  };

  // What tells the head from others at a glance: a key that gets much of its attention, or
  // else how far it spreads, as in the command's pictures.
  const telling = head => headwise.statistics.shares.filter(isOnPage).reduce(
      ([best, most], name) =>
        value(head, name) > most ? [name, value(head, name)] : [best, most],
      ['entropy', 0.3])[0];

  // The heads in the requested order, then those without a number, then those that were
  // pruned.
  function ordered(heads) {
    const {sort, descending} = headwise.state.get();
    if (!isOnPage(sort)) return heads;
    const sign = descending ? -1 : 1;
    return heads.slice().sort((a, b) => {
      if (a.pruned || b.pruned) return (a.pruned ? 1 : 0) - (b.pruned ? 1 : 0);
      const [left, right] = [value(a, sort), value(b, sort)];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * (left - right);
    });
  }

  // -> Promise of a thumbnail, {limit, scale, paint()}; its scale has to show it.
  async function thumbnail(canvas, head, scale = new headwise.Scale()) {
    const small = await headwise.weights.thumbnail(head, headwise.measure.pool());
    const longer = Math.max(small.rows, small.columns);
    const cell = Math.max(1, Math.floor(SIDE / longer));
    const stretched = count => Math.max(cell * count, SIDE / 4);
    const diverging = headwise.measure.signed();
    return {limit: headwise.paint.limitOf(small), scale,
            paint: () => headwise.paint.paint(canvas, small, stretched(small.columns),
                stretched(small.rows), {limit: scale.limit || 1, diverging})};
  }

  // Draws what `canvases` has: canvas -> function that makes a Promise of its thumbnail.
  // Where the scale ends depends on each of them, not on those that were seen.
  async function drawAll(canvases, scale) {
    const tiles = [];
    for (const [canvas, thumbnailOf] of canvases) {
      await thumbnailOf().then(tile => tiles.push(tile)).catch(headwise.failure.tell);
      if (!canvas.isConnected) return;  // another view
    }
    scale.show(tiles);
  }

  // Draws the same when they come near the window.
  function drawWhenSeen(canvases) {
    const observer = new IntersectionObserver(entries => {
      for (const {isIntersecting, target} of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        canvases.get(target)().then(tile => tile && tile.scale.show([tile]))
            .catch(headwise.failure.tell);
      }
    }, {rootMargin: '300px'});
    for (const canvas of canvases.keys()) observer.observe(canvas);
  }

  function described(head) {
    const t = headwise.t;
    const parts = [t('head.name', head.layer, head.number)];
    if (headwise.heads.grouped) parts.push(t('key and value head {0}', head.kv_head));
    for (const {name} of headwise.page.statistics) {
      parts.push(t('statistic.' + name) + ' ' + headwise.numbers.statistic(name, value(head, name)));
    }
    if (head.empty_rows > 0) parts.push(t('Fully masked rows: {0}', head.empty_rows));
    return parts.join(', ');
  }

  function open(head) {
    headwise.state.set({view: 'head', layer: head.layer, head: head.number});
  }

  const nameOf = (head, withLayer) => make('span', {class: 'caption-name'},
      (withLayer ? 'L' + head.layer + ' ' : '') + 'H' + head.number);

  // Not a button: there is nothing to open, and the arrow keys skip it.
  function prunedCard(head, withLayer) {
    const t = headwise.t;
    const about = t('head.name', head.layer, head.number) + '. ' + t('head.pruned');
    return make('span', {
      class: 'card card-pruned', id: 'head-' + head.id.replace('.', '-'), role: 'img',
      'aria-label': about, title: about, 'data-head': head.id,
      onclick: () => headwise.live.say(about),
    }, make('span', {class: 'thumbnail pruned'}, make('span', {}, t('pruned'))),
    make('span', {class: 'caption'}, nameOf(head, withLayer)));
  }

  function card(head, canvases, scale, withLayer) {
    if (head.pruned) return prunedCard(head, withLayer);
    const {sort, layer, head: current} = headwise.state.get();
    const shown = sort || telling(head);
    const {t, numbers} = headwise;
    const number = value(head, shown);
    const chosen = head.layer === layer && head.number === current;
    const canvas = make('canvas', {'aria-hidden': 'true'});
    canvases.set(canvas, () => thumbnail(canvas, head, scale));
    return make('button', {
      type: 'button', class: 'card', id: 'head-' + head.id.replace('.', '-'),
      tabindex: chosen ? '0' : '-1', 'aria-label': described(head),
      title: described(head), onclick: () => open(head), 'data-head': head.id,
    }, make('span', {class: 'thumbnail'}, canvas),
    make('span', {class: 'caption'}, nameOf(head, withLayer),
        make('span', {class: 'caption-value'}, sort || number === null ?
          numbers.statistic(shown, number) : t('statistic.' + shown) + ' ' + number.toFixed(2))),
    headwise.heads.grouped &&
        make('span', {class: 'caption caption-group'}, 'kv ' + head.kv_head));
  }

  function inLayers(matches, canvases, scale) {
    return headwise.page.layers.map(layer => {
      const heads = headwise.heads.all.filter(head => head.layer === layer.number);
      const cards = heads.map(head => {
        if (!matches(head)) return make('span', {class: 'card card-out'});
        const node = card(head, canvases, scale, false);
        const group = head.pruned ? [] : headwise.heads.group(head);
        if (group.length > 1) {
          node.classList.add('in-group');
          if (group[0].id === head.id) node.classList.add('group-first');
          if (group[group.length - 1].id === head.id) node.classList.add('group-last');
        }
        return node;
      });
      return make('div', {class: 'layer'},
          make('h3', {class: 'layer-name'}, headwise.t('Layer {0}', layer.number)),
          make('div', {class: 'cards', css: {
            '--heads': String(Math.min(MOST_A_ROW, Math.max(heads.length, 4))),
          }}, cards));
    });
  }

  function notes(shown) {
    const t = headwise.t;
    const {state, page} = headwise;
    const {sort, table} = state.get();
    const {all, kept} = headwise.heads;
    const gone = all.length - kept.length;
    const uneven = kept.reduce((sum, head) => sum + (head.uneven_rows || 0), 0);
    const count = shown.filter(head => !head.pruned).length;
    return make('p', {class: 'note', id: 'grid-note'},
        count === 1 || count < kept.length ? t('grid.count', count, kept.length) : t('grid.count_all', count), ' ',
        count > 0 && t('Click or tap one to open it.') + ' ',
        gone > 0 && t('Pruned heads (hatched): {0}.', gone) + ' ',
        uneven > 0 && t('grid.uneven', uneven) + ' ',
        !table && page.statistics.length > 0 && [headwise.parts.note(), sort === '' ?
          t('grid.telling') : t('Number below each head: {0}.', t('statistic.' + sort)) + ' ' +
            t('about.' + sort)]);
  }

  // Moves between cards with the arrow keys, by their positions on the screen.
  function beside(cards, from, key) {
    const here = from.getBoundingClientRect();
    const middle = box => [box.left + box.width / 2, box.top + box.height / 2];
    const [x, y] = middle(here);
    const at = cards.indexOf(from);
    if (key === 'ArrowLeft') return cards[Math.max(0, at - 1)];
    if (key === 'ArrowRight') return cards[Math.min(cards.length - 1, at + 1)];
    if (key === 'Home') return cards[0];
    if (key === 'End') return cards[cards.length - 1];
    const sign = key === 'ArrowDown' ? 1 : -1;
    let best = null;
    let least = Infinity;
    for (const card of cards) {
      const [cx, cy] = middle(card.getBoundingClientRect());
      const down = sign * (cy - y);
      if (down < here.height / 2) continue;
      const far = down * 4 + Math.abs(cx - x);
      if (far < least) [best, least] = [card, far];
    }
    return best;
  }

  function onKey(event, buttons, keys) {
    const card = event.target.closest(buttons);
    if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!keys.includes(event.key)) return;
    const cards = [...event.currentTarget.querySelectorAll(buttons)];
    const next = beside(cards, card, event.key);
    event.preventDefault();
    if (!next) return;
    for (const one of cards) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  }

  // The arrow keys move between the cards of a node, or between its other buttons; the tab key
  // reaches one of them.
  function moveByKeys(body, buttons = 'button.card', keys = ALL_KEYS) {
    body.addEventListener('keydown', event => onKey(event, buttons, keys));
    const cards = body.querySelectorAll(buttons);
    if (cards.length > 0 && !body.querySelector('[tabindex="0"]')) cards[0].tabIndex = 0;
  }

  function chosenHeads() {
    const {matches} = headwise.expression.parse(headwise.state.get().filter);
    return ordered(headwise.heads.all.filter(matches || (() => true)));
  }

  function view() {
    const {state} = headwise;
    const {matches} = headwise.expression.parse(state.get().filter);
    const shown = chosenHeads();
    const canvases = new Map();
    const {node: legend, scale} = headwise.legend.ofTiles(shown.filter(head => !head.pruned));
    const body = state.get().sort ?
      make('div', {class: 'cards cards-flow'},
          shown.map(head => card(head, canvases, scale, true))) :
      make('div', {class: 'layers'}, inLayers(matches || (() => true), canvases, scale));
    moveByKeys(body);
    if (headwise.measure.fitted() && scale) drawAll(canvases, scale); else drawWhenSeen(canvases);
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'},
        make('h2', {id: 'view-title', class: 'hidden', tabindex: '-1'}, headwise.t('shell.grid')),
        headwise.gridTools(),
        notes(shown), headwise.measure.note(),
        state.get().table ? headwise.tables.heads(shown) : [legend, body]);
  }

  headwise.grid = {view, open, chosenHeads, value, telling, thumbnail, drawWhenSeen, moveByKeys};
}
